"""Typed pre-filters as LanceDB expressions: values are never pasted into text, so none can break or inject."""

from __future__ import annotations

from functools import reduce
from typing import Any

from lancedb.expr import Expr, col, lit

from shared.records import Filters

COLUMNS = ("product", "content_type", "language", "source", "page_id")


def to_expression(filters: Filters) -> Expr | None:
    """The filter as one expression, None where it lets everything pass. An empty list lets nothing pass."""
    parts: list[Expr] = []
    for name in COLUMNS:
        values = getattr(filters, name)
        if values is not None:
            parts.append(_one_of(name, values))
    if filters.published_after is not None:
        parts.append(col("published_at") >= lit(filters.published_after))
    if filters.published_before is not None:
        parts.append(col("published_at") < lit(filters.published_before))
    return reduce(lambda a, b: a & b, parts) if parts else None


def applied(filters: Filters) -> dict[str, Any]:
    """The filters given, for the response."""
    return filters.model_dump(mode="json", exclude_none=True)


def _one_of(name: str, values: tuple[str, ...]) -> Expr:
    if not values:
        return col(name) != col(name)
    return col(name) == lit(values[0]) if len(values) == 1 else col(name).isin(list(values))
