"""A database that is only read: the connection, what there is in it, and its rows in batches."""

from __future__ import annotations

import re
import sqlite3
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from shared.errors import SettingsError, SourceError
from shared.select_only import select_only
from shared.settings import SqlSource, config_path, secret

if TYPE_CHECKING:
    from sqlalchemy import Connection, FromClause
    from sqlalchemy.engine import URL
    from sqlalchemy.types import TypeEngine

    Columns = dict[str, TypeEngine[Any] | None]

BATCH = 500  # rows held at once: some 5 MB of articles
KEYS = 500  # of one IN: SQLite takes 999 parameters in old builds, SQL Server 2,100
CONNECT_S = 10  # a database that does not answer in this time is down, or behind a firewall
LISTED = 30  # names in a message: more hide what is said
DRIVERS = {  # what to install where its name is not that of the module
    "psycopg": "portavoz[postgres]",
    "MySQLdb": "mysqlclient (or pymysql, with mysql+pymysql:// in the URL)",
}
# the driver that comes with Portavoz; hosts hand out the first form
POSTGRES = ("postgres", "postgresql")


def url_of(source: SqlSource) -> URL:
    """The URL of the source's database.

    Raises:
        SettingsError: there is none, or it is no SQLAlchemy URL.
    """
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    text = source.url or secret(source.url_env)
    if not text:
        raise SettingsError(
            f"source {source.name!r}: the environment variable {source.url_env} is not set; it should hold the URL "
            "of the database, such as postgresql://user:password@host/database"
        )
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):  # neither may be shown: a part of the URL can be the password
        where = source.url_env or f"{config_path()}: sources: {source.name}: url"
        raise SettingsError(
            f"{where}: this is no SQLAlchemy URL; write dialect://user:password@host/database, with special characters "
            "of the password percent-encoded, or sqlite:///file.db"
        ) from None
    return url.set(drivername="postgresql+psycopg") if url.drivername in POSTGRES else url


def checked_query(source: SqlSource, *, elsewhere: bool = False) -> str:
    """The source's SELECT without what ends it, "" for a table. `elsewhere`: the URL is not known here.

    Raises:
        SettingsError: it is anything but one SELECT.
    """
    if not source.query:
        return ""
    try:
        dialect = "" if elsewhere and not source.url else url_of(source).get_backend_name()
        return select_only(source.query, dialect)
    except SettingsError as error:
        raise SettingsError(f"{config_path()}: sources: {source.name}: query: {error}") from None


@contextmanager
def reading(source: SqlSource) -> Iterator[Connection]:
    """A connection that cannot write, in one transaction that is rolled back.

    Raises:
        SourceError: the driver is missing, or the database cannot be reached or read; the password is never shown.
    """
    from sqlalchemy import create_engine, event
    from sqlalchemy.exc import DBAPIError, NoSuchModuleError, SQLAlchemyError
    from sqlalchemy.pool import NullPool

    url = url_of(source)
    with _translated(source, url, (DBAPIError, NoSuchModuleError, SQLAlchemyError, ImportError)):
        options: dict[str, Any] = {"poolclass": NullPool}
        execution: dict[str, Any] = {}
        if url.get_backend_name() == "sqlite":
            file = _file(source, url)
            options["creator"] = lambda: sqlite3.connect(file, uri=True)
        elif url.get_backend_name() == "postgresql":
            execution = {"postgresql_readonly": True, "isolation_level": "REPEATABLE READ"}
            if "connect_timeout" not in url.query:
                options["connect_args"] = {"connect_timeout": CONNECT_S}
        engine = create_engine(url, **options)
        if url.get_backend_name() == "sqlite":
            event.listen(engine, "connect", lambda raw, record: raw.execute("PRAGMA query_only = ON"))
        try:
            with engine.connect().execution_options(**execution) as connection:
                yield connection
                connection.rollback()
        finally:
            engine.dispose()


def _file(source: SqlSource, url: URL) -> str:
    """A SQLite database's file as a URI that opens it read only (it would be created otherwise)."""
    name = url.database or ""
    if name.startswith("file:"):
        name = name.removeprefix("file:").partition("?")[0]
    if not name or name == ":memory:":
        raise SourceError(f"source {source.name!r}: a SQLite database in memory is empty; name its file")
    if not Path(name).is_file():
        raise SourceError(f"source {source.name!r}: there is no database file {Path(name).resolve()}")
    return f"file:{quote(str(Path(name).resolve()))}?mode=ro"


@contextmanager
def _translated(source: SqlSource, url: URL, kinds: tuple[type[Exception], ...]) -> Iterator[None]:
    try:
        yield
    except kinds as error:
        raise SourceError(f"source {source.name!r}: {_explained(error, url)}") from None


def _explained(error: Exception, url: URL) -> str:
    from sqlalchemy.exc import NoSuchModuleError

    shown = url.render_as_string(hide_password=True)
    if isinstance(error, NoSuchModuleError):
        return f"SQLAlchemy knows no database {url.drivername!r}; install its dialect, or correct the URL {shown}"
    if isinstance(error, ImportError):
        name = (error.name or "").split(".")[0]
        return f"the driver {name!r} of {shown} is not installed; install {DRIVERS.get(name, name)}"
    said = " ".join(str(getattr(error, "orig", None) or error).split())
    if url.password:
        said = said.replace(str(url.password), "***")
    return f"the database {shown} says: {said[:500]}"


def relation(source: SqlSource, connection: Connection) -> tuple[FromClause, Columns]:
    """What is read, and its columns with their types (None: not known before values are seen).

    Raises:
        SourceError: there is no such table, or a column that the settings name is missing.
    """
    import sqlalchemy as sa

    query = checked_query(source)
    columns: Columns
    if query:
        select = sa.text(_literal(query) + "\n")  # a comment at its end does not swallow what follows
        probe = sa.text(f"SELECT * FROM ({select.text}) AS portavoz_source WHERE 1 = 0")
        columns = dict.fromkeys(connection.execute(probe).keys())
        shape: FromClause = select.columns(*(sa.column(name) for name in columns)).subquery("portavoz_source")
    else:
        schema, _, table = source.table.rpartition(".")
        columns = _reflected(source, connection, table, schema or None)
        # the columns are untyped: the values come as the driver gives them, one bad date does not end the run
        shape = sa.table(table, *(sa.column(name) for name in columns), schema=schema or None)
    missing = [name for name in named_columns(source) if name not in columns]
    if missing:
        raise SourceError(
            f"source {source.name!r}: there is no column {', '.join(map(repr, missing))} in "
            f"{source.table or 'the query'}; there are: {', '.join(columns)}"
        )
    return shape, columns


def _literal(query: str) -> str:
    """The query such that SQLAlchemy's `text` takes no colon as a parameter."""
    query = re.sub(r"\\(?=:[\w$]*(?![:\w$]))", r"\\\\", query)
    return re.sub(r"(?<![:\w\\]):(?=[\w$]+(?![:\w$]))", r"\\:", query)


def named_columns(source: SqlSource) -> list[str]:
    """The columns that the settings name, each once; nothing else is read."""
    single = (
        source.title,
        source.published_at,
        source.updated_at,
        source.category_column,
        source.language_column,
    )
    names = (source.key, *source.text, *single, *source.template_columns, *source.metadata)
    return list(dict.fromkeys(filter(None, names)))


def _reflected(source: SqlSource, connection: Connection, table: str, schema: str | None) -> Columns:
    import sqlalchemy as sa
    from sqlalchemy.exc import NoSuchTableError, SAWarning

    inspector = sa.inspect(connection)
    try:
        with warnings.catch_warnings():  # of types that SQLAlchemy does not know, such as tsvector
            warnings.simplefilter("ignore", SAWarning)
            found = inspector.get_columns(table, schema)
    except NoSuchTableError:
        found = []
    if not found:
        there = sorted([*inspector.get_table_names(schema), *inspector.get_view_names(schema)])
        listed = ", ".join(there[:LISTED]) + (" …" if len(there) > LISTED else "")
        raise SourceError(
            f"source {source.name!r}: there is no table {source.table!r} that may be read; there are: {listed or 'none'}"
        )
    return {column["name"]: column["type"] for column in found}


def rows(
    connection: Connection,
    shape: FromClause,
    names: Sequence[str],
    key: str = "",
    keys: Sequence[Any] | None = None,
) -> Iterator[list[dict[str, Any]]]:
    """The named columns in batches, of all rows or of those with these keys; no more than one batch is in memory."""
    import sqlalchemy as sa

    select = sa.select(*(shape.c[name] for name in names))
    options = {"stream_results": True, "yield_per": BATCH}
    if keys is None:
        for part in connection.execute(select, execution_options=options).mappings().partitions():
            yield [dict(row) for row in part]
        return
    for start in range(0, len(keys), KEYS):
        some = select.where(shape.c[key].in_(keys[start : start + KEYS]))
        for part in connection.execute(some, execution_options=options).mappings().partitions():
            yield [dict(row) for row in part]
