"""The Arrow schema of the table, and how rows go in and passages come out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from shared.errors import TableUnavailable
from shared.metadata import PREFIX, Kind, kinds_in, read_back, stored
from shared.records import Passage, Record, Row

FORMAT = 1  # raised when rows of an older release cannot be read by this one
_METADATA = b"portavoz"
# Lance reads the key from the field; declaring it at creation saves the commit of set_unenforced_primary_key.
PRIMARY_KEY = {b"lance-schema:unenforced-primary-key:position": b"1"}
_STRINGS = (
    "page_id", "source", "url", "title", "section", "category", "text", "summary", "product", "content_type",
    "language", "enriched_by", "reuse_key", "vector_key", "page_hash", "terms",
)  # fmt: skip
PASSAGE_COLUMNS = [
    "id", "page_id", "text", "summary", "title", "section", "url", "product", "content_type", "language", "source",
    "category", "keywords",
]  # fmt: skip


class EmbeddingIdentity(Record):
    """The embedding model that an index is built with; vectors of two models are never mixed."""

    model: str
    dim: int


def schema_for(identity: EmbeddingIdentity) -> pa.Schema:
    """The schema of a table whose vectors are made by `identity`."""
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False, metadata=PRIMARY_KEY),
            *(pa.field(name, pa.string(), nullable=False) for name in _STRINGS),
            pa.field("ordinal", pa.int32(), nullable=False),
            pa.field("keywords", pa.list_(pa.string())),
            pa.field("questions", pa.list_(pa.string())),
            pa.field("published_at", pa.timestamp("us", tz="UTC")),
            pa.field("vector", pa.list_(pa.float32(), identity.dim), nullable=False),
        ],
        metadata={_METADATA: json.dumps({"format": FORMAT, **identity.model_dump()}).encode()},
    )


def identity_of(schema: pa.Schema) -> EmbeddingIdentity:
    """The embedding model that a table says it was built with."""
    stored = json.loads((schema.metadata or {}).get(_METADATA, b"{}"))
    if stored.pop("format", None) != FORMAT:
        raise TableUnavailable(
            "the table was not written by this version of Portavoz; point [store] uri to an empty place and index again"
        )
    return EmbeddingIdentity(**stored)


def to_arrow(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    """Rows as an Arrow table of `schema`."""
    kinds = kinds_in(schema)
    values = []
    for row in rows:
        columns = row.model_dump(exclude={"metadata"})
        columns |= {PREFIX + name: stored(value, kinds[name]) for name, value in row.metadata.items()}
        values.append(columns)
    return pa.Table.from_pylist(values, schema=schema)


def to_passage(values: dict[str, Any], score: float) -> Passage:
    """A passage from the columns `PASSAGE_COLUMNS` of one row."""
    fields = {name: values[name] for name in PASSAGE_COLUMNS}
    return Passage(**fields | {"keywords": tuple(values["keywords"] or ()), "score": score})


def to_row(values: dict[str, Any], kinds: Mapping[str, Kind]) -> Row:
    """A row from all columns of the table, `kinds` those of its metadata."""
    fields = {name: values[name] for name in Row.model_fields if name in values}
    metadata = {
        name: read_back(value, kind)
        for name, kind in kinds.items()
        if (value := values[PREFIX + name]) is not None
    }
    return Row(**fields, metadata=metadata)
