"""A SQLite database to read pages from, and what a source makes of it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from functions.indexing.pages import Skipped, Unchanged, Visits
from functions.indexing.sources import pages_of
from shared.records import Page
from shared.settings import Settings, SqlSource

Found = Page | Skipped | Unchanged


def write(file: Path, *statements: str | tuple[str, Sequence[Any]]) -> None:
    """Run statements on the database; a tuple is one with the rows to run it for."""
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            if isinstance(statement, str):
                connection.execute(statement)
            else:
                connection.executemany(*statement)


def sql_source(url: str | Path, **keys: Any) -> SqlSource:
    """A source named `db` with the key `id` and the text `body`, of the table `articles` unless `query` is given."""
    defaults: dict[str, Any] = {"kind": "sql", "name": "db", "key": "id", "text": "body"}
    defaults |= {} if "query" in keys else {"table": "articles"}
    return SqlSource(**defaults | {"url": f"sqlite:///{url}" if isinstance(url, Path) else url} | keys)


def read(source: SqlSource, visits: Visits | None = None, **settings: Any) -> list[Found]:
    """What the source yields."""

    async def collect() -> list[Any]:
        found = pages_of(source, Settings(sources=(source,), **settings), visits or Visits())
        return [page async for page in found]

    return asyncio.run(collect())


def traced(run: Callable[[], Any]) -> list[str]:
    """The statements that SQLAlchemy sends while `run` runs."""
    from sqlalchemy import Engine, event

    sent: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *others: Any) -> None:
        sent.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        run()
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    return sent
