"""Writing the answer down the ladder: primary → fallback → quoted passages; then the citation check."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

from functions.chat import stream as events
from functions.chat.citations import Checked, check
from functions.chat.context import as_blocks
from functions.chat.extractive import extractive_answer
from functions.chat.ladder import CutShort, Ladder, Piece, Restarted
from functions.chat.links import harmless
from functions.chat.phrases import phrase
from functions.chat.support import Similar
from functions.chat.turn import Turn
from shared.errors import ModelUnavailable
from shared.language import split_sentences
from shared.prompts import ANSWER, ANSWER_FORM, MISSING, NOT_IN_SITE
from shared.records import Citation, Event, Record
from shared.settings import EXTRACTIVE, Settings
from shared.thoughts import spoken
from shared.trace import current_trace

LANGUAGES = {
    "ar": "Arabic", "de": "German", "en": "English", "es": "Spanish", "fr": "French", "it": "Italian",
    "ja": "Japanese", "nl": "Dutch", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian",
    "zh": "Chinese",
}  # fmt: skip


ENDED = re.compile(r"[.!?。！？…:|](?:[*_`\"'”’»)\]]|\s?\[[^\]]*\])*\s*$")  # a sentence, with its marks


class Draft(Record):
    """A checked answer before it is sent."""

    text: str
    citations: tuple[Citation, ...]
    verdict: Literal["answered", "partial", "not_in_site"]
    model: str
    fallback_used: bool


async def write_answer(
    turn: Turn, ladder: Ladder, similar: Similar, alike: float, settings: Settings
) -> AsyncIterator[Event | Draft]:
    """`token` and `restart` events while a model writes, then the draft."""
    written = Written()
    try:
        with current_trace().step("answer") as facts:
            pieces = ladder.stream(
                _prompt(turn, settings), role="chat", ledger=turn.ledger, ends=turn.deadline.models
            )
            async for piece in pieces:
                for event in written.take(piece):
                    yield event
            facts |= {"model": written.model, "fallback": written.fallback, "cut_short": written.cut_short}
    except ModelUnavailable as error:
        current_trace().note("ladder exhausted", error=str(error))
    else:
        draft = await _draft(written, turn, similar, alike, settings)
        if draft.text or NOT_IN_SITE in written.text:
            yield draft
            return
    # no model answered, or nothing that one wrote is supported: the evidence itself is shown
    queries, language = turn.plan.queries, turn.plan.language
    quotes, citations = await extractive_answer(
        queries if len(queries) > 1 else [turn.question], turn.passages, settings.site.name, language, similar
    )
    yield Draft(
        text=quotes,
        citations=citations,
        verdict="answered",
        model=EXTRACTIVE,
        fallback_used=bool(ladder.models),
    )


@dataclass
class Written:
    """What a model has written so far."""

    text: str = ""
    model: str = ""
    fallback: bool = False
    cut_short: bool = False

    def take(self, piece: Piece | CutShort | Restarted) -> list[Event]:
        """Add a piece; the events that tell the visitor. A refusal in the making is not shown."""
        if isinstance(piece, Restarted):
            self.text = ""
            return [events.restart(piece.reason)]
        if isinstance(piece, CutShort):
            self.cut_short = True
            return []
        held = _is_held_back(self.text)
        self.text, self.model, self.fallback = self.text + piece.text, piece.model, piece.is_fallback
        return [] if _is_held_back(self.text) else [events.token(self.text if held else piece.text)]


async def _draft(written: Written, turn: Turn, similar: Similar, alike: float, settings: Settings) -> Draft:
    """The answer with its unsupported sentences removed; without any supported one the site does not say it."""
    site, language = settings.site, turn.plan.language
    body, missing = _parts(spoken(written.text))
    if written.cut_short:
        body, missing = (body, "") if missing else (finished(body, language), "")
    with current_trace().step("check citations") as facts:
        checked = Checked(text="", citations=(), dropped=())
        if body:
            own = (site.url, site.contact_url)
            checked = await check(body, turn.passages, similar, alike, language, own)
        facts |= {
            "cited": [c.n for c in checked.citations],
            "dropped": list(checked.dropped),
            "missing": missing,
        }
    final = checked.text
    if missing and final:
        final += "\n\n" + phrase("missing", language, site=site.name, missing=missing)
    verdict: Literal["answered", "partial", "not_in_site"] = "answered"
    if not final:
        verdict = "not_in_site"
    elif missing or written.cut_short:
        verdict = "partial"
    return Draft(
        text=final,
        citations=checked.citations,
        verdict=verdict,
        model=written.model,
        fallback_used=written.fallback,
    )


def finished(text: str, language: str) -> str:
    """`text` without the sentence at its end that was not finished."""
    if text.endswith("```") or ENDED.search(text):
        return text
    if text.count("```") % 2:
        return text[: text.rindex("```")].rstrip()
    lines = text.splitlines()
    last = lines[-1] if lines else ""
    sentences = split_sentences(last, language)
    cut = last.rfind(sentences[-1]) if sentences and not last.lstrip().startswith("|") else 0
    return "\n".join([*lines[:-1], last[: max(0, cut)]]).rstrip()


def _parts(text: str) -> tuple[str, str]:
    """The answer proper, and what the model says that the sources lack."""
    body, _, missing = text.partition(MISSING)
    refused = NOT_IN_SITE in body
    return ("" if refused else body.strip()), harmless(missing)


def _is_held_back(text: str) -> bool:
    """Whether the text so far may still become the word for "not in the site"."""
    start = text.lstrip()[: len(NOT_IN_SITE)]
    return NOT_IN_SITE.startswith(start)


def _prompt(turn: Turn, settings: Settings) -> list[dict[str, str]]:
    site, language = settings.site, turn.plan.language
    rules = ANSWER.format(site=site.name, tone=site.tone, language=LANGUAGES.get(language, language))
    sources = f"Sources:\n\n{as_blocks(turn.passages)}\n\nQuestion: {turn.question}\n\n{ANSWER_FORM}"
    return [{"role": "system", "content": rules}, *turn.history, {"role": "user", "content": sources}]
