"""Rows of a database as pages: what becomes of each value, what is not read again, and what is said of mistakes."""

from __future__ import annotations

import hashlib
import sqlite3
import tracemalloc
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.indexing.pages import Skipped, Unchanged, Visits
from functions.indexing.sources import check
from functions.indexing.sources.sql_database import BATCH, _literal, reading
from functions.indexing.sources.sql_values import settled
from shared.errors import SettingsError, SourceError
from shared.records import Page
from shared.settings import load_settings
from tests.fakes.database import read, sql_source, traced, write

TABLE = """create table articles (
    id integer primary key, slug text, title text, body text, extra text, section text, lang text,
    day date, changed timestamp, tags json, words int, free boolean, price decimal(8, 2), loose)"""
INSERT = f"insert into articles values ({', '.join('?' * 14)})"
FULL = (
    1, "a/é ?", " A\n title ", "# Heading\n\nThe first text.", "The second text.", "News", "fr-CA",
    "2024-02-03", "2024-02-03 10:00:00", '["x", "O\'Neil", 3]', 250, 1, "2.50", 7,
)  # fmt: skip


def row(key: Any, body: str | bytes | None = "Some text.", **values: Any) -> tuple[Any, ...]:
    names = [
        "id",
        "slug",
        "title",
        "body",
        "extra",
        "section",
        "lang",
        "day",
        "changed",
        "tags",
        "words",
        "free",
        "price",
        "loose",
    ]
    return tuple(({"id": key, "body": body} | values).get(name) for name in names)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a site.db"
    write(path, TABLE, (INSERT, [FULL]))
    return path


def page(found: Any) -> Page:
    assert isinstance(found, Page), found
    return found


# --- pages ---------------------------------------------------------------------------------------


def test_each_column_comes_to_its_place(file: Path) -> None:
    source = sql_source(
        file, text=("body", "extra"), title="title", page_url="https://example.com/{slug}?n={id}", published_at="day",
        category_column="section", language_column="lang", metadata=("tags", "words", "free", "price", "loose", "day"),
    )  # fmt: skip
    (found,) = read(source)
    assert page(found) == Page(
        id="db/1", source="db", url="https://example.com/a/%C3%A9%20%3F?n=1", title="A title",
        text="# Heading\n\nThe first text.\n\nThe second text.", language="fr", language_declared=True, category="News",
        published_at=datetime(2024, 2, 3, tzinfo=UTC),
        metadata={
            "tags": ("x", "O'Neil", "3"), "words": 250, "free": True, "price": 2.5, "loose": 7,
            "day": datetime(2024, 2, 3, tzinfo=UTC),
        },
    )  # fmt: skip


def test_a_query_is_read_as_a_table_is(file: Path) -> None:
    query = """select id, body || ' ' || extra as body, ':word' as "a:b", '10%' as share, tags from articles
               where body like '%text%'; -- done"""
    (found,) = read(
        sql_source(file, query=query, page_url="https://example.com/{a:b}", metadata=("share", "tags"))
    )
    assert page(found).text == "# Heading\n\nThe first text. The second text."
    assert page(found).url == "https://example.com/%3Aword"
    assert page(found).metadata == {"share": "10%", "tags": ("x", "O'Neil", "3")}


@given(st.text(alphabet=":\\ax_$ 1'%", max_size=12))
def test_no_colon_of_a_query_is_a_parameter(query: str) -> None:
    from sqlalchemy import text

    compiled = text(_literal(query)).compile()
    assert str(compiled) == query
    assert not compiled.params


@pytest.mark.parametrize(
    ("stored", "url"),
    [
        ("https://other.example/x", "https://other.example/x"),
        ("/docs/x", "https://example.com/docs/x"),
        (None, ""),
    ],
)
def test_an_address_may_stand_in_a_column(tmp_path: Path, stored: str | None, url: str) -> None:
    write(tmp_path / "a.db", TABLE, (INSERT, [row(1, slug=stored)]))
    source = sql_source(tmp_path / "a.db", page_url="slug")
    (found,) = read(source, site={"url": "https://example.com"})
    assert page(found).url == url


def test_an_address_that_no_browser_should_follow_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.db", TABLE, (INSERT, [row(1, slug="javascript:alert(1)")]))
    (found,) = read(sql_source(tmp_path / "a.db", page_url="slug"), site={"url": "https://example.com"})
    assert isinstance(found, Skipped)
    assert "no http(s) address" in found.reason


@pytest.mark.parametrize(
    ("format", "text", "markdown"),
    [
        ("html", "<h2>Price</h2><p>Nine &amp; <b>more</b> euros.</p>", "## Price\n\nNine & **more** euros."),
        ("html", "no tags at all", "no tags at all"),
        ("text", "# no heading <b>", "# no heading <b>"),
        ("markdown", "---\ntitle: Own\n---\n# A\n\n<Tip>b</Tip>", "# A\n\nb"),
    ],
)
def test_texts_of_three_formats(tmp_path: Path, format: str, text: str, markdown: str) -> None:
    write(tmp_path / "a.db", TABLE, (INSERT, [row(1, text)]))
    (found,) = read(sql_source(tmp_path / "a.db", format=format))
    assert page(found).text == markdown


def test_bytes_are_text_where_they_are_utf8(tmp_path: Path) -> None:
    write(tmp_path / "a.db", TABLE, (INSERT, [row(1, "Größe".encode()), row(2, b"\xff\xfe\x00")]))
    good, bad = read(sql_source(tmp_path / "a.db"))
    assert page(good).text == "Größe"
    assert isinstance(bad, Skipped)
    assert bad.failed
    assert "'body' holds bytes" in bad.reason


@pytest.mark.parametrize("text", [None, "", " \n ", "---"])
def test_a_row_without_text_is_no_page(tmp_path: Path, text: str | None) -> None:
    write(tmp_path / "a.db", TABLE, (INSERT, [row(1, text)]))
    assert read(sql_source(tmp_path / "a.db")) == [Skipped(id="db/1", reason="the page has no text")]


def test_null_and_double_keys_are_told_and_the_first_row_counts(tmp_path: Path) -> None:
    keys = [None, "a", "a", " ", "b", *["a"] * 30]
    write(
        tmp_path / "a.db", "create table articles (id, body)",
        ("insert into articles values (?, ?)", [(key, f"Text {n}.") for n, key in enumerate(keys)]),
    )  # fmt: skip
    found = read(sql_source(tmp_path / "a.db"))
    assert [(p.id, p.text) for p in found if isinstance(p, Page)] == [
        ("db/a", "Text 1."),
        ("db/b", "Text 4."),
    ]
    told = [p for p in found if isinstance(p, Skipped)]
    assert all(skipped.failed for skipped in told)
    assert "null or empty" in next(s.reason for s in told if s.id == "db/(row 1)")
    assert told[-1].reason == "and 13 more rows whose key is null or occurs twice"
    assert len(told) == 21


# --- metadata ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("words", "many"),
        ("words", 2.5),
        ("price", "cheap"),
        ("free", "perhaps"),
        ("day", "someday"),
        ("tags", '[{"a": 1}]'),
        ("tags", '{"a": 1}'),
    ],
)
def test_a_value_that_is_not_of_its_columns_type_keeps_the_old_page(
    tmp_path: Path, column: str, value: Any
) -> None:
    write(tmp_path / "a.db", TABLE, (INSERT, [row(1, **{column: value}), row(2)]))
    source = sql_source(tmp_path / "a.db", metadata=(column,))
    bad, good = read(source)
    assert isinstance(bad, Skipped)
    assert bad.failed
    assert column in bad.reason
    assert page(good).metadata == {}


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([1, 2.5, None], [1.0, 2.5, None]),
        ([1, "two"], ["1", "two"]),
        (['["a"]', "[]", None], [("a",), None, None]),
        ([float("inf"), 1.5], [None, 1.5]),
        ([2**62], [2**62]),
    ],
)
def test_where_a_column_has_no_type_the_values_tell(
    tmp_path: Path, values: list[Any], kept: list[Any]
) -> None:
    rows = [row(n, loose=value) for n, value in enumerate(values)]
    write(tmp_path / "a.db", TABLE, (INSERT, rows))
    found = read(sql_source(tmp_path / "a.db", metadata=("loose",)))
    assert [page(p).metadata.get("loose") for p in found] == kept


def test_bytes_cannot_be_metadata(tmp_path: Path) -> None:
    write(tmp_path / "a.db", "create table articles (id, body, raw blob, any)", "insert into articles values (1, 'a', x'00', x'00')")  # fmt: skip
    for column in ("raw", "any"):
        with pytest.raises(SourceError, match=f"metadata column '{column}' holds bytes"):
            read(sql_source(tmp_path / "a.db", metadata=(column,)))


# --- what is not read again ----------------------------------------------------------------------


def bodies_read(statements: list[str]) -> list[str]:
    return [s for s in statements if "body" in s and "WHERE 1 = 0" not in s and "SELECT" in s]


@pytest.mark.parametrize("keys", [{}, {"query": "select * from articles"}])
def test_rows_as_they_were_are_not_read_again(tmp_path: Path, keys: dict[str, Any]) -> None:
    file = tmp_path / "a.db"
    rows = [row(n, f"Text {n}.", changed="2024-01-01 10:00:00") for n in range(1, 1201)] + [row(1201)]
    write(file, TABLE, (INSERT, rows))
    source = sql_source(file, updated_at="changed", **keys)
    first = Visits()
    assert len([p for p in read(source, first) if isinstance(p, Page)]) == 1201
    assert len(first.now) == 1200  # a row without updated_at is always read

    write(
        file, "update articles set body = 'New.', changed = '2024-01-02 10:00:00' where id = 7",
        "update articles set body = 'Not told.' where id = 8", "delete from articles where id = 9",
        (INSERT, [row(2000, changed="2024-01-03 10:00:00")]),
    )  # fmt: skip
    second = Visits(before=first.now)
    found: list[Any] = []
    statements = bodies_read(traced(lambda: found.extend(read(source, second))))
    assert {p.id for p in found if isinstance(p, Page)} == {"db/7", "db/1201", "db/2000"}
    assert len([p for p in found if isinstance(p, Unchanged)]) == 1198
    assert len(found) == 1201
    assert all(" IN (" in s for s in statements if not keys)
    assert second.now.keys() == first.now.keys() - {"db/9"} | {"db/2000"}


def test_other_settings_read_everything_again(tmp_path: Path) -> None:
    write(tmp_path / "a.db", TABLE, (INSERT, [row(1, changed="2024-01-01 10:00:00")]))
    first = Visits()
    read(sql_source(tmp_path / "a.db", updated_at="changed"), first)
    found = read(
        sql_source(tmp_path / "a.db", updated_at="changed", metadata=("words",)), Visits(before=first.now)
    )
    assert isinstance(found[0], Page)


def test_a_row_may_change_twice_within_a_second_or_a_day() -> None:
    """Its value may be the same then, so it is taken as unchanged only once that time is over."""
    now = datetime(2024, 5, 2, 12, 0, 0, tzinfo=UTC)
    assert not settled("2024-05-02 11:59:59", now)
    assert settled("2024-05-02 11:59:50", now)
    assert not settled("2024-05-02", now)
    assert settled("2024-04-29", now)
    assert settled(17, now)  # a revision


# --- only reading --------------------------------------------------------------------------------


def test_the_database_is_as_it_was(file: Path) -> None:
    before = hashlib.sha256(file.read_bytes()).digest()
    read(sql_source(file, metadata=("tags",), updated_at="changed"))
    read(sql_source(file, query="select * from articles"))
    assert hashlib.sha256(file.read_bytes()).digest() == before
    assert [p.name for p in file.parent.iterdir()] == [file.name]


def test_the_connection_itself_refuses_to_write(file: Path) -> None:
    from sqlalchemy import text

    for statement in ("delete from articles", "create table x (a)", "pragma user_version = 5"):
        with pytest.raises(SourceError, match="readonly database"), reading(sql_source(file)) as connection:
            connection.execute(text(statement))


@pytest.mark.parametrize(
    "query", ["select 1; drop table articles", "with x as (delete from articles returning *) select * from x",
              "pragma writable_schema = 1", "attach database '/tmp/x.db' as x", "select * into x from articles"],
)  # fmt: skip
def test_hostile_queries_are_settings_errors_that_say_what_is_allowed(file: Path, query: str) -> None:
    source, said = (
        sql_source(file, query=query),
        r"portavoz.toml: sources: db: query: .*allowed is one SELECT",
    )
    with pytest.raises(SettingsError, match=said):
        check(source)
    with pytest.raises(SourceError, match=said):
        read(source)
    assert len(read(sql_source(file))) == 1


def test_memory_is_flat_however_many_rows_there_are(tmp_path: Path) -> None:
    from functions.indexing.sources.sql_database import relation, rows

    file = tmp_path / "big.db"
    write(file, TABLE, (INSERT, (row(n, "x" * 10_000) for n in range(20 * BATCH))))  # 100 MB
    tracemalloc.start()
    try:
        with reading(sql_source(file)) as connection:
            shape, _ = relation(sql_source(file), connection)
            assert sum(len(batch) for batch in rows(connection, shape, ["id", "body"])) == 20 * BATCH
        assert tracemalloc.get_traced_memory()[1] < 25_000_000  # a batch is 5 MB
    finally:
        tracemalloc.stop()


# --- mistakes ------------------------------------------------------------------------------------


def test_missing_tables_and_columns_are_answered_with_those_there_are(file: Path) -> None:
    write(file, "create view recent as select * from articles")
    with pytest.raises(SourceError, match=r"no table 'posts' .* there are: articles, recent"):
        read(sql_source(file, table="posts"))
    with pytest.raises(
        SourceError, match=r"no column 'content', 'n' in articles; there are: id, slug, title"
    ):
        read(sql_source(file, text=("content",), page_url="https://example.com/{n}"))
    with pytest.raises(SourceError, match=r"no column 'words' in the query; there are: id, body"):
        read(sql_source(file, query="select id, body from articles", metadata=("words",)))
    assert len(read(sql_source(file, table="recent"))) == 1


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://me:s3cret@127.0.0.1:1/site", "refused"),
        ("mysql://me:s3cret@127.0.0.1:1/site", "driver 'MySQLdb' .* is not installed"),
        ("nosuch://me:s3cret@host/site", "knows no database 'nosuch'"),
        ("sqlite:////nowhere/s3cre.db", "no database file /nowhere"),
        ("sqlite://", "in memory"),
    ],
)
def test_what_is_wrong_with_a_database_is_said_without_its_password(url: str, said: str) -> None:
    with pytest.raises(SourceError, match=said) as raised:
        read(sql_source(url))
    assert "s3cret" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_url_that_is_none_is_a_settings_error_without_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SITE_DB", "me:s3cret at host")
    source = sql_source("", url_env="SITE_DB")
    with pytest.raises(SettingsError, match="SITE_DB: this is no SQLAlchemy URL") as raised:
        check(source)
    assert "s3cret" not in str(raised.value)
    monkeypatch.delenv("SITE_DB")
    with pytest.raises(SettingsError, match="the environment variable SITE_DB is not set"):
        check(source)
    check(source, elsewhere=True)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('table = "t"', "sources.0: url or url_env: neither is set"),
        ('url = "sqlite:///a.db"', "sources.0: table or query: neither is set"),
        ('url = "sqlite:///a.db"\ntable = "t"\nquery = "select 1"', "table or query: both are set"),
        (
            'url = "sqlite:///a.db"\ntable = "t"\npage_url = "https://example.com/"',
            "page_url: give a column, or a",
        ),
        ('url = "sqlite:///a.db"\ntable = "t"\nmetadata = ["a b"]', "sources.0.metadata.0"),
        ('url = "sqlite:///a.db"\ntable = "t"\ncolumn = "x"', "allowed here: .*updated_at"),
    ],
)
def test_settings_errors_name_the_file_and_the_key(tmp_path: Path, lines: str, said: str) -> None:
    file = tmp_path / "portavoz.toml"
    file.write_text(f'[[sources]]\nname = "db"\nkind = "sql"\nkey = "id"\ntext = "body"\n{lines}\n')
    with pytest.raises(SettingsError, match=f"portavoz.toml: .*{said}"):
        load_settings(file)


def test_a_relative_file_counts_from_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "portavoz.toml"
    file.write_text('[[sources]]\nname="db"\nkind="sql"\nkey="id"\ntext="body"\nurl="sqlite:///data/a.db"\ntable="articles"')  # fmt: skip
    (tmp_path / "data").mkdir()
    write(tmp_path / "data" / "a.db", TABLE, (INSERT, [FULL]))
    (source,) = load_settings(file).sources
    monkeypatch.chdir("/")
    assert len(read(source)) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("driver", ["sqlite", "sqlite+pysqlite", "sqlite+aiosqlite"])
def test_the_url_of_an_asynchronous_site_works_as_it_is(file: Path, driver: str) -> None:
    assert len(read(sql_source(f"{driver}:///{file}"))) == 1


def test_a_database_in_use_can_be_read(file: Path) -> None:
    with closing(sqlite3.connect(file)) as writer:
        writer.execute("pragma journal_mode = wal")
        writer.execute(INSERT, row(2))  # not committed
        assert len(read(sql_source(file))) == 1
        writer.commit()
        assert len(read(sql_source(file))) == 2
