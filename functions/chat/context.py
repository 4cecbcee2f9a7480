"""Passages to numbered sources within the budget of words. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from shared.analysis import words
from shared.prompts import source_block
from shared.records import Passage, QueryResult, Source


def choose(
    results: Sequence[QueryResult], known: Sequence[Passage], budget_words: int
) -> tuple[Passage, ...]:
    """The passages that the answer may use: those known, then the best of each query in turn.

    Taking turns gives each part of a question its passages before the budget is spent.
    """
    chosen = {passage.id: passage for passage in known}
    spent = sum(words(p.text) for p in known)
    longest = max((len(result.chunks) for result in results), default=0)
    for rank in range(longest):
        for result in results:
            if rank >= len(result.chunks) or result.chunks[rank].id in chosen:
                continue
            size = words(result.chunks[rank].text)
            if chosen and spent + size > budget_words:
                return tuple(chosen.values())
            chosen[result.chunks[rank].id] = result.chunks[rank]
            spent += size
    return tuple(chosen.values())


def as_sources(passages: Sequence[Passage]) -> tuple[Source, ...]:
    """The passages as the visitor sees them."""
    return tuple(
        Source(n=n, title=p.title, section=p.section, url=p.url, score=p.score)
        for n, p in enumerate(passages, start=1)
    )


def as_blocks(passages: Sequence[Passage]) -> str:
    """The passages as the model reads them."""
    return "\n\n".join(source_block(n, p) for n, p in enumerate(passages, start=1))
