"""Values of a database as text, as keys, and as typed metadata."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any

from shared.errors import SourceError
from shared.metadata import Kind
from shared.records import MetadataValue

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine

_WORDS = {
    "true": True,
    "t": True,
    "yes": True,
    "1": True,
    "false": False,
    "f": False,
    "no": False,
    "0": False,
}
WHOLE = 2**63  # metadata's whole numbers have 64 bits
LAST_DIGIT = timedelta(seconds=2)  # many clocks of databases and columns know whole seconds only
LAST_DAY = timedelta(days=2)  # a date without a time, in whatever time zone
LEAST_EPOCH = 10**8  # seconds, 1973; smaller whole numbers are counters of revisions


class Unfit(ValueError):
    """A value that is not of its column's kind; the message says which."""


def kind_of_type(type_: TypeEngine[Any] | None, dialect: str) -> Kind | None:
    """The kind of metadata that a column of this type holds; None: its values tell.

    Raises:
        Unfit: no filter can compare such values.
    """
    from sqlalchemy import types

    if isinstance(type_, types.LargeBinary):
        raise Unfit("holds bytes, which no filter can compare")
    if type_ is None or isinstance(type_, types.NullType):
        return None
    if dialect == "sqlite" and type(type_) is types.NUMERIC:
        return None  # what SQLite's reflection makes of every type that it does not know
    kinds: tuple[tuple[tuple[type[Any], ...], Kind], ...] = (
        ((types.Boolean,), "yes/no"),
        ((types.Integer,), "whole number"),
        ((types.Numeric,), "number"),
        ((types.DateTime, types.Date), "date"),
        ((types.ARRAY, types.JSON), "list of texts"),
    )
    return next((kind for classes, kind in kinds if isinstance(type_, classes)), "text")


def kind_of_values(values: Iterable[Any]) -> Kind | None:
    """The kind of column for these values of a query; None where all are null."""
    kinds = {_kind(value) for value in values if value is not None}
    if len(kinds) <= 1:
        return next(iter(kinds), None)
    return "number" if kinds == {"whole number", "number"} else "text"


def _kind(value: Any) -> Kind:
    if isinstance(value, bytes | bytearray | memoryview | dict):
        raise Unfit(f"holds {type(value).__name__} values, which no filter can compare")
    classes: tuple[tuple[type | tuple[type, ...], Kind], ...] = (
        (bool, "yes/no"),
        (int, "whole number"),
        ((float, Decimal), "number"),
        (date, "date"),
        ((list, tuple, set), "list of texts"),
    )
    if isinstance(value, str) and value[:1] == "[" and isinstance(_json(value), list):
        return "list of texts"  # databases without a type for JSON keep lists so
    return next((kind for class_, kind in classes if isinstance(value, class_)), "text")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def metadata_value(value: Any, kind: Kind) -> MetadataValue | None:
    """The value in its column's kind; None for null and for what is not a number (NaN, infinity).

    Raises:
        Unfit: it cannot be one.
    """
    if value is None or (isinstance(value, float | Decimal) and not math.isfinite(value)):
        return None
    made: MetadataValue | None = None
    if kind == "list of texts":
        return _texts(value)
    if kind == "text":
        made = as_text(value)
    elif kind == "date":
        made = as_instant(value)
    elif kind == "yes/no":
        made = _WORDS.get(str(value).strip().lower())
    else:
        made = _number(value, whole=kind == "whole number")
    if made is None:
        raise Unfit(f"holds {str(value)[:50]!r}, which is no {kind}")
    return made


def _number(value: Any, *, whole: bool) -> int | float | None:
    try:
        number = Decimal(str(value).strip()) if isinstance(value, str) else value
        if not whole:
            return float(number)
        return int(number) if number == int(number) and -WHOLE <= number < WHOLE else None
    except (ArithmeticError, TypeError, ValueError):
        return None


def _texts(value: Any) -> tuple[str, ...]:
    """A list of scalars; JSON text is read as such. A lone scalar is a list of one."""
    if isinstance(value, str):
        value = _json(value)
    if value is None:
        return ()
    items = list(value) if isinstance(value, list | tuple | set) else [value]
    if any(isinstance(item, dict | list | tuple | bytes) for item in items):
        raise Unfit("holds JSON objects or nested lists; only lists of texts and numbers can be filtered by")
    return tuple(as_text(item) for item in items if item is not None)


def as_text(value: Any) -> str:
    """The value as a reader would write it; null is the empty text.

    Raises:
        Unfit: it is bytes that are no UTF-8 text.
    """
    if value is None:
        return ""
    if isinstance(value, bytes | bytearray | memoryview):
        try:
            return bytes(value).decode("utf-8")
        except UnicodeDecodeError:
            raise Unfit("holds bytes that are no UTF-8 text") from None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return str(int(value))  # 12.00 as a key is 12
    return value.isoformat() if isinstance(value, date) else str(value)


def as_instant(value: Any) -> datetime | None:
    """A date in UTC, of a date, ISO text, or seconds since 1970; None where it is none. A time zone is UTC unless given."""
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        elif (
            isinstance(value, int | float | Decimal) and not isinstance(value, bool) and value >= LEAST_EPOCH
        ):
            value = datetime.fromtimestamp(float(value), UTC)
        if isinstance(value, datetime):
            return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def settled(value: Any, now: datetime) -> bool:
    """May a row with this `updated_at` be taken as unchanged while the value is the same?

    Not while a second change could get the same value: in the second, or on the day, of the first.
    """
    instant = as_instant(value)
    if instant is None:
        return True  # a revision or the like: it says itself that it changes
    text = value if isinstance(value, str) else ""
    day = (isinstance(value, date) and not isinstance(value, datetime)) or 0 < len(text) <= len("2024-12-31")
    return instant + (LAST_DAY if day else LAST_DIGIT) < now


def declared(kind: Kind | None, source: str, column: str, values: Iterable[Any]) -> Kind | None:
    """The kind of a column, by its type or else by its values.

    Raises:
        SourceError: no filter can compare them.
    """
    if kind is not None:
        return kind
    try:
        return kind_of_values(values)
    except Unfit as error:
        raise SourceError(
            f"source {source!r}: metadata column {column!r} {error}; leave it out, or convert it in a query"
        ) from None
