"""Rows from one table to another; vectors are made anew where the other holds those of another model."""

from __future__ import annotations

from collections.abc import Sequence

from functions.indexing.chunking import digest
from shared.cost import Ledger
from shared.embedding import Embedder
from shared.prompts import embedding_input
from shared.records import Row
from shared.table import KnowledgeTable

PAGES = 100  # per commit: some hundred chunks


async def carry(
    source: KnowledgeTable,
    target: KnowledgeTable,
    page_ids: Sequence[str],
    embedder: Embedder,
    ledger: Ledger,
) -> None:
    """Copy all rows of the pages named."""
    for start in range(0, len(page_ids), PAGES):
        some = page_ids[start : start + PAGES]
        rows = await source.rows_of(some)
        if source.identity != target.identity:
            vectors = await embedder.passages([_embedded_text(row) for row in rows], ledger)
            rows = [
                row.model_copy(update={"vector": tuple(vector), "vector_key": digest(_embedded_text(row))})
                for row, vector in zip(rows, vectors.tolist(), strict=True)
            ]
        await target.replace_pages(some, rows)


def _embedded_text(row: Row) -> str:
    return embedding_input(
        title=row.title,
        category=row.category or row.product,
        section=row.section,
        summary=row.summary,
        keywords=row.keywords,
        questions=row.questions,
        text=row.text,
    )
