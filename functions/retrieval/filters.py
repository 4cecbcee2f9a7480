"""Typed pre-filters as LanceDB expressions: values are never pasted into text, so none can break or inject."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from lancedb.expr import Expr, col, lit

from functions.retrieval.conditions import condition
from shared.errors import InvalidRequest
from shared.metadata import Kind
from shared.records import Filters

COLUMNS = ("product", "content_type", "language", "source", "page_id")


def to_expression(filters: Filters, metadata: Mapping[str, Kind] | None = None) -> Expr | None:
    """The filter as one expression, None where it lets everything pass. An empty list lets nothing pass.

    `metadata` is what the table has to filter by.

    Raises:
        InvalidRequest: the filter asks for metadata that is not there, or for a value of another kind.
    """
    parts: list[Expr] = []
    for name in COLUMNS:
        values = getattr(filters, name)
        if values is not None:
            parts.append(_one_of(name, values))
    if filters.published_after is not None:
        parts.append(col("published_at") >= lit(filters.published_after))
    if filters.published_before is not None:
        parts.append(col("published_at") < lit(filters.published_before))
    known = metadata or {}
    for name, asked in (filters.metadata or {}).items():
        if name not in known:
            listed = ", ".join(f"{n} ({kind})" for n, kind in sorted(known.items())) or "none"
            raise InvalidRequest(f"filters.metadata: there is no {name!r}; there is: {listed}")
        parts.append(condition(name, known[name], asked))
    return reduce(lambda a, b: a & b, parts) if parts else None


def applied(filters: Filters) -> dict[str, Any]:
    """The filters given, for the response."""
    given = filters.model_dump(mode="json", exclude_none=True)
    if filters.metadata is not None:  # here a null has a meaning
        given["metadata"] = filters.model_dump(mode="json", include={"metadata"})["metadata"]
    return given


def _one_of(name: str, values: tuple[str, ...]) -> Expr:
    if not values:
        return col(name) != col(name)
    return col(name) == lit(values[0]) if len(values) == 1 else col(name).isin(list(values))
