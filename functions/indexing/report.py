"""What a run did, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from functions.indexing.pages import Skipped
from shared.cost import Spent
from shared.journal import RUNS, Journal
from shared.records import EnrichedChunk, Record
from shared.settings import RULES
from shared.table import KnowledgeTable

TOKENS_PER_CHAR = 0.25  # of an OpenAI tokenizer, on English prompts with some Spanish and French text
BREAKDOWN = ("source", "category", "language", "product", "content_type", "enriched_by")


class Quarantined(Record):
    """Sentences of a page that speak to a model; they are not indexed."""

    id: str
    quotes: tuple[str, ...]


class SourceReport(Record):
    """What a run did to one source."""

    source: str
    pages_seen: int = 0
    pages_changed: int = 0
    pages_unchanged: int = 0
    pages_removed: int = 0
    pages_skipped: tuple[Skipped, ...] = ()
    quarantined: tuple[Quarantined, ...] = ()
    removal_withheld: int = 0  # pages that vanished but were kept, since too many vanished at once
    chunks_added: int = 0
    chunks_kept: int = 0  # of pages that changed, with the same text as before
    chunks_removed: int = 0
    enrichments_reused: int = 0  # taken from rows that were there, without asking the model
    vectors_reused: int = 0
    enriched_by_model: int = 0
    enriched_by_rules: int = 0
    error: str | None = None
    incomplete: str | None = None  # why the source was not read to its end; nothing was removed then

    @property
    def pages_failed(self) -> int:
        """Pages that should have been readable."""
        return sum(skipped.failed for skipped in self.pages_skipped)


class Estimate(Record):
    """What a run would do and cost."""

    chunks: int
    model_calls: int
    input_tokens: int
    output_tokens: int
    embedding_tokens: int
    cost_usd: float


class Breakdown(Record):
    """What the table holds: chunks by value of each column, and whether rows, vectors and enrichments agree."""

    rows: int
    pages: int
    chunks: dict[str, dict[str, int]]
    integrity: dict[str, int]

    @property
    def sound(self) -> bool:
        """Whether every row has a vector, an enrichment and an id of its own."""
        return set(self.integrity.values()) <= {self.rows}


class RunReport(Record):
    """What a run did and what it cost."""

    at: datetime
    sources: tuple[SourceReport, ...]
    dry_run: bool
    full: bool = False
    index_version: int | None
    seconds: float
    spent: dict[str, Spent]
    cost_usd: float
    enrichment_model: str = RULES
    estimate: Estimate | None = None
    breakdown: Breakdown | None = None  # of the table afterwards, where something changed

    error: str | None = None  # why the run broke off

    @property
    def failed(self) -> bool:
        """Whether the run broke off, or a source could not be read at all."""
        return self.error is not None or any(source.error for source in self.sources)


class Rates(Record):
    """Tokens per character of what is sent, and tokens of one reply (0: not known)."""

    enrichment: float = TOKENS_PER_CHAR
    embedding: float = TOKENS_PER_CHAR
    reply_tokens: float = 0.0


async def last_tokens_per_char(journal: Journal, model: str) -> Rates:
    """As measured by the last run that called the model; the defaults where none did."""
    for report in reversed((await journal.all(RUNS, RunReport)).values()):
        spent = report.spent.get("enrichment")
        if report.enrichment_model != model or not spent or not spent.characters:
            continue
        embedding = report.spent.get("embedding")
        return Rates(
            enrichment=spent.usage.input_tokens / spent.characters,
            embedding=embedding.usage.input_tokens / embedding.characters
            if embedding and embedding.characters
            else TOKENS_PER_CHAR,
            reply_tokens=spent.usage.output_tokens / spent.calls,
        )
    return Rates()


async def breakdown(table: KnowledgeTable) -> Breakdown:
    """Count what the table holds."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in BREAKDOWN}
    ids: set[str] = set()
    pages: set[str] = set()
    rows = vectors = enrichments = 0
    for row in await table.columns(["id", "page_id", *BREAKDOWN, "vector_key", "reuse_key"]):
        rows += 1
        ids.add(row["id"])
        pages.add(row["page_id"])
        vectors += bool(row["vector_key"])
        enrichments += bool(row["reuse_key"])
        for name in BREAKDOWN:
            counts[name][row[name]] += 1
    return Breakdown(
        rows=rows,
        pages=len(pages),
        chunks={name: dict(found.most_common()) for name, found in counts.items()},
        integrity={
            "rows": rows, "distinct_ids": len(ids), "with_vector": vectors, "with_enrichment": enrichments,
        },
    )  # fmt: skip


def count_enriched(chunks: Iterable[EnrichedChunk]) -> dict[str, int]:
    """Chunks by who enriched them."""
    by = Counter(chunk.enrichment.enriched_by == RULES for chunk in chunks)
    return {"enriched_by_model": by[False], "enriched_by_rules": by[True]}
