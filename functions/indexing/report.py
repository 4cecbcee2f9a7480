"""What a run did, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from functions.indexing.pages import Skipped
from shared.cost import Spent
from shared.records import EnrichedChunk, Record
from shared.settings import RULES


class SourceReport(Record):
    """What a run did to one source."""

    source: str
    pages_seen: int = 0
    pages_changed: int = 0
    pages_unchanged: int = 0
    pages_removed: int = 0
    pages_skipped: tuple[Skipped, ...] = ()
    removal_withheld: int = 0  # pages that vanished but were kept, since too many vanished at once
    chunks_added: int = 0
    enrichments_reused: int = 0  # taken from rows that were there, without asking the model
    vectors_reused: int = 0
    chunks_removed: int = 0
    enriched_by_model: int = 0
    enriched_by_rules: int = 0
    error: str | None = None
    incomplete: str | None = None  # why the source was not read to its end; nothing was removed then

    @property
    def pages_failed(self) -> int:
        """Pages that should have been readable."""
        return sum(skipped.failed for skipped in self.pages_skipped)


class RunReport(Record):
    """What a run did and what it cost."""

    sources: tuple[SourceReport, ...]
    dry_run: bool
    index_version: int | None
    seconds: float
    spent: dict[str, Spent]
    cost_usd: float

    @property
    def failed(self) -> bool:
        """Whether a source could not be read at all."""
        return any(source.error for source in self.sources)


def count_enriched(chunks: Iterable[EnrichedChunk]) -> dict[str, int]:
    """Chunks by who enriched them."""
    by = Counter(chunk.enrichment.enriched_by == RULES for chunk in chunks)
    return {"enriched_by_model": by[False], "enriched_by_rules": by[True]}
