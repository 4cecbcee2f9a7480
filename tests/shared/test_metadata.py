"""Metadata columns of the table: added when first needed, by several processes at once, of one kind each."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from lancedb.expr import col, lit

from shared.errors import SourceError
from shared.metadata import SEPARATOR, kinds_in, kinds_needed
from shared.schema import EmbeddingIdentity, schema_for
from shared.settings import StoreSettings
from shared.table import KnowledgeTable
from tests.fakes.rows import row

FAKE = EmbeddingIdentity(model="fake/bag-of-words", dim=64)
EACH = {
    "author": "Ann", "views": 5, "price": 2.5, "free": True, "day": datetime(2024, 1, 1, tzinfo=UTC), "tags": ("a", "b"),
}  # fmt: skip


@pytest.fixture(params=["disk", "s3"])
def store(request: pytest.FixtureRequest) -> StoreSettings:
    return request.getfixturevalue(f"{request.param}_store")


@pytest.fixture
async def table(disk_store: StoreSettings) -> KnowledgeTable:
    return await KnowledgeTable.open(disk_store, FAKE, create=True)


async def test_columns_come_with_the_first_page_that_needs_them(store: StoreSettings) -> None:
    table = await KnowledgeTable.open(store, FAKE, create=True)
    await table.replace_pages(["pages/a.md"], [row()])
    assert await table.metadata() == {}
    await table.replace_pages(["db/1"], [row("db/1", metadata=EACH)])
    assert await table.metadata() == {
        "author": "text", "views": "whole number", "price": "number", "free": "yes/no", "day": "date",
        "tags": "list of texts",
    }  # fmt: skip
    names = [f"meta_{name}" for name in EACH]
    kept = {r["page_id"]: [r[n] for n in names] for r in await table.columns(["page_id", *names])}
    assert kept["pages/a.md"] == [None] * len(EACH)
    assert kept["db/1"] == [*list(EACH.values())[:-1], f"{SEPARATOR}a{SEPARATOR}b{SEPARATOR}"]


async def test_each_kind_that_an_index_serves_has_one(table: KnowledgeTable) -> None:
    await table.replace_pages(["db/1"], [row("db/1", metadata=EACH)])
    indexed = {i.columns[0]: i.index_type for i in await table._table.list_indices()}
    assert {n: indexed.get(f"meta_{n}") for n in EACH} == {
        "author": "BTree", "views": "BTree", "price": "BTree", "free": "Bitmap", "day": "BTree", "tags": None,
    }  # fmt: skip
    await table.maintain()  # as at the end of a run: rows are newer than the index before
    where = (col("meta_author") == lit("Ann")) & (col("meta_views") >= lit(5))
    plan = await table._table.query().where(where).explain_plan(True)
    assert "meta_author" in plan
    assert "ScalarIndexQuery" in plan


async def test_processes_that_add_columns_at_once_all_succeed(store: StoreSettings) -> None:
    """Six writers, each with a column of its own and with one that all need; the pages of none are lost."""
    first = await KnowledgeTable.open(store, FAKE, create=True)
    handles = [await KnowledgeTable.open(store, FAKE, create=True) for _ in range(6)]
    await asyncio.gather(
        *(
            handle.replace_pages([f"db/{n}"], [row(f"db/{n}", metadata={f"own_{n}": n, "shared": f"s{n}"})])
            for n, handle in enumerate(handles)
        )
    )
    assert await first.metadata() == {"shared": "text"} | {f"own_{n}": "whole number" for n in range(6)}
    rows = await first.columns(["page_id", "meta_shared", *(f"meta_own_{n}" for n in range(6))])
    assert {r["page_id"]: r["meta_shared"] for r in rows} == {f"db/{n}": f"s{n}" for n in range(6)}
    for r in rows:
        assert [r[f"meta_own_{n}"] for n in range(6)] == [
            n if r["page_id"] == f"db/{n}" else None for n in range(6)
        ]


async def test_a_handle_from_before_a_column_was_added_clears_it_too(disk_store: StoreSettings) -> None:
    old = await KnowledgeTable.open(disk_store, FAKE, create=True)
    new = await KnowledgeTable.open(disk_store, FAKE, create=True)
    await new.replace_pages(["db/1"], [row("db/1", metadata={"author": "Ann"})])
    await old.replace_pages(["db/1"], [row("db/1")])
    assert [r["meta_author"] for r in await new.columns(["meta_author"])] == [None]


async def test_a_column_holds_one_kind_of_values(table: KnowledgeTable) -> None:
    await table.replace_pages(["db/1"], [row("db/1", metadata={"views": 5, "price": 2.5})])
    with pytest.raises(
        SourceError, match=r"metadata 'views' is a text here, but a whole number in the index.*CAST"
    ):
        await table.replace_pages(["other/1"], [row("other/1", metadata={"views": "many"})])
    with pytest.raises(SourceError, match="'views' is a number here"):
        await table.replace_pages(["other/1"], [row("other/1", metadata={"views": 2.5})])
    await table.replace_pages(
        ["other/1"], [row("other/1", metadata={"price": 3})]
    )  # nothing is lost by this one
    assert await table.rows() == 2
    assert await table.rows(col("meta_price") == lit(3.0)) == 1


def test_whole_numbers_beside_others_are_numbers() -> None:
    assert kinds_needed([{"a": 1}, {"a": 2.5}, {}]) == {"a": "number"}
    with pytest.raises(SourceError):
        kinds_needed([{"a": 1}, {"a": "x"}])
    assert kinds_in(schema_for(FAKE)) == {}
