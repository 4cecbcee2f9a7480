"""Rows from one table to another; vectors are made anew where the other holds those of another model."""

from __future__ import annotations

from collections.abc import Sequence

from functions.indexing.chunking import digest
from functions.indexing.rows import embedded_text_of
from shared.cost import Ledger
from shared.embedding import Embedder
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
            texts = [embedded_text_of(row) for row in rows]
            vectors = await embedder.passages(texts, ledger)
            rows = [
                row.model_copy(update={"vector": tuple(vector), "vector_key": digest(text)})
                for row, text, vector in zip(rows, texts, vectors.tolist(), strict=True)
            ]
        await target.replace_pages(some, rows)
