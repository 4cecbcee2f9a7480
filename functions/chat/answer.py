"""Writing the answer down the ladder: primary → fallback → quoted passages; then the citation check."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from typing import Literal

from functions.chat import stream as events
from functions.chat.citations import Checked, Similar, check
from functions.chat.context import as_blocks
from functions.chat.extractive import extractive_answer
from functions.chat.ladder import Ladder, Restarted
from functions.chat.phrases import phrase
from shared.cost import Ledger
from shared.errors import ModelUnavailable
from shared.prompts import ANSWER, ANSWER_FORM, MISSING, NOT_IN_SITE
from shared.records import Citation, Event, Passage, Record
from shared.settings import EXTRACTIVE, Settings
from shared.trace import current_trace

LANGUAGES = {
    "ar": "Arabic", "de": "German", "en": "English", "es": "Spanish", "fr": "French", "it": "Italian",
    "ja": "Japanese", "nl": "Dutch", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian",
    "zh": "Chinese",
}  # fmt: skip


class Draft(Record):
    """A checked answer before it is sent."""

    text: str
    citations: tuple[Citation, ...]
    verdict: Literal["answered", "partial", "not_in_site"]
    model: str
    fallback_used: bool


async def write_answer(
    question: str,
    queries: Sequence[str],
    history: list[dict[str, str]],
    passages: Sequence[Passage],
    language: str,
    ladder: Ladder,
    similar: Similar,
    alike: float,
    settings: Settings,
    ledger: Ledger,
) -> AsyncIterator[Event | Draft]:
    """`token` and `restart` events while a model writes, then the draft."""
    text, model, fallback = "", "", False
    deadline = asyncio.get_running_loop().time() + (settings.chat.budgets.answer_seconds or 86_400)
    prompt = _prompt(question, history, passages, language, settings)
    try:
        with current_trace().step("answer") as facts:
            async for piece in ladder.stream(prompt, role="chat", ledger=ledger):
                if isinstance(piece, Restarted):
                    text = ""
                    yield events.restart(piece.reason)
                    continue
                held = _is_held_back(text)
                text, model, fallback = text + piece.text, piece.model, piece.is_fallback
                if not _is_held_back(text):  # a refusal in the making is not shown
                    yield events.token(text if held else piece.text)
                if asyncio.get_running_loop().time() > deadline:
                    raise ModelUnavailable("the answer took too long", reason="timeout")
            facts |= {"model": model, "fallback": fallback}
    except ModelUnavailable as error:
        current_trace().note("ladder exhausted", error=str(error))
        if text and not _is_held_back(text) and error.reason == "timeout":
            yield events.restart("the answer took too long")
        text = ""
    else:
        draft = await _draft(text, model, fallback, passages, language, similar, alike, settings)
        if draft.text or NOT_IN_SITE in text:
            yield draft
            return
    # no model answered, or nothing that one wrote is supported: the evidence itself is shown
    quotes, citations = await extractive_answer(
        queries if len(queries) > 1 else [question], passages, settings.site.name, language, similar
    )
    yield Draft(
        text=quotes,
        citations=citations,
        verdict="answered",
        model=EXTRACTIVE,
        fallback_used=bool(ladder.models),
    )


async def _draft(
    text: str,
    model: str,
    fallback: bool,
    passages: Sequence[Passage],
    language: str,
    similar: Similar,
    alike: float,
    settings: Settings,
) -> Draft:
    """The answer with its unsupported sentences removed; without any supported one the site does not say it."""
    body, missing = _parts(text)
    with current_trace().step("check citations") as facts:
        checked = Checked(text="", citations=(), dropped=())
        if body:
            checked = await check(body, passages, similar, alike, language)
        facts |= {
            "cited": [c.n for c in checked.citations],
            "dropped": list(checked.dropped),
            "missing": missing,
        }
    final = checked.text
    if missing and final:
        final += "\n\n" + phrase("missing", language, site=settings.site.name, missing=missing)
    verdict: Literal["answered", "partial", "not_in_site"] = "answered"
    if not final:
        verdict = "not_in_site"
    elif missing:
        verdict = "partial"
    return Draft(
        text=final, citations=checked.citations, verdict=verdict, model=model, fallback_used=fallback
    )


def _parts(text: str) -> tuple[str, str]:
    """The answer proper, and what the model says that the sources lack."""
    body, _, missing = text.partition(MISSING)
    refused = NOT_IN_SITE in body
    return ("" if refused else body.strip()), " ".join(re.sub(r"\[\d+\]", "", missing).split())


def _is_held_back(text: str) -> bool:
    """Whether the text so far may still become the word for "not in the site"."""
    start = text.lstrip()[: len(NOT_IN_SITE)]
    return NOT_IN_SITE.startswith(start)


def _prompt(
    question: str,
    history: list[dict[str, str]],
    passages: Sequence[Passage],
    language: str,
    settings: Settings,
) -> list[dict[str, str]]:
    site = settings.site
    rules = ANSWER.format(site=site.name, tone=site.tone, language=LANGUAGES.get(language, language))
    sources = f"Sources:\n\n{as_blocks(passages)}\n\nQuestion: {question}\n\n{ANSWER_FORM}"
    return [{"role": "system", "content": rules}, *history, {"role": "user", "content": sources}]
