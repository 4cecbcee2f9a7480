"""One condition on metadata as a typed LanceDB expression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from functools import reduce
from typing import Any

from lancedb.expr import Expr, col, func, lit

from shared.errors import InvalidRequest
from shared.metadata import PREFIX, SEPARATOR, Kind, element
from shared.records import Condition, Scalar, Span

LARGEST = 2**63 - 1  # of the column's type, int64
DAY = timedelta(days=1)


def condition(name: str, kind: Kind, asked: Condition) -> Expr:
    """What `asked` says of metadata `name`: one value, any of several, or a range; null: there is no value.

    Raises:
        InvalidRequest: a value is not of this kind.
    """
    if isinstance(asked, Span):
        return _within(name, kind, asked)
    values = asked if isinstance(asked, tuple) else (asked,)
    if not values:
        return col(PREFIX + name) != col(PREFIX + name)  # any of no values: nothing
    given = [value for value in values if value is not None]
    parts = [_any_of(name, kind, given)] if given else []
    if len(given) < len(values):
        parts.append(_is_null(name))
    return reduce(lambda a, b: a | b, parts)


def _any_of(name: str, kind: Kind, values: Sequence[Scalar]) -> Expr:
    column = col(PREFIX + name)
    if kind == "date":
        days = [_instants(name, value) for value in values]
        return _either([(column >= lit(first)) & (column <= lit(last)) for first, last in days])
    if kind == "list of texts":
        texts = [element(_text(name, kind, value)) for value in values]
        return _either([column.contains(f"{SEPARATOR}{text}{SEPARATOR}") for text in texts])
    exact = [_exact(name, kind, value) for value in values]
    return column == lit(exact[0]) if len(exact) == 1 else column.isin(exact)


def _within(name: str, kind: Kind, span: Span) -> Expr:
    column = col(PREFIX + name)
    if span.start is None and span.end is None:
        raise InvalidRequest(f'filters.metadata: {name}: a range needs "from" or "to"')
    if kind in {"yes/no", "list of texts"}:
        raise InvalidRequest(f"filters.metadata: {name} is a {kind}, which has no ranges; name its values")
    ends: list[Expr] = []
    for value, last in ((span.start, False), (span.end, True)):
        if value is not None:
            end = _end(name, kind, value, last=last)
            ends.append(column <= lit(end) if last else column >= lit(end))
    return reduce(lambda a, b: a & b, ends)


def _end(name: str, kind: Kind, value: Scalar, *, last: bool) -> Any:
    """An end of a range; of whole numbers it may lie between two, and of dates be a whole day."""
    if kind == "date":
        return _instants(name, value)[1 if last else 0]
    if kind == "whole number" and isinstance(value, float):
        value = math.floor(value) if last else math.ceil(value)
    return _exact(name, kind, value)


def _exact(name: str, kind: Kind, value: Scalar) -> Any:
    """The value in the type of its column."""
    if kind == "text":
        return _text(name, kind, value)
    if kind == "yes/no" and isinstance(value, bool):
        return value
    if kind in {"whole number", "number"} and isinstance(value, int | float) and not isinstance(value, bool):
        if kind == "number":
            return (
                float(value)
                if abs(value) <= LARGEST or isinstance(value, float)
                else _refuse(name, kind, value)
            )
        if value == int(value) and -LARGEST <= value <= LARGEST:  # JSON's 5.0 is 5
            return int(value)
    return _refuse(name, kind, value)


def _text(name: str, kind: Kind, value: Scalar) -> str:
    return value if isinstance(value, str) else str(_refuse(name, kind, value))


def _instants(name: str, value: Scalar) -> tuple[datetime, datetime]:
    """The first and the last instant of a date, which are the same where a time is given; UTC unless it says so."""
    if not isinstance(value, str):
        _refuse(name, "date", value)
    try:
        instant = datetime.fromisoformat(str(value))
        instant = instant.astimezone(UTC) if instant.tzinfo else instant.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        _refuse(name, "date", value)
    whole_day = instant.time() == time.min and not any(mark in str(value) for mark in ":T ")
    return instant, instant + (DAY - timedelta.resolution if whole_day else timedelta(0))


def _refuse(name: str, kind: Kind, value: Scalar) -> Any:
    """Say what such a column takes."""
    takes: dict[Kind, str] = {
        "text": "a string",
        "list of texts": "a string, which any element equals",
        "whole number": "a whole number of 64 bits",
        "number": "a number",
        "yes/no": "true or false",
        "date": 'a string such as "2024-12-31" or "2024-12-31T18:00:00Z"',
    }
    raise InvalidRequest(f"filters.metadata: {name} is a {kind}: send {takes[kind]}, not {value!r}"[:500])


def _is_null(name: str) -> Expr:
    """LanceDB's typed expressions have no IS NULL; a comparison with null is null, and `concat` takes that as ""."""
    column = col(PREFIX + name)
    return func("concat", (column == column).cast("string")) == lit("")


def _either(parts: Sequence[Expr]) -> Expr:
    return reduce(lambda a, b: a | b, parts)
