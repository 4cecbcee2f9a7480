"""The rows of a table or of one SELECT as pages, read without ever writing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from functions.indexing.chunking import digest
from functions.indexing.pages import Skipped, Unchanged, Visit, Visits
from functions.indexing.sources.sql_database import (
    checked_query,
    named_columns,
    reading,
    relation,
    rows,
    url_of,
)
from functions.indexing.sources.sql_pages import RowReader
from functions.indexing.sources.sql_values import Unfit, as_text, settled
from shared.errors import SettingsError, SourceError
from shared.records import Page
from shared.settings import Settings, SqlSource

if TYPE_CHECKING:
    from sqlalchemy import Connection

Found = Page | Skipped | Unchanged
TOLD = 20  # rows without a usable key that are named one by one; the rest is counted


def check(source: SqlSource, *, elsewhere: bool = False) -> None:
    """Refuse a source without a URL (not if the run is `elsewhere`), or with a query that is anything but one SELECT.

    Raises:
        SettingsError: naming the place and what is allowed.
    """
    if not elsewhere:
        url_of(source)
    checked_query(source, elsewhere=elsewhere)


async def pages(source: SqlSource, settings: Settings, visits: Visits) -> AsyncIterator[Found]:
    """All rows, in the database's order. The database is read in a thread of its own, batch by batch.

    With `updated_at`, rows whose value is that of the last run are `Unchanged`, and only their keys are read.

    Raises:
        SourceError: the database cannot be read, or what `check` refuses; the message says what to do and never
            shows the password.
    """
    try:
        check(source)
    except SettingsError as error:  # the run goes on with the other sources
        raise SourceError(str(error)) from None
    loop = asyncio.get_running_loop()
    reader = _found(source, settings, visits)
    nothing: list[Found] = []
    with ThreadPoolExecutor(
        1, thread_name_prefix="sql"
    ) as thread:  # SQLite's connections belong to one thread
        try:
            while batch := await loop.run_in_executor(thread, next, reader, nothing):
                for found in batch:
                    yield found
        finally:
            await loop.run_in_executor(thread, reader.close)


def _found(source: SqlSource, settings: Settings, visits: Visits) -> Generator[list[Found], None, None]:
    with reading(source) as connection:
        keys = _Keys(source)
        reader = RowReader(source, settings, *relation(source, connection), connection.dialect.name)
        as_now = digest(source.model_dump_json(), settings.model_dump_json(include=_MATTERS))
        yield from filter(None, _batches(source, connection, reader, keys, visits, as_now))
        if keys.untold:
            reason = f"and {keys.untold} more rows whose key is null or occurs twice"
            yield [Skipped(id=source.name, reason=reason, failed=True)]


_MATTERS = {
    "site",
    "products",
    "content_types",
}  # what pages are made with, besides the source's own settings


def _batches(
    source: SqlSource, connection: Connection, reader: RowReader, keys: _Keys, visits: Visits, as_now: str
) -> Iterator[list[Found]]:
    names = named_columns(source)
    now = datetime.now(UTC)
    before = {
        visit.page_id: visit for visit in visits.before.values() if source.updated_at and visit.etag == as_now
    }
    again: list[Any] | None = None
    if before:
        again = []
        for batch in rows(connection, reader.shape, list(dict.fromkeys([source.key, source.updated_at]))):
            found: list[Found] = []
            for row, page_id in keys.checked(batch, found):
                visit = before.get(page_id)
                if visit is not None and visit.last_modified == _as_stored(row[source.updated_at]):
                    visits.now[page_id] = visit
                    found.append(Unchanged(id=page_id))
                else:
                    again.append(row[source.key])
            yield found
        keys.seen.clear()  # for the rows that are read again; what is wrong with keys has been told
    for batch in rows(connection, reader.shape, names, source.key, again):
        found = []
        pairs = list(keys.checked(batch, found if again is None else None))
        made = reader.pages(pairs)
        for (row, page_id), page in zip(pairs, made, strict=True):
            value = row[source.updated_at] if source.updated_at else None
            if isinstance(page, Page) and value is not None and settled(value, now):
                visits.now[page_id] = Visit(page_id=page_id, etag=as_now, last_modified=_as_stored(value))
        found += made
        yield found


def _as_stored(value: Any) -> str:
    return "" if value is None else as_text(value)


class _Keys:
    """Page ids of rows; each key counts once."""

    def __init__(self, source: SqlSource) -> None:
        self._source = source
        self._row = 0
        self._told = 0
        self.untold = 0
        self.seen: set[str] = set()

    def checked(
        self, batch: list[dict[str, Any]], found: list[Found] | None
    ) -> Iterator[tuple[dict[str, Any], str]]:
        """The rows that have a key of their own; what is wrong with the others is put to `found`."""
        for row in batch:
            self._row += 1
            page_id = self._page_id(row)
            if page_id is None or page_id in self.seen:
                if found is not None:
                    self._tell(found, page_id)
                continue
            self.seen.add(page_id)
            yield row, page_id

    def _page_id(self, row: dict[str, Any]) -> str | None:
        try:
            key = as_text(row[self._source.key])
        except Unfit as error:
            raise SourceError(
                f"source {self._source.name!r}: key column {self._source.key!r} {error}"
            ) from None
        return f"{self._source.name}/{key}" if re.search(r"\S", key) else None

    def _tell(self, found: list[Found], page_id: str | None) -> None:
        if self._told >= TOLD:
            self.untold += 1
            return
        self._told += 1
        column = self._source.key
        if page_id is None:
            reason = f"the key column {column!r} is null or empty"
            page_id = f"{self._source.name}/(row {self._row})"
        else:
            reason = f"the key occurs more than once in {column!r}; the first row is indexed"
        found.append(Skipped(id=page_id, reason=reason, failed=True))
