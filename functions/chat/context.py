"""Passages to numbered sources within the budget of words. Pure."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from functions.chat.memory import size
from shared.prompts import FENCE, fenced, source_block
from shared.records import Passage, QueryResult, Source


def choose(
    results: Sequence[QueryResult], known: Sequence[Passage], budget_words: int
) -> tuple[Passage, ...]:
    """The passages that the answer may use: those known, then the best of each query in turn.

    Taking turns gives each part of a question its passages before the budget is spent.
    """
    chosen = {passage.id: passage for passage in known}
    spent = sum(size(source_block(1, p)) for p in known)
    longest = max((len(result.chunks) for result in results), default=0)
    for rank in range(longest):
        for result in results:
            if rank >= len(result.chunks) or result.chunks[rank].id in chosen:
                continue
            more = size(source_block(1, result.chunks[rank]))
            if chosen and spent + more > budget_words:
                return tuple(chosen.values())
            chosen[result.chunks[rank].id] = result.chunks[rank]
            spent += more
    return tuple(chosen.values())


def as_sources(passages: Sequence[Passage]) -> tuple[Source, ...]:
    """The passages as the visitor sees them."""
    return tuple(
        Source(n=n, title=p.title, section=p.section, url=p.url, score=p.score)
        for n, p in enumerate(passages, start=1)
    )


def as_blocks(passages: Sequence[Passage]) -> str:
    """The passages as the model reads them, each between lines that no page can know."""
    fence = FENCE.format(code=secrets.token_hex(4))
    return "\n\n".join(fenced(source_block(n, p), fence) for n, p in enumerate(passages, start=1))
