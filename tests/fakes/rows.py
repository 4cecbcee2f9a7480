"""Rows for tests of the table: only what a test names differs from the defaults."""

from __future__ import annotations

from typing import Any

from functions.indexing.chunking import digest
from shared.analysis import analyse
from shared.records import Row
from tests.fakes.embedder import bag_of_words


def row(
    page_id: str = "pages/a.md", ordinal: int = 0, text: str = "Some text.", *, dim: int = 64, **others: Any
) -> Row:
    """A row whose vector and terms are those of its text."""
    fields: dict[str, Any] = {
        "id": f"{page_id}#{ordinal}-{digest(text)[:8]}", "page_id": page_id, "source": "pages", "ordinal": ordinal,
        "url": f"https://example.com/{page_id}", "title": "A page", "section": "", "category": "", "text": text,
        "summary": "", "keywords": (), "questions": (), "product": "general", "content_type": "guide", "language": "en",
        "published_at": None, "enriched_by": "rules", "reuse_key": digest(text), "vector_key": digest(text),
        "page_hash": digest(page_id, text), "terms": " ".join(analyse(text, others.get("language", "en"))),
        "vector": tuple(bag_of_words(text, dim).tolist()),
    }  # fmt: skip
    return Row(**fields | others)
