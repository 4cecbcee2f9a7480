"""Enriched chunks to rows, with what the table already holds used again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lancedb.expr import col, lit

from shared.analysis import analyse
from shared.prompts import embedding_input
from shared.records import Chunk, EnrichedChunk, Enrichment, Page, Record, Row
from shared.table import KnowledgeTable

INCOMPLETE = "incomplete:"  # before the hash of a page with a chunk that a model should still enrich


class Known(Record):
    """What the table holds of a page."""

    page_hash: str = ""
    chunks: frozenset[str] = frozenset()


class PageChunks(Record):
    """A page that changed, in chunks."""

    page: Page
    page_hash: str
    chunks: tuple[Chunk, ...]


async def known_pages(table: KnowledgeTable, source: str) -> dict[str, Known]:
    """The pages of a source that the table holds."""
    chunks: dict[str, set[str]] = {}
    hashes: dict[str, str] = {}
    for row in await table.columns(["id", "page_id", "page_hash"], col("source") == lit(source)):
        chunks.setdefault(row["page_id"], set()).add(row["id"])
        hashes[row["page_id"]] = row["page_hash"]
    return {page: Known(page_hash=hashes[page], chunks=frozenset(ids)) for page, ids in chunks.items()}


async def page_hashes(table: KnowledgeTable) -> dict[str, tuple[str, str]]:
    """Source and hash of every page that the table holds."""
    found = await table.columns(["page_id", "source", "page_hash"])
    return {row["page_id"]: (row["source"], row["page_hash"]) for row in found}


async def stored_enrichments(table: KnowledgeTable, keys: Iterable[str]) -> dict[str, Enrichment]:
    """Enrichments of the table by reuse key, from whatever page."""
    wanted = sorted(set(keys))
    if not wanted:
        return {}
    found = await table.columns(["reuse_key", *Enrichment.model_fields], col("reuse_key").isin(wanted))
    return {row.pop("reuse_key"): Enrichment(**row) for row in found}


async def stored_vectors(table: KnowledgeTable, keys: Iterable[str]) -> dict[str, list[float]]:
    """Vectors of the table by vector key, from whatever page."""
    wanted = sorted(set(keys))
    if not wanted:
        return {}
    found = await table.columns(["vector_key", "vector"], col("vector_key").isin(wanted))
    return {row["vector_key"]: row["vector"] for row in found}


def embedded_text(enriched: EnrichedChunk) -> str:
    """The text whose vector stands for the chunk."""
    page, chunk = enriched.page, enriched.chunk
    return _embedded(page.title, page.category, chunk.section, enriched.enrichment, chunk.text)


def embedded_text_of(row: Row) -> str:
    """The text whose vector stands in a row, for another embedding model."""
    return _embedded(row.title, row.category, row.section, row, row.text)


def _embedded(title: str, category: str, section: str, described: Enrichment | Row, text: str) -> str:
    return embedding_input(
        title=title,
        category=category or described.product,
        section=section,
        summary=described.summary,
        keywords=described.keywords,
        questions=described.questions,
        text=text,
    )


def to_row(enriched: EnrichedChunk, page_hash: str, vector_key: str, vector: Sequence[float]) -> Row:
    """One row of the table."""
    page, chunk, enrichment = enriched.page, enriched.chunk, enriched.enrichment
    described = (enrichment.summary, *enrichment.keywords, *enrichment.questions)
    language = chunk.language or page.language
    searched = "\n".join((page.title, chunk.section, *described, chunk.text))
    return Row(
        id=chunk.id,
        page_id=page.id,
        source=page.source,
        ordinal=chunk.ordinal,
        url=page.url,
        title=page.title,
        section=chunk.section,
        category=page.category,
        text=chunk.text,
        **enrichment.model_dump(),
        language=language,
        published_at=page.published_at,
        reuse_key=enriched.reuse_key,
        vector_key=vector_key,
        page_hash=page_hash,
        terms=" ".join(analyse(searched, language)),
        vector=tuple(vector),
        metadata=page.metadata,
    )
