"""Full runs: beside the live table, with one switch at the end; and what a run reports and estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from functions.indexing.index import KEEP_RUNS, Indexer
from functions.indexing.report import RunReport
from shared.errors import EmbeddingMismatch, ModelUnavailable
from shared.journal import RUNS, Journal
from shared.records import Row
from shared.settings import FolderSource
from shared.table import KnowledgeTable
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.openai_server import OpenAIServer
from tests.indexing.test_index import described, model, text, world


async def other_model(w: Any, dim: int = 64) -> Any:
    """The same world with another embedding model."""
    embedder = FakeEmbedder(dim, "other/model")
    table = await KnowledgeTable.open(w.settings.store, embedder.identity, create=True, any_model=True)
    return replace(w, table=table, embedder=embedder)


@pytest.mark.parametrize("dim", [64, 32])
async def test_another_embedding_model_takes_over_at_the_end_without_paying_enrichment_again(
    site, openai_server: OpenAIServer, dim: int
) -> None:
    settings = site({"a.md": text("Apple"), "b.md": text("Bee")})
    w = await world(settings, model(openai_server, settings))
    await w.run()
    before, calls = await w.rows("id", "summary"), len(openai_server.requests)
    changed = await other_model(w, dim)
    report = await changed.run(full=True)
    assert len(openai_server.requests) == calls
    assert report.sources[0].enrichments_reused == len(before)
    assert await changed.rows("id", "summary") == before
    assert changed.table.identity == changed.embedder.identity
    with pytest.raises(EmbeddingMismatch):
        await w.table.check()
    site({"c.md": text("Cherry")})
    with pytest.raises(EmbeddingMismatch):  # a process of before mixes no vectors in
        await w.run()
    site({"c.md": None})
    assert (await changed.run()).sources[0].pages_unchanged == 2


async def test_a_full_run_takes_over_what_it_does_not_read(site, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "m.md").write_text(text("More"))
    more = FolderSource(name="more", kind="folder", path=tmp_path / "more")
    settings = site({"a.md": text("Apple"), "b.md": text("Bee")})
    w = await world(settings.model_copy(update={"sources": (*settings.sources, more)}))
    await w.run()
    site({"b.md": b"\x80\x81 \x00" * 50, "c.md": text("Cherry")})  # b cannot be read any more
    only = await Indexer(w.table, w.embedder, w.enricher, w.settings).run(settings.sources, full=True)
    assert only.sources[0].pages_seen == 3
    assert {"pages/a.md", "pages/c.md", "more/m.md"} <= await w.pages()


@pytest.mark.parametrize("same_model", [True, False])
async def test_a_page_that_is_published_during_a_full_run_is_there_afterwards(site, same_model: bool) -> None:
    settings = site({f"{n}.md": text(f"Page{n}") for n in range(3)})
    w = await world(settings)
    await w.run()

    class Meanwhile(FakeEmbedder):
        published = False

        async def passages(self, texts: Sequence[str], ledger: Any) -> Any:
            if not self.published:
                self.published = True
                row = Row(**(await w.table.rows_of(["pages/1.md"]))[0].model_dump())
                new = row.model_copy(update={"id": "hook/new#0", "page_id": "hook/new", "source": "hook"})
                await w.table.replace_pages(["hook/new"], [new])
                await w.table.replace_pages(["pages/2.md"], [])
            return await super().passages(texts, ledger)

    embedder = Meanwhile(64, w.embedder.identity.model if same_model else "other/model")
    table = await KnowledgeTable.open(settings.store, embedder.identity, create=True, any_model=True)
    full = replace(w, table=table, embedder=embedder)
    await full.run(full=True)
    assert await full.pages() == {"pages/0.md", "pages/1.md", "hook/new"}


async def test_a_full_run_that_breaks_off_leaves_the_live_table_and_is_gone_on_with(
    site, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = site({f"{n}.md": text(f"Page{n}") for n in range(4)})
    w = await world(settings, model(openai_server, settings))
    await w.run()
    before, version = await w.rows(), await w.table.version()
    w.enricher.batch_chunks = 3
    passages = w.embedder.passages

    async def failing(texts: Sequence[str], ledger: Any) -> Any:
        if any("Page2" in text for text in texts):  # by page: batches are embedded in no fixed order
            raise ModelUnavailable("down", reason="connection")
        return await passages(texts, ledger)

    monkeypatch.setattr(w.embedder, "passages", failing)
    with pytest.raises(ModelUnavailable):
        await w.run(full=True)
    assert (await w.rows(), await w.table.version()) == (before, version)
    runs = list((await Journal(settings.store).all(RUNS, RunReport)).values())
    assert runs[-1].error == "down"
    monkeypatch.setattr(w.embedder, "passages", passages)
    calls = len(openai_server.requests)
    report = await w.run(full=True)
    assert len(openai_server.requests) - calls < len(before)  # what was paid for before the break is kept
    assert report.sources[0].pages_unchanged + report.sources[0].pages_changed == 4
    assert [r["id"] for r in await w.rows()] == [r["id"] for r in before]


async def test_versions_to_go_back_to_are_limited(site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("functions.indexing.index.KEEP_RUNS", 2)
    settings = site({})
    w = await world(settings)
    for n in range(4):
        site({"a.md": text(f"Edit{n}")})
        await w.run()
    versions = await w.table.versions()
    assert len(versions) == 2
    assert KEEP_RUNS > 2
    before = await w.rows()
    await w.table.restore(versions[0].number)
    assert await w.rows() != before
    assert (await w.run()).sources[0].pages_changed == 1  # the source's text comes back
    assert [r["text"] for r in await w.rows("text", "id")] == [
        r["text"] for r in sorted(before, key=lambda r: r["id"])
    ]


async def test_a_dry_run_estimates_what_the_run_then_costs(site, openai_server: OpenAIServer) -> None:
    settings = site({f"{n}.md": text(f"Page{n}") for n in range(4)})
    w = await world(settings, model(openai_server, settings))
    site({"0.md": None})
    first = await w.run(confirmed=True)
    assert first.spent["enrichment"].calls == first.sources[0].enriched_by_model
    site({"0.md": text("Page0"), "1.md": text("Page1", 20)})
    guess = (await w.run(dry_run=True)).estimate
    real = (await w.run()).spent["enrichment"]
    assert guess is not None
    assert guess.model_calls == real.calls
    assert guess.input_tokens == pytest.approx(real.usage.input_tokens, rel=0.15)
    assert guess.output_tokens == pytest.approx(real.usage.output_tokens, rel=0.15)


async def test_reports_are_kept_and_hold_the_breakdown(site, openai_server: OpenAIServer) -> None:
    settings = site({"a.md": text("Apple"), "b.md": "---\ndraft: true\n---\nx"})
    w = await world(settings, model(openai_server, settings))
    openai_server.always(described, schema="Enrichment")
    report = await w.run()
    kept = list((await Journal(settings.store).all(RUNS, RunReport)).values())
    assert kept == [report]
    assert report.breakdown is not None
    assert report.breakdown.sound
    assert report.breakdown.chunks["source"] == {"pages": report.breakdown.rows}
    assert report.breakdown.chunks["enriched_by"] == {"tiny": report.breakdown.rows}


async def test_a_full_dry_run_counts_what_would_be_paid_again(site, openai_server: OpenAIServer) -> None:
    settings = site({"a.md": text("Apple")})
    w = await world(settings, model(openai_server, settings))
    calls = (await w.run()).spent["enrichment"].calls
    guess = (await w.run(full=True, dry_run=True)).estimate
    assert guess is not None
    assert guess.model_calls == calls
    other = (await (await other_model(w)).run(full=True, dry_run=True)).estimate
    assert other is not None
    assert other.model_calls == 0
