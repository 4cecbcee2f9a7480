"""The table on a disk and on object storage: commits, concurrency, filters, searches."""

from __future__ import annotations

import asyncio
import inspect
from datetime import UTC, datetime

import numpy as np
import pytest
from lancedb.expr import col, lit
from lancedb.query import AsyncQueryBase

from shared.analysis import analyse
from shared.errors import EmbeddingMismatch, TableUnavailable
from shared.schema import EmbeddingIdentity
from shared.settings import StoreSettings
from shared.store import FILTERED, KEYED, storage_options
from shared.table import KnowledgeTable
from tests.fakes.embedder import bag_of_words
from tests.fakes.rows import row

FAKE = EmbeddingIdentity(model="fake/bag-of-words", dim=64)


def vectors(*texts: str) -> np.ndarray:
    return np.asarray([bag_of_words(text, 64) for text in texts], dtype=np.float32)


def terms(text: str) -> str:
    return " ".join(analyse(text, "en"))


@pytest.fixture(params=["disk", "s3"])
def store(request: pytest.FixtureRequest) -> StoreSettings:
    return request.getfixturevalue(f"{request.param}_store")


@pytest.fixture
async def table(disk_store: StoreSettings) -> KnowledgeTable:
    return await KnowledgeTable.open(disk_store, FAKE, create=True)


# --- opening -------------------------------------------------------------------------------------


async def test_a_table_is_created_empty_and_opened_again(store: StoreSettings) -> None:
    created = await KnowledgeTable.open(store, FAKE, create=True)
    assert await created.rows() == 0
    await created.replace_pages(["pages/a.md"], [row()])
    for create in (False, True):
        opened = await KnowledgeTable.open(store, FAKE, create=create)
        assert opened.identity == FAKE
        assert await opened.rows() == 1


async def test_the_primary_key_and_all_indices_are_there_from_the_start(table: KnowledgeTable) -> None:
    schema = await table._table.schema()
    assert not schema.field("id").nullable
    assert b"lance-schema:unenforced-primary-key:position" in schema.field("id").metadata
    indexed = {index.columns[0]: index.index_type for index in await table._table.list_indices()}
    assert {name for name, kind in indexed.items() if kind == "Bitmap"} == set(FILTERED)
    assert {name for name, kind in indexed.items() if kind == "BTree"} == set(KEYED)
    assert indexed["terms"] == "FTS"


async def test_a_missing_table_says_how_to_make_one(store: StoreSettings) -> None:
    with pytest.raises(TableUnavailable, match="portavoz index"):
        await KnowledgeTable.open(store, FAKE)


async def test_a_store_that_cannot_be_reached_is_unavailable(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(TableUnavailable, match="cannot open"):
        await KnowledgeTable.open(StoreSettings(uri=str(tmp_path / "file")), FAKE, create=True)


async def test_a_table_of_another_embedding_model_is_refused_with_the_way_out(
    disk_store: StoreSettings,
) -> None:
    await KnowledgeTable.open(disk_store, FAKE, create=True)
    other = EmbeddingIdentity(model="other/model", dim=64)
    for create in (False, True):
        with pytest.raises(EmbeddingMismatch, match=r"fake/bag-of-words.*other/model.*index --full"):
            await KnowledgeTable.open(disk_store, other, create=create)


async def test_a_table_built_beside_takes_the_place_of_the_live_one_in_one_commit(
    store: StoreSettings,
) -> None:
    live = await KnowledgeTable.open(store, FAKE, create=True)
    await live.replace_pages(["pages/a.md"], [row()])
    first = await live.tag("first")
    reader = await KnowledgeTable.open(store)
    other = EmbeddingIdentity(model="other/model", dim=FAKE.dim)
    green = await live.beside(other)
    await green.replace_pages(["pages/b.md"], [row("pages/b.md")])
    assert [r["page_id"] for r in await live.columns(["page_id"])] == ["pages/a.md"]
    await live.switch()
    assert live.identity == other
    assert [r["page_id"] for r in await live.columns(["page_id"])] == ["pages/b.md"]
    assert {i.columns[0] for i in await live._table.list_indices()} == {*FILTERED, *KEYED, "terms"}
    if "://" not in store.uri:  # on object storage a reader looks every 5 s
        with pytest.raises(EmbeddingMismatch):
            await reader.check()
    with pytest.raises(EmbeddingMismatch, match=r"version .* was built with"):
        await live.restore(first)


async def test_an_earlier_version_can_be_returned_to(store: StoreSettings) -> None:
    table = await KnowledgeTable.open(store, FAKE, create=True)
    await table.replace_pages(["pages/a.md"], [row()])
    await table.tag("good")
    await table.replace_pages(["pages/a.md"], [])
    (version,) = await table.versions()
    assert version.name == "good"
    assert await table.restore(version.number) > version.number
    assert await table.rows() == 1


async def test_two_creators_at_once_share_one_table(store: StoreSettings) -> None:
    tables = await asyncio.gather(*(KnowledgeTable.open(store, FAKE, create=True) for _ in range(2)))
    await asyncio.gather(*(t.replace_pages([f"p{n}"], [row(f"p{n}")]) for n, t in enumerate(tables)))
    assert [await t.rows() for t in tables] == [2, 2]
    assert sorted(i.columns[0] for i in await tables[0]._table.list_indices()) == sorted(
        [*FILTERED, *KEYED, "terms"]
    )


def test_only_object_storage_has_storage_options() -> None:
    assert storage_options(StoreSettings(uri="/some/folder", endpoint="http://x")) is None
    assert storage_options(StoreSettings(uri="s3://b/p", endpoint="http://x", region="eu")) == {
        "aws_endpoint": "http://x", "aws_region": "eu", "allow_http": "true",
    }  # fmt: skip
    assert storage_options(StoreSettings(uri="s3://b/p", endpoint="https://x")) == {
        "aws_endpoint": "https://x"
    }


# --- writing -------------------------------------------------------------------------------------


async def test_rows_come_back_as_they_went_in(store: StoreSettings) -> None:
    table = await KnowledgeTable.open(store, FAKE, create=True)
    wrote = row(
        "pages/ñ 'quoted' \"twice\" 🙂.md", 3, "Texto con acentos: á é í, 日本語, 🙂 and 'quotes'.",
        keywords=("a", "ü"), questions=("¿Qué?",), published_at=datetime(2024, 5, 1, 12, tzinfo=UTC), section="A › B",
    )  # fmt: skip
    await table.replace_pages([wrote.page_id], [wrote])
    (read,) = await table.columns([n for n in type(wrote).model_fields if n != "metadata"])
    assert read.pop("vector") == pytest.approx(wrote.vector)
    assert read == wrote.model_dump(mode="python", exclude={"vector", "metadata"}) | {
        "keywords": list(wrote.keywords), "questions": list(wrote.questions),
    }  # fmt: skip


async def test_a_page_is_replaced_whole_and_others_stay(table: KnowledgeTable) -> None:
    await table.replace_pages(["a", "b"], [row("a", 0), row("a", 1), row("a", 2), row("b", 0)])
    await table.replace_pages(["a"], [row("a", 0, "New text."), row("a", 1)])
    found = {
        (r["page_id"], r["ordinal"], r["text"]) for r in await table.columns(["page_id", "ordinal", "text"])
    }
    assert found == {("a", 0, "New text."), ("a", 1, "Some text."), ("b", 0, "Some text.")}


async def test_a_page_without_rows_is_removed(table: KnowledgeTable) -> None:
    await table.replace_pages(["a", "b", "c"], [row("a"), row("b"), row("c")])
    await table.replace_pages(["a", "b"], [])
    assert {r["page_id"] for r in await table.columns(["page_id"])} == {"c"}


async def test_no_pages_make_no_commit(table: KnowledgeTable) -> None:
    before = await table.version()
    await table.replace_pages([], [])
    assert await table.version() == before


async def test_page_ids_with_quotes_touch_no_other_page(table: KnowledgeTable) -> None:
    hostile = ["a' OR '1'='1", 'b" OR ""="', "c\\'; --", "d 🙂 '' ñ", "e%", "f_"]
    await table.replace_pages([*hostile, "innocent"], [row(name) for name in [*hostile, "innocent"]])
    for name in hostile:
        assert await table.rows(col("page_id") == lit(name)) == 1
        await table.replace_pages([name], [])
        assert await table.rows(col("page_id") == lit(name)) == 0
    assert {r["page_id"] for r in await table.columns(["page_id"])} == {"innocent"}


async def test_a_reader_sees_the_old_or_the_new_page_never_a_mix(store: StoreSettings) -> None:
    writer = await KnowledgeTable.open(store, FAKE, create=True)
    reader = await KnowledgeTable.open(store, FAKE, create=True)  # fresh at each read

    def generation(number: int) -> list:
        return [
            row("a", n, f"generation {number} part {n}", summary=str(number)) for n in range(3 + number % 3)
        ]

    await writer.replace_pages(["a"], generation(0))
    writing = True

    async def write() -> None:
        nonlocal writing
        for number in range(1, 9):
            await writer.replace_pages(["a"], generation(number))
        writing = False

    async def read() -> int:
        reads = 0
        while writing or not reads:
            found = await reader.columns(["summary", "ordinal"], col("page_id") == lit("a"))
            (number,) = {int(r["summary"]) for r in found}
            assert sorted(r["ordinal"] for r in found) == list(range(3 + number % 3))
            reads += 1
        return reads

    _, reads = await asyncio.gather(write(), read())
    assert reads > 2


async def test_concurrent_writers_of_the_same_pages_duplicate_nothing(store: StoreSettings) -> None:
    await KnowledgeTable.open(store, FAKE, create=True)
    writers = [await KnowledgeTable.open(store, FAKE, create=True) for _ in range(4)]
    pages = [f"page {n}" for n in range(5)]
    rows = [row(page, n, f"{page} part {n}") for page in pages for n in range(4)]
    await asyncio.gather(*(w.replace_pages(pages, rows) for w in writers))
    ids = [r["id"] for r in await writers[0].columns(["id"])]
    assert sorted(ids) == sorted(r.id for r in rows)


async def test_concurrent_writers_of_other_pages_lose_nothing(table: KnowledgeTable, disk_store) -> None:
    writers = [await KnowledgeTable.open(disk_store, FAKE, create=True) for _ in range(4)]
    await asyncio.gather(
        *(w.replace_pages([f"{n}/{k}"], [row(f"{n}/{k}")]) for k in range(3) for n, w in enumerate(writers))
    )
    assert await table.rows() == 12


async def test_a_tag_names_the_version_of_now(table: KnowledgeTable) -> None:
    await table.replace_pages(["a"], [row("a")])
    version = await table.tag("run-1")
    assert version == await table.version()
    assert (await table._table.tags.list())["run-1"]["version"] == version
    with pytest.raises(TableUnavailable):
        await table.tag("run-1")


async def test_maintenance_keeps_the_rows_and_tidies_the_fragments(table: KnowledgeTable) -> None:
    for n in range(6):
        await table.replace_pages([f"p{n}"], [row(f"p{n}", text=f"words of page {n}")])
    await table.maintain()
    assert await table.rows() == 6
    assert len(await table.full_text(terms("words"), vectors("words")[0], None, 10)) == 6


# --- searching -----------------------------------------------------------------------------------


@pytest.fixture
async def filled(table: KnowledgeTable) -> KnowledgeTable:
    await table.replace_pages(
        ["shop", "crm", "faq"],
        [
            row("shop", 0, "The shop sells red apples and green pears", product="shop"),
            row("shop", 1, "Refunds are paid within thirty days", product="shop", content_type="pricing"),
            row("crm", 0, "The CRM stores contacts, apples do not matter", product="crm"),
            row("faq", 0, "Opening hours of the office", language="en"),
        ],
    )
    return table


async def test_several_queries_are_searched_in_one_call_in_their_order(filled: KnowledgeTable) -> None:
    found = await filled.nearest(vectors("opening hours", "refunds paid days", "red apples"), None, 2)
    assert [hits[0].passage.page_id for hits in found] == ["faq", "shop", "shop"]
    assert [len(hits) for hits in found] == [2, 2, 2]
    for hits in found:
        assert [h.similarity for h in hits] == sorted((h.similarity for h in hits), reverse=True)


async def test_a_single_query_gives_one_list(filled: KnowledgeTable) -> None:
    (hits,) = await filled.nearest(vectors("opening hours"), None, 10)
    assert len(hits) == 4
    assert hits[0].similarity == pytest.approx(
        float(vectors("opening hours")[0] @ vectors(hits[0].passage.text)[0]), abs=1e-4
    )
    assert hits[0].passage.score == round(hits[0].similarity, 2)


async def test_full_text_finds_by_words_with_the_similarity(filled: KnowledgeTable) -> None:
    vector = vectors("apple")[0]
    hits = await filled.full_text(terms("apple"), vector, None, 10)
    assert {h.passage.page_id for h in hits} == {"shop", "crm"}
    for hit in hits:
        assert hit.text_score > 0
        assert hit.similarity == pytest.approx(float(vector @ vectors(hit.passage.text)[0]), abs=1e-4)


@pytest.mark.parametrize("words", ["", "nowhere", "'; DROP", '"unbalanced', "zeta((~2 ^OR", "🙂"])
async def test_full_text_of_odd_terms_is_a_search_not_an_error(filled: KnowledgeTable, words: str) -> None:
    assert await filled.full_text(words, vectors("x")[0], None, 5) == []


async def test_filters_come_before_the_search_as_the_plans_say(filled: KnowledgeTable, monkeypatch) -> None:
    plans: list[str] = []
    execute = AsyncQueryBase.to_arrow

    async def planned(self, *args, **kwargs):
        plan = self.explain_plan(True)
        plans.append(await plan if inspect.isawaitable(plan) else plan)
        return await execute(self, *args, **kwargs)

    monkeypatch.setattr(AsyncQueryBase, "to_arrow", planned)
    only_crm = col("product") == lit("crm")
    dense = await filled.nearest(vectors("red apples", "refunds"), only_crm, 1)
    text = await filled.full_text(terms("apples"), vectors("apples")[0], only_crm, 1)
    # a post-filter would find the shop's page first and then have nothing left
    assert [[h.passage.product for h in hits] for hits in (*dense, text)] == [["crm"], ["crm"], ["crm"]]
    assert len(plans) == 2
    for plan in plans:
        assert "FilterExec" not in plan.split("KNN" if "KNN" in plan else "MatchQuery")[0]
        assert "product" in plan


@pytest.mark.parametrize("value", ["it's", 'say "hi"', "a' OR 'a'='a", "🙂", "\\", "\\' OR TRUE --", "ñandú"])
async def test_filter_values_are_values_whatever_they_hold(table: KnowledgeTable, value: str) -> None:
    await table.replace_pages(["x", "y"], [row("x", category=value, text="apples"), row("y", text="apples")])
    where = col("category") == lit(value)
    assert await table.rows(where) == 1
    ((hit,),) = await table.nearest(vectors("apples"), where, 5)
    (found,) = await table.full_text("appl", vectors("apples")[0], where, 5)
    (columns,) = await table.columns(["page_id"], where)
    assert hit.passage.page_id == found.passage.page_id == columns["page_id"] == "x"


async def test_rows_newer_than_the_indices_are_found(filled: KnowledgeTable) -> None:
    await filled.maintain()
    await filled.replace_pages(["new"], [row("new", text="Zeppelins fly", product="airship")])
    (hits,) = await filled.nearest(vectors("zeppelins"), col("product") == lit("airship"), 5)
    assert [h.passage.page_id for h in hits] == ["new"]
    assert [
        h.passage.page_id for h in await filled.full_text(terms("zeppelins"), vectors("z")[0], None, 5)
    ] == ["new"]
    filtered = await filled.full_text(
        terms("zeppelins"), vectors("z")[0], col("product") == lit("airship"), 5
    )
    assert [h.passage.page_id for h in filtered] == ["new"]


async def test_another_process_sees_a_commit_at_once_on_a_disk(disk_store: StoreSettings) -> None:
    writer = await KnowledgeTable.open(disk_store, FAKE, create=True)
    reader = await KnowledgeTable.open(disk_store, FAKE)
    await writer.replace_pages(["a"], [row("a")])
    assert await reader.rows() == 1


async def test_reading_a_table_that_was_deleted_is_unavailable(table: KnowledgeTable, disk_store) -> None:
    import shutil

    await table.replace_pages(["a"], [row("a")])
    shutil.rmtree(disk_store.uri)
    with pytest.raises(TableUnavailable):
        await table.columns(["text"])
