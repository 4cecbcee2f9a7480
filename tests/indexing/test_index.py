"""A run keeps the table equal to the source: what changed is done, what vanished goes, what is unchanged costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from functions.indexing.enrichment import Enricher, ModelEnricher, RuleEnricher
from functions.indexing.index import Indexer
from functions.indexing.report import SourceReport
from shared.language_model import LanguageModel
from shared.settings import Settings
from shared.table import KnowledgeTable
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.openai_server import OpenAIServer, fail

DRAFT = {
    "summary": "What it says.",
    "keywords": ["Word"],
    "questions": ["What?"],
    "product": "general",
    "content_type": "guide",
}
Site = Callable[..., Settings]


async def run(
    settings: Settings, enricher: Enricher | None = None, **options: Any
) -> tuple[SourceReport, KnowledgeTable, FakeEmbedder]:
    embedder = FakeEmbedder()
    table = await KnowledgeTable.open(settings.store, embedder.identity, create=True)
    report = await Indexer(table, embedder, enricher or RuleEnricher(settings), settings).run(
        settings.sources, **options
    )
    return report.sources[0], table, embedder


def pages(n: int) -> dict[str, str | bytes | None]:
    return {f"{i}.md": f"# Page {i}\n\nThe text of page number {i} is about topic {i}." for i in range(n)}


async def page_ids(table: KnowledgeTable) -> set[str]:
    return {row["page_id"] for row in await table.columns(["page_id"])}


async def test_a_second_run_changes_nothing_and_calls_no_model(
    site: Site, openai_server: OpenAIServer
) -> None:
    openai_server.always(DRAFT, schema="Enrichment")
    settings = site(pages(3))
    enricher = ModelEnricher(LanguageModel(openai_server.settings()), settings)
    first, table, _ = await run(settings, enricher)
    assert (first.pages_changed, first.enriched_by_model) == (3, 3)
    version, calls = await table.version(), len(openai_server.requests)
    second, table, embedder = await run(settings, enricher)
    assert (second.pages_changed, second.pages_unchanged) == (0, 3)
    assert (await table.version(), len(openai_server.requests), embedder.embedded) == (version, calls, [])


async def test_a_changed_page_enriches_and_embeds_only_its_changed_chunks(
    site: Site, openai_server: OpenAIServer
) -> None:
    openai_server.always(DRAFT, schema="Enrichment")
    parts = [
        f"## Part {i}\n\n" + f"Sentence about subject {i} with many words to read in it. " * 8
        for i in range(6)
    ]
    settings = site({"a.md": "\n\n".join(parts)})
    enricher = ModelEnricher(LanguageModel(openai_server.settings()), settings)
    await run(settings, enricher)
    before = len(openai_server.requests)
    parts[2] += "\n\nA new paragraph."
    _, table, embedder = await run(site({"a.md": "\n\n".join(parts)}), enricher)
    assert len(openai_server.requests) - before == 1
    assert len(embedder.embedded) == 1
    assert await table.rows() == 6


async def test_a_removed_page_goes(site: Site) -> None:
    await run(site(pages(5)))
    report, table, _ = await run(site({"1.md": None}))
    assert report.pages_removed == 1
    assert await page_ids(table) == {f"pages/{i}.md" for i in (0, 2, 3, 4)}


async def test_many_pages_that_vanish_at_once_stay_until_confirmed(site: Site) -> None:
    await run(site(pages(5)))
    settings = site({"1.md": None, "2.md": None})
    report, table, _ = await run(settings)
    assert (report.pages_removed, report.removal_withheld) == (0, 2)
    assert len(await page_ids(table)) == 5
    report, table, _ = await run(settings, confirmed=True)
    assert report.pages_removed == 2


async def test_a_page_that_cannot_be_read_keeps_its_rows_and_is_reported(site: Site) -> None:
    await run(site(pages(2)))
    report, table, _ = await run(site({"1.md": "---\ntitle: [broken\n---\ntext"}))
    assert report.pages_failed == 1
    assert "front matter" in report.pages_skipped[0].reason
    assert "pages/1.md" in await page_ids(table)


async def test_only_the_named_source_is_touched(site: Site) -> None:
    settings = site(pages(2))
    await run(settings)
    other = settings.sources[0].model_copy(update={"name": "other"})
    _, table, _ = await run(settings.model_copy(update={"sources": (other,)}))
    assert len(await page_ids(table)) == 4


async def test_a_dry_run_writes_nothing(site: Site) -> None:
    report, table, embedder = await run(site(pages(3)), dry_run=True)
    assert (report.pages_changed, await table.rows(), embedder.embedded) == (3, 0, [])


@pytest.mark.parametrize(
    ("answer", "asked_again"), [(fail(401), True), ("no json", False)], ids=["down", "invalid"]
)
async def test_rules_stand_in_for_a_model_that_fails(
    site: Site, openai_server: OpenAIServer, answer: Any, asked_again: bool
) -> None:
    """A model that is down is asked again by the next run; one that answers unfit would cost again for the same."""
    openai_server.always(answer, schema="Enrichment")
    settings = site(pages(1))
    enricher = ModelEnricher(LanguageModel(openai_server.settings()), settings)
    first, _, _ = await run(settings, enricher)
    assert (first.enriched_by_rules, first.enriched_by_model) == (1, 0)
    openai_server.always(DRAFT, schema="Enrichment")
    second, _, _ = await run(settings, enricher)
    assert second.enriched_by_model == (1 if asked_again else 0)


async def test_what_page_or_source_pins_stands_above_the_model(
    site: Site, openai_server: OpenAIServer
) -> None:
    openai_server.always(DRAFT, schema="Enrichment")
    settings = site({"a.md": "---\ncontent_type: pricing\n---\n# A\n\nNine euros a month."})
    _, table, _ = await run(settings, ModelEnricher(LanguageModel(openai_server.settings()), settings))
    (row,) = await table.columns(["content_type", "keywords", "enriched_by"])
    assert row == {"content_type": "pricing", "keywords": ["word"], "enriched_by": "scripted"}
