"""Metadata of a source's pages as typed columns of the table: `meta_<name>`, null where a page has no such value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

import pyarrow as pa

from shared.errors import SourceError
from shared.records import MetadataValue

PREFIX = "meta_"
Kind = Literal["text", "whole number", "number", "yes/no", "date", "list of texts"]
_KIND = b"portavoz-kind"  # of a field: a list of texts is stored as a string too
# LanceDB's typed expressions know `contains` for strings only, so a list is one string: each element between two
# separators, which no text contains (U+001F is the control character made for this).
SEPARATOR = "\x1f"
_ARROW: dict[Kind, pa.DataType] = {
    "text": pa.string(),
    "whole number": pa.int64(),
    "number": pa.float64(),
    "yes/no": pa.bool_(),
    "date": pa.timestamp("us", tz="UTC"),
    "list of texts": pa.string(),
}


def kind_of(value: MetadataValue) -> Kind:
    """The kind of column that holds such values."""
    if isinstance(value, bool):
        return "yes/no"
    if isinstance(value, int):
        return "whole number"
    if isinstance(value, float):
        return "number"
    if isinstance(value, datetime):
        return "date"
    return "text" if isinstance(value, str) else "list of texts"


def field_of(name: str, kind: Kind) -> pa.Field:
    """The column for metadata `name`; nullable, so that rows of other sources need none."""
    return pa.field(PREFIX + name, _ARROW[kind], metadata={_KIND: kind.encode()})


def kinds_in(schema: pa.Schema) -> dict[str, Kind]:
    """The metadata that a table has, by name."""
    return {
        field.name.removeprefix(PREFIX): (field.metadata or {})[_KIND].decode()
        for field in schema
        if field.name.startswith(PREFIX) and _KIND in (field.metadata or {})
    }


def kinds_needed(records: Iterable[Mapping[str, MetadataValue]]) -> dict[str, Kind]:
    """The columns that these pages' metadata need; whole numbers beside others are numbers.

    Raises:
        SourceError: two of them hold values of two kinds under one name.
    """
    needed: dict[str, Kind] = {}
    for record in records:
        for name, value in record.items():
            needed[name] = agreed(name, needed.get(name), kind_of(value), widen=True)
    return needed


def agreed(name: str, there: Kind | None, wanted: Kind, *, widen: bool = False) -> Kind:
    """The kind of a column that is `there` for values of the kind `wanted`; `widen`: it may still be changed.

    Raises:
        SourceError: the column cannot hold them.
    """
    if there is None or there == wanted:
        return wanted
    if {there, wanted} == {"whole number", "number"} and (widen or there == "number"):
        return "number"
    raise SourceError(
        f"metadata {name!r} is a {wanted} here, but a {there} in the index, where another source or an earlier run "
        f'put it; give it another name or type, as in query = "SELECT …, CAST({name} AS …) AS other_name FROM …"'
    )


def stored(value: MetadataValue, kind: Kind) -> Any:
    """The value as its column holds it."""
    if kind == "number" and not isinstance(value, str | datetime | tuple):
        return float(value)
    if isinstance(value, tuple):
        return SEPARATOR + "".join(element(text) + SEPARATOR for text in value)
    return value


def read_back(value: Any, kind: Kind) -> MetadataValue:
    """The value that its column holds."""
    if kind == "list of texts":
        return tuple(value.strip(SEPARATOR).split(SEPARATOR)) if value != SEPARATOR else ()
    result: MetadataValue = value
    return result


def element(text: str) -> str:
    """A text as it stands in a list."""
    return text.replace(SEPARATOR, " ")
