"""Runs over sources: what is done, what is left alone, and what a kill loses."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from functions.indexing import source_run
from functions.indexing.enrichment import Enricher, ModelEnricher, RuleEnricher
from functions.indexing.index import Indexer
from functions.indexing.report import RunReport
from functions.indexing.sources import folder
from shared.errors import ModelUnavailable, TableUnavailable
from shared.language_model import LanguageModel
from shared.records import Row
from shared.settings import FolderSource, Settings, StoreSettings
from shared.table import KnowledgeTable
from tests.fakes import slow_index
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.openai_server import OpenAIServer, Request, fail

ROOT = Path(__file__).parents[2]
COLUMNS = tuple(
    name for name in Row.model_fields if name != "metadata"
)  # each of which has a column of its own


def text(name: str, sentences: int = 12) -> str:
    """A page of some chunks, with words of its own."""
    return f"# {name}\n\n" + "\n\n".join(
        f"{name} paragraph {n} says " + " ".join(f"{name}{n}w{k}" for k in range(25)) + "."
        for n in range(sentences)
    )


def described(request: Request) -> dict[str, Any]:
    """What a model would say of a chunk: the same each time."""
    words = request.last.split()
    return {
        "summary": " ".join(words[-3:]), "keywords": words[-2:], "questions": [f"What is {words[-1]}?"],
        "product": "general", "content_type": "guide",
    }  # fmt: skip


@dataclass
class World:
    """An indexer and what it writes to."""

    settings: Settings
    table: KnowledgeTable
    embedder: FakeEmbedder
    enricher: Enricher

    async def run(self, **options: Any) -> RunReport:
        return await Indexer(self.table, self.embedder, self.enricher, self.settings).run(
            self.settings.sources, **options
        )

    async def rows(self, *names: str) -> list[dict[str, Any]]:
        columns = names or COLUMNS
        return sorted(await self.table.columns(columns), key=lambda row: str(row.get("id", row)))

    async def pages(self) -> set[str]:
        return {row["page_id"] for row in await self.rows("page_id")}


async def world(
    settings: Settings, enricher: Enricher | None = None, embedder: FakeEmbedder | None = None
) -> World:
    embedder = embedder or FakeEmbedder()
    table = await KnowledgeTable.open(settings.store, embedder.identity, create=True)
    return World(settings, table, embedder, enricher or RuleEnricher(settings))


def model(server: OpenAIServer, settings: Settings) -> ModelEnricher:
    server.always(described, schema="Enrichment")
    return ModelEnricher(LanguageModel(server.settings("tiny")), settings)


# --- what a run does -----------------------------------------------------------------------------


async def test_a_run_writes_every_page_with_its_metadata(site) -> None:
    w = await world(
        site(
            {
                "guides/a.md": text("Apple"),
                "b.md": "---\ntitle: Bee\ncategory: Help\ndate: 2024-05-01\n---\nHoney.",
            }
        )
    )
    report = (await w.run()).sources[0]
    rows = await w.rows()
    assert {r["page_id"] for r in rows} == {"pages/guides/a.md", "pages/b.md"}
    assert (report.pages_seen, report.pages_changed, report.chunks_added) == (2, 2, len(rows))
    (bee,) = [r for r in rows if r["page_id"] == "pages/b.md"]
    assert (bee["title"], bee["category"], bee["text"], bee["url"]) == (
        "Bee",
        "Help",
        "Honey.",
        "https://example.com/b/",
    )
    assert bee["published_at"].year == 2024
    assert bee["enriched_by"] == "rules"
    assert {"bee", "honey"} <= set(bee["terms"].split())
    assert [r["ordinal"] for r in rows if r["page_id"] == "pages/guides/a.md"] == list(range(len(rows) - 1))


async def test_a_second_run_changes_nothing_and_calls_no_model(site, openai_server: OpenAIServer) -> None:
    settings = site(
        {
            "a.md": text("Apple"),
            "b.md": text("Bee"),
            "draft.md": "---\ndraft: true\n---\nx",
            "links.md": "[x]: http://y",
        }
    )
    w = await world(settings, model(openai_server, settings))
    await w.run()
    before, version = await w.rows(), await w.table.version()
    calls, embedded = len(openai_server.requests), len(w.embedder.embedded)
    report = await w.run()
    assert (report.sources[0].pages_unchanged, report.sources[0].pages_changed) == (2, 0)
    assert (len(openai_server.requests), len(w.embedder.embedded)) == (calls, embedded)
    assert await w.table.version() == version == report.index_version
    assert await w.rows() == before
    assert report.cost_usd == 0


async def test_a_changed_page_asks_the_model_only_about_its_changed_chunks(
    site, openai_server: OpenAIServer
) -> None:
    settings = site({"a.md": text("Apple", 40), "b.md": text("Bee")})
    w = await world(settings, model(openai_server, settings))
    await w.run()
    chunks, calls, embedded = await w.table.rows(), len(openai_server.requests), len(w.embedder.embedded)
    site({"a.md": text("Apple", 40).replace("Apple20w3", "changed")})
    report = (await w.run()).sources[0]
    assert (report.pages_changed, report.pages_unchanged) == (1, 1)
    assert 1 <= len(openai_server.requests) - calls <= 5 < chunks / 2
    assert 1 <= len(w.embedder.embedded) - embedded <= 5
    assert report.enrichments_reused > 0
    assert any("changed" in r["text"] for r in await w.rows("text", "id"))
    assert not any("Apple20w3" in r["text"] for r in await w.rows("text", "id"))


async def test_a_moved_page_is_neither_enriched_nor_embedded_again(site, openai_server: OpenAIServer) -> None:
    settings = site({"a.md": text("Apple"), "b.md": text("Bee"), "c.md": text("Cat"), "d.md": text("Dog")})
    w = await world(settings, model(openai_server, settings))
    await w.run()
    calls, embedded = len(openai_server.requests), len(w.embedder.embedded)
    site({"a.md": None, "moved/a.md": text("Apple")})
    await w.run()
    assert (len(openai_server.requests), len(w.embedder.embedded)) == (calls, embedded)
    assert await w.pages() == {"pages/moved/a.md", "pages/b.md", "pages/c.md", "pages/d.md"}


async def test_full_makes_every_chunk_anew(site, openai_server: OpenAIServer) -> None:
    settings = site({"a.md": text("Apple")})
    w = await world(settings, model(openai_server, settings))
    await w.run()
    before, calls = await w.rows(), len(openai_server.requests)
    report = (await w.run(full=True)).sources[0]
    assert len(openai_server.requests) == 2 * calls
    assert report.enrichments_reused == report.vectors_reused == 0
    assert await w.rows() == before


async def test_other_chunk_sizes_make_the_pages_anew(site) -> None:
    files = {"a.md": text("Apple")}
    await (await world(site(files))).run()
    w = await world(site(files, indexing={"chunk_words": 60, "overlap_words": 10}))
    assert (await w.run()).sources[0].pages_changed == 1


async def test_a_page_that_is_gone_is_removed(site) -> None:
    w = await world(site({f"{n}.md": text(f"Page{n}") for n in range(5)}))
    await w.run()
    site(
        {"3.md": None, "4.md": f"---\ndraft: true\n---\n{text('Page4')}"},
    )
    assert (await w.run(confirmed=True)).sources[0].pages_removed == 2
    assert await w.pages() == {"pages/0.md", "pages/1.md", "pages/2.md"}


async def test_one_page_of_a_small_site_may_go(site) -> None:
    w = await world(site({"a.md": text("Apple"), "b.md": text("Bee")}))
    await w.run()
    site({"a.md": None})
    assert (await w.run()).sources[0].pages_removed == 1


async def test_more_than_thirty_percent_gone_at_once_is_withheld_until_confirmed(site) -> None:
    w = await world(site({f"{n}.md": text(f"Page{n}", 3) for n in range(10)}))
    await w.run()
    site({f"{n}.md": None for n in range(3)})
    assert (await w.run()).sources[0].pages_removed == 3  # 30 % exactly
    site({f"{n}.md": None for n in range(3, 6)})
    report = (await w.run()).sources[0]
    assert (report.pages_removed, report.removal_withheld) == (0, 3)
    assert len(await w.pages()) == 7
    report = (await w.run(confirmed=True)).sources[0]
    assert (report.pages_removed, report.removal_withheld) == (3, 0)
    assert len(await w.pages()) == 4


async def test_an_empty_source_removes_nothing_unless_confirmed(site) -> None:
    w = await world(site({"a.md": text("Apple")}))
    await w.run()
    site({"a.md": None})
    assert (await w.run()).sources[0].removal_withheld == 1
    assert await w.pages() == {"pages/a.md"}


async def test_a_missing_folder_is_an_error_of_its_source_and_the_others_go_on(site, tmp_path: Path) -> None:
    settings = site({"a.md": text("Apple")})
    gone = settings.sources[0].model_copy(update={"name": "gone", "path": tmp_path / "nowhere"})
    w = await world(settings.model_copy(update={"sources": (gone, *settings.sources)}))
    report = await w.run()
    assert report.failed
    assert "nowhere" in str(report.sources[0].error)
    assert report.sources[1].pages_changed == 1


async def test_only_the_source_that_is_named_is_touched(site, tmp_path: Path) -> None:
    settings = site({"a.md": text("Apple")})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.md").write_text(text("Other"))
    other = settings.sources[0].model_copy(update={"name": "other", "path": tmp_path / "other"})
    w = await world(settings.model_copy(update={"sources": (*settings.sources, other)}))
    await w.run()
    untouched = [r for r in await w.rows() if r["source"] == "other"]
    (tmp_path / "other" / "a.md").unlink()
    site({"a.md": text("Avocado")})
    await Indexer(w.table, w.embedder, w.enricher, w.settings).run(settings.sources, confirmed=True)
    assert [r for r in await w.rows() if r["source"] == "other"] == untouched


async def test_a_page_that_fails_keeps_its_rows_and_is_reported(site) -> None:
    w = await world(site({"a.md": text("Apple"), "b.md": text("Bee")}))
    await w.run()
    before = [r for r in await w.rows() if r["page_id"] == "pages/a.md"]
    site({"a.md": b"---\nx: [\n---\nText", "b.md": text("Bumblebee")})
    report = (await w.run()).sources[0]
    assert report.pages_failed == 1
    assert report.pages_skipped[0].id == "pages/a.md"
    assert [r for r in await w.rows() if r["page_id"] == "pages/a.md"] == before
    assert any("Bumblebee" in r["text"] for r in await w.rows("text", "id"))


@pytest.mark.parametrize(
    "odd", [b"\x00\xff\xfe\x81" * 50, b"\xff\xfe\x00", bytes(range(256)) * 4, b"a\x00b \xed\xa0\x80"]
)
@pytest.mark.parametrize("suffix", ["md", "html", "txt"])
async def test_a_file_of_any_bytes_stops_no_run(site, odd: bytes, suffix: str) -> None:
    w = await world(site({f"a.{suffix}": odd, "b.md": text("Bee")}))
    report = (await w.run()).sources[0]
    assert report.pages_seen == 2
    assert "pages/b.md" in await w.pages()
    assert (await w.run()).sources[0].pages_changed == 0


async def test_a_page_that_loses_all_its_text_loses_its_rows_once(site) -> None:
    w = await world(site({f"{n}.md": text(f"Page{n}") for n in range(4)}))
    await w.run()
    site({"0.md": "[only]: https://a.link/definition"})
    await w.run()
    assert "pages/0.md" not in await w.pages()
    version = await w.table.version()
    assert (await w.run()).sources[0].pages_changed == 0
    assert await w.table.version() == version


async def test_a_dry_run_writes_nothing_and_calls_nothing(site, openai_server: OpenAIServer) -> None:
    settings = site({"a.md": text("Apple"), "b.md": text("Bee")})
    w = await world(settings, model(openai_server, settings))
    version = await w.table.version()
    report = await w.run(dry_run=True)
    assert report.dry_run
    assert (report.sources[0].pages_changed, report.sources[0].chunks_added > 2) == (2, True)
    assert await w.table.version() == version
    assert (openai_server.requests, w.embedder.embedded) == ([], [])
    await w.run()
    site({"a.md": None})
    version = await w.table.version()
    assert (await w.run(dry_run=True)).sources[0].pages_removed == 1
    assert await w.table.version() == version


async def test_each_run_that_changes_something_is_a_tagged_version(site) -> None:
    w = await world(site({"a.md": text("Apple")}))
    first = await w.run()
    await w.run()
    site({"a.md": text("Avocado")})
    second = await w.run()
    tags = {t["version"] for t in (await w.table._table.tags.list()).values()}
    assert tags == {first.index_version, second.index_version}


async def test_progress_counts_the_pages(site) -> None:
    w = await world(site({"a.md": text("Apple"), "b.md": text("Bee")}))
    seen: list[tuple[str, int]] = []
    await w.run(progress=lambda source, pages: seen.append((source, pages)))
    assert seen == [("pages", 1), ("pages", 2)]


async def test_equal_chunks_of_two_pages_are_enriched_and_embedded_once(
    site, openai_server: OpenAIServer
) -> None:
    same = "---\ntitle: Same\n---\nThe very same text on two pages."
    settings = site({"a.md": same, "b.md": same})
    w = await world(settings, model(openai_server, settings))
    report = (await w.run()).sources[0]
    assert len(openai_server.requests) == 1
    assert len(w.embedder.embedded) == 1
    assert report.enrichments_reused == 1
    assert await w.pages() == {"pages/a.md", "pages/b.md"}


async def test_what_the_page_pins_stands_above_the_model(site, openai_server: OpenAIServer) -> None:
    settings = site({"a.md": "---\ncontent_type: pricing\n---\n# A\n\nNine euros a month."})
    w = await world(settings, model(openai_server, settings))
    await w.run()
    assert await w.rows("content_type", "enriched_by") == [{"content_type": "pricing", "enriched_by": "tiny"}]


# --- when models fail ----------------------------------------------------------------------------


async def test_a_model_that_was_away_is_asked_again_by_the_next_run(
    site, openai_server: OpenAIServer
) -> None:
    settings = site({"a.md": text("Apple"), "b.md": text("Bee")})
    w = await world(settings, model(openai_server, settings))
    openai_server.always(lambda r: fail(404) if "Apple" in r.last else described(r), schema="Enrichment")
    first = (await w.run()).sources[0]
    assert first.enriched_by_rules > 0
    assert first.enriched_by_model > 0
    assert {r["enriched_by"] for r in await w.rows() if r["page_id"] == "pages/a.md"} == {"rules"}
    openai_server.always(described, schema="Enrichment")
    calls = len(openai_server.requests)
    second = (await w.run()).sources[0]
    assert (second.pages_changed, second.pages_unchanged) == (1, 1)
    assert len(openai_server.requests) - calls == first.enriched_by_rules
    assert {r["enriched_by"] for r in await w.rows("enriched_by", "id")} == {"tiny"}
    calls = len(openai_server.requests)
    assert (await w.run()).sources[0].pages_unchanged == 2
    assert len(openai_server.requests) == calls


async def test_a_model_that_talks_nonsense_is_not_asked_again(site, openai_server: OpenAIServer) -> None:
    settings = site({"a.md": text("Apple")})
    w = await world(settings, model(openai_server, settings))
    openai_server.always("nonsense", schema="Enrichment")
    assert (await w.run()).sources[0].enriched_by_rules > 0
    calls = len(openai_server.requests)
    assert (await w.run()).sources[0].pages_unchanged == 1
    assert len(openai_server.requests) == calls


async def test_an_embedding_server_that_fails_leaves_whole_pages_and_the_next_run_goes_on(
    site, monkeypatch
) -> None:
    class Failing(FakeEmbedder):
        down = True

        async def passages(self, texts: Sequence[str], ledger: Any) -> Any:
            if self.down and any("Page2" in text for text in texts):
                raise ModelUnavailable("down", reason="connection")
            return await super().passages(texts, ledger)

    monkeypatch.setattr(RuleEnricher, "batch_chunks", 3)
    settings = site({f"{n}.md": text(f"Page{n}") for n in range(4)})
    w = await world(settings, embedder=Failing())
    with pytest.raises(ModelUnavailable):
        await w.run()
    assert await w.pages() == {"pages/0.md", "pages/1.md"}
    w.embedder.down = False  # type: ignore[attr-defined]
    report = (await w.run()).sources[0]
    assert (report.pages_unchanged, report.pages_changed) == (2, 2)


# --- several writers, and a kill -----------------------------------------------------------------


async def test_two_runs_at_once_write_the_same_as_one(site, tmp_path: Path) -> None:
    import asyncio

    settings = site({f"{n}.md": text(f"Page{n}") for n in range(6)})
    one, other = await world(settings), await world(settings)
    await asyncio.gather(one.run(), other.run())
    rows = await one.rows()
    alone = await world(settings.model_copy(update={"store": StoreSettings(uri=str(tmp_path / "alone"))}))
    await alone.run()
    assert rows == await alone.rows()


async def test_a_run_on_object_storage_writes_the_same_as_on_a_disk(site, s3_store: StoreSettings) -> None:
    settings = site({"a.md": text("Apple"), "ñ 'b'.md": text("Bee")})
    disk = await world(settings)
    bucket = await world(settings.model_copy(update={"store": s3_store}))
    await disk.run()
    await bucket.run()
    assert await bucket.rows() == await disk.rows()
    assert (await bucket.run()).sources[0].pages_unchanged == 2


async def _commits_seen(store: Path, process: subprocess.Popen[bytes]) -> int:
    """Wait for the first pages to be visible to another process; their number."""
    ends = time.monotonic() + 60
    while time.monotonic() < ends and process.poll() is None:
        try:
            table = await KnowledgeTable.open(StoreSettings(uri=str(store)), FakeEmbedder().identity)
            if pages := len({r["page_id"] for r in await table.columns(["page_id"])}):
                return pages
        except TableUnavailable:
            pass  # not there yet
    raise AssertionError("the subprocess committed nothing")


async def test_a_run_that_is_killed_is_completed_by_the_next(site, tmp_path: Path) -> None:
    site({f"{n:02}.md": text(f"Page{n}", 10) for n in range(12)})
    folder, killed, whole = tmp_path / "pages", tmp_path / "killed", tmp_path / "whole"
    command = [sys.executable, "-m", "tests.fakes.slow_index", str(folder), str(killed), "0.5"]
    process = subprocess.Popen(command, cwd=ROOT)  # noqa: ASYNC220 - returns at once
    try:
        committed = await _commits_seen(killed, process)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert 0 < committed < 12
    await slow_index.run(folder, killed, 0)
    await slow_index.run(folder, whole, 0)

    async def rows(store: Path) -> list[dict[str, Any]]:
        table = await KnowledgeTable.open(StoreSettings(uri=str(store)), FakeEmbedder().identity)
        return sorted(await table.columns(list(COLUMNS)), key=lambda row: row["id"])

    assert await rows(killed) == await rows(whole)


async def test_a_page_that_nobody_foresaw_stops_no_run_and_keeps_its_rows(
    site, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = site({"a.md": text("Apple"), "b.md": text("Bee")})
    w = await world(settings)
    await w.run()
    site({"a.md": text("Apple", 13), "b.md": text("Bee", 13)})
    cut = source_run.chunk_page

    def failing(page: Any, *others: Any) -> Any:
        if page.id == "pages/a.md":
            raise RecursionError("too deep")
        return cut(page, *others)

    monkeypatch.setattr(source_run, "chunk_page", failing)
    report = (await w.run()).sources[0]
    assert (report.pages_failed, report.pages_changed) == (1, 1)
    assert await w.pages() == {"pages/a.md", "pages/b.md"}


def test_a_file_whose_name_is_not_utf8_is_reported(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("# Good\n\nIt is good.")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.md")).write_text("# Odd\n\nIt is odd.")
    settings = Settings(
        sources=(FolderSource(name="s", kind="folder", path=tmp_path, base_url="https://example.com"),)
    )

    async def found() -> list[Any]:
        return [page async for page in folder.pages(settings.folders[0], settings)]

    pages = asyncio.run(found())
    assert sorted(type(page).__name__ for page in pages) == ["Page", "Skipped"]
