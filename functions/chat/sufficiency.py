"""Do the passages answer the question? A small model says yes, or what is missing and how to look for it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from functions.chat.context import as_blocks
from shared.cost import Ledger
from shared.errors import ModelUnavailable, SettingsError
from shared.language_model import LanguageModel
from shared.prompts import SUFFICIENCY
from shared.records import MAX_QUERY_CHARS, Passage
from shared.trace import current_trace

NOTE_WORDS = 50  # of the think note: contract


class Judgement(BaseModel):
    """What the judge fills in; the note is for the trace only."""

    model_config = ConfigDict(extra="forbid")

    note: str
    sufficient: bool
    missing: str
    queries: Annotated[list[str], Field(max_length=3)]


async def enough(
    question: str,
    passages: Sequence[Passage],
    asked: Sequence[str],
    judge: LanguageModel | None,
    ledger: Ledger,
    ends: float = math.inf,
) -> list[str]:
    """Further queries that could find what is missing; none where the passages suffice or no judge answers."""
    if judge is None:
        return []
    user = f"{as_blocks(passages)}\n\nQuestion: {question}\nQueries tried: {'; '.join(asked)}"
    prompt = [{"role": "system", "content": SUFFICIENCY}, {"role": "user", "content": user}]
    with current_trace().step("check") as facts:
        try:
            verdict = await judge.structured(
                prompt,
                Judgement,
                role="judge",
                ledger=ledger,
                timeout_s=judge.first_token_timeout_s,
                ends=ends,
            )  # a visitor waits, and the passages may do without
        except (ModelUnavailable, SettingsError) as error:
            facts["failed"] = str(error)
            return []
        words = verdict.note.split()
        facts |= {"think": " ".join(words[:NOTE_WORDS]), "note_cut": len(words) > NOTE_WORDS}
        facts |= {"sufficient": verdict.sufficient, "missing": verdict.missing}
    if verdict.sufficient:
        return []
    return [
        q[:MAX_QUERY_CHARS]
        for q in dict.fromkeys(verdict.queries)
        if re.search(r"[^\W_]", q) and q not in asked
    ]
