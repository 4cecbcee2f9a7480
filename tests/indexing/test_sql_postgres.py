"""A real PostgreSQL: its types, its read-only transactions, server-side cursors, and what it says of mistakes."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from functions.indexing.pages import Skipped, Unchanged, Visits
from functions.indexing.sources.sql_database import reading, relation, rows
from shared.errors import SourceError
from shared.records import Page
from tests.fakes.database import read, sql_source, traced

ID = uuid.UUID("0b8f4c1e-6a3e-4a57-9d53-1f2f0f0b7a11")
TABLE = """create table cms.articles (
    id uuid primary key, body text, tags text[], topics jsonb, views bigint, price numeric(8, 2), free boolean,
    published timestamptz, day date, took interval, kind cms.kind, searched tsvector, raw bytea, ratio float8,
    at time, changed timestamp default '2024-01-01 10:00:00')"""


@pytest.fixture
def url(postgres: str) -> str:
    """The database with one article in a schema of its own."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("drop schema if exists cms cascade")
        connection.execute("create schema cms")
        connection.execute("create type cms.kind as enum ('news', 'blog')")
        connection.execute(TABLE)
        connection.execute(
            "insert into cms.articles values (%s, 'The text: 10%% of it.', %s, %s, 9007199254740993, 2.50, true, "
            "'2024-02-03 01:00+02', '2024-02-03', '1 day', 'news', to_tsvector('word'), 'x', 'NaN', '10:00')",
            (ID, ["a", "O'Neil"], '["x", 1]'),
        )
    return postgres


def article(url: str, **keys: Any) -> Any:
    return sql_source(url, **({"table": "cms.articles"} if "query" not in keys else {}) | keys)


METADATA = (
    "id", "tags", "topics", "views", "price", "free", "published", "day", "took", "kind", "searched", "ratio", "at",
)  # fmt: skip
KEPT = {
    "id": str(ID), "tags": ("a", "O'Neil"), "topics": ("x", "1"), "views": 9007199254740993, "price": 2.5,
    "free": True, "published": datetime(2024, 2, 2, 23, tzinfo=UTC), "day": datetime(2024, 2, 3, tzinfo=UTC),
    "took": "1 day, 0:00:00", "kind": "news", "searched": "'word':1", "at": "10:00:00",
}  # fmt: skip


@pytest.mark.parametrize("keys", [{}, {"query": "select * from cms.articles where body like '%10%%'"}])
def test_the_types_of_postgres(url: str, keys: dict[str, Any]) -> None:
    (found,) = read(article(url, metadata=METADATA, published_at="published", **keys))
    assert isinstance(found, Page)
    assert found.id == f"db/{ID}"
    assert found.text == "The text: 10% of it."
    assert found.published_at == datetime(2024, 2, 2, 23, tzinfo=UTC)
    assert found.metadata == KEPT


def test_bytes_cannot_be_metadata(url: str) -> None:
    with pytest.raises(SourceError, match="'raw' holds bytes"):
        read(article(url, metadata=("raw",)))


def test_the_transaction_cannot_write(url: str) -> None:
    from sqlalchemy import text

    with pytest.raises(SourceError, match="read-only transaction"), reading(article(url)) as connection:
        connection.execute(text("delete from cms.articles"))
    query = "select set_config('transaction_read_only', 'off', true) from cms.articles"
    with pytest.raises(SourceError, match="read-write mode"), reading(article(url)) as connection:
        connection.execute(text(query))


def test_a_function_that_writes_is_stopped_by_the_transaction(url: str) -> None:
    """The check of the query cannot know what a function of the site's own does."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "create function cms.clear() returns int language sql as $$ delete from cms.articles returning 1 $$"
        )
    with pytest.raises(SourceError, match="read-only transaction"):
        read(article(url, query="select id, body, cms.clear() from cms.articles"))
    assert len(read(article(url))) == 1


def test_rows_come_from_a_server_side_cursor_in_one_snapshot(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as writer:
        writer.execute(
            "insert into cms.articles (id, body) select gen_random_uuid(), 'x' from generate_series(1, 2999)"
        )
        with reading(article(url)) as connection:
            shape, _ = relation(article(url), connection)
            batches = rows(connection, shape, ["id", "body"])
            first = next(batches)
            cursors = writer.execute(
                "select count(*) from pg_stat_activity where query ~* 'fetch forward' and pid <> pg_backend_pid()"
            ).fetchone()
            writer.execute("delete from cms.articles")
            rest = sum(len(batch) for batch in batches)
    assert cursors == (1,)
    assert len(first) == 500
    assert len(first) + rest == 3000


@pytest.mark.parametrize("keys", [{}, {"query": "select * from cms.articles"}])
def test_rows_as_they_were_are_not_read_again(url: str, keys: dict[str, Any]) -> None:
    source = article(url, updated_at="changed", **keys)
    first = Visits()
    read(source, first)
    found: list[Any] = []
    statements = traced(lambda: found.extend(read(source, Visits(before=first.now))))
    assert found == [Unchanged(id=f"db/{ID}")]
    assert not any(s.startswith("SELECT") and ".body" in s for s in statements)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("update cms.articles set body = 'New: %', changed = '2024-02-01 10:00:00.000001'")
    (changed,) = read(source, Visits(before=first.now))
    assert isinstance(changed, Page)
    assert changed.text == "New: %"


def test_what_is_missing_is_answered_with_what_there_is(url: str) -> None:
    with pytest.raises(SourceError, match=r"no table 'cms.posts' .* there are: articles"):
        read(article(url, table="cms.posts"))
    with pytest.raises(SourceError, match=r"no column 'nope' in cms.articles; there are: id, body, tags"):
        read(article(url, key="nope"))
    with pytest.raises(SourceError, match='relation "nope" does not exist'):
        read(article(url, query="select id, body from nope"))


def test_a_wrong_password_is_never_shown(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("drop role if exists reader")
        connection.execute("create role reader login password 'right'")
        (hba,) = connection.execute("show hba_file").fetchone() or ("",)
        rules = Path(hba)
        kept = rules.read_text()
        rules.write_text(f"local all reader scram-sha-256\n{kept}")
        connection.execute("select pg_reload_conf()")
        try:
            wrong = url.replace("postgres:@", "reader:wr0ng@")
            with pytest.raises(
                SourceError, match=r"reader:\*\*\*@.*password authentication failed"
            ) as raised:
                read(article(wrong))
            assert "wr0ng" not in str(raised.value)
            with pytest.raises(SourceError, match=r"permission denied|no table 'cms.articles'"):
                read(article(url.replace("postgres:@", "reader:right@")))
        finally:
            rules.write_text(kept)
            connection.execute("select pg_reload_conf()")


def test_a_row_that_cannot_be_read_is_told(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("update cms.articles set topics = '{\"a\": 1}'")
    (found,) = read(article(url, metadata=("topics",)))
    assert isinstance(found, Skipped)
    assert "JSON objects" in found.reason
