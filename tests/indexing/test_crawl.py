"""Crawling: where links lead, what is not followed, and what a later run needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from functions.indexing.enrichment import RuleEnricher
from functions.indexing.index import Indexer
from functions.indexing.sources.crawl import is_trap
from shared.errors import SourceError
from shared.settings import Settings
from shared.table import KnowledgeTable
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.web_site import WebSite

Make = Callable[..., Any]


def paths(found: Any, site: WebSite) -> list[str]:
    return [page_id.removeprefix(f"web/{site.url}") for page_id in found.ids]


@pytest.fixture
def small_site(web_site: WebSite) -> WebSite:
    web_site.page("/", "Home", links=["/a", "/b?utm_source=menu#top", "https://other.example/", "/", "/a"])
    web_site.page("/a", "A", links=["/a/deep", "/b", "/pic.png"])
    web_site.page("/b", "B", links=["/a", "/hidden"])
    web_site.page("/a/deep", "Deep", links=["/a/deep/er"])
    web_site.page("/a/deep/er", "Deeper", links=["/"])
    web_site.page("/hidden", "Hidden", head='<meta name="robots" content="noindex">', links=["/behind"])
    web_site.page("/behind", "Behind")
    web_site.page("/unlinked", "Unlinked")
    return web_site


async def test_pages_are_read_nearest_first_and_once(
    small_site: WebSite, web_source: Make, read: Make
) -> None:
    found = await read(web_source("crawl"))
    assert paths(found, small_site) == ["/", "/a", "/b", "/a/deep", "/a/deep/er", "/behind"]
    asked = [path for path in small_site.asked if path in small_site.answers]
    assert len(asked) == len(set(asked)) == 7
    assert not found.incomplete
    assert "noindex" in found.reasons(failed=False)


async def test_depth_pages_and_patterns_bound_the_crawl(
    small_site: WebSite, web_source: Make, read: Make
) -> None:
    assert paths(await read(web_source("crawl", max_depth=0)), small_site) == ["/"]
    assert paths(await read(web_source("crawl", max_depth=1)), small_site) == ["/", "/a", "/b"]
    limited = await read(web_source("crawl", max_pages=2))
    assert len(limited.pages) == 2
    assert "max_pages" in limited.incomplete[0]
    only = await read(web_source("crawl", include=["/a/**"], exclude=["**/er"]))
    assert paths(only, small_site) == ["/a", "/a/deep"]


async def test_what_robots_ask_is_done(web_site: WebSite, web_source: Make, read: Make) -> None:
    web_site.put("/robots.txt", "User-agent: *\nDisallow: /closed\n", type="text/plain")
    web_site.page("/", "Home", links=["/closed/1", "/dead-end"])
    web_site.page("/closed/1", "Closed")
    web_site.page(
        "/dead-end", "Dead end", head='<meta name="robots" content="nofollow">', links=["/not-followed"]
    )
    web_site.page("/not-followed", "Not followed")
    found = await read(web_source("crawl"))
    assert paths(found, web_site) == ["/", "/dead-end"]
    assert "/closed/1" not in web_site.asked
    everything = await read(web_source("crawl", respect_robots=False))
    assert "/closed/1" in paths(everything, web_site)


async def test_a_start_that_cannot_be_read_is_an_error(
    web_site: WebSite, web_source: Make, read: Make
) -> None:
    for answer, reason in (({"status": 404}, "gone"), ({"status": 500}, "500"),
                           ({"status": 301, "headers": {"Location": "http://localhost:1/"}}, "start page")):  # fmt: skip
        web_site.put("/", **answer)
        with pytest.raises(SourceError, match=reason):
            await read(web_source("crawl", "/"))


async def test_a_start_that_redirects_is_read_once(web_site: WebSite, web_source: Make, read: Make) -> None:
    web_site.put("/", status=302, headers={"Location": "/es/"})
    web_site.page("/es/", "Inicio", links=["/es/", "/", "/es/a"])
    web_site.page("/es/a", "A")
    found = await read(web_source("crawl"))
    assert paths(found, web_site) == ["/es/", "/es/a"]
    assert web_site.asked.count("/es/") == 1


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/calendar/2031/07", True), ("/events?month=1912-05", True), ("/events?date=2031-05-01", True),
     ("/calendar/2026/07", False), ("/history/1912", False), ("/product-3000", False), ("/museum/event/1889", True),
     ("/a/b/a/b/a/b", True), ("/a/b/c/d", False), ("/" + "x/y" * 20, True), ("/shop?a=1&b=2&c=3&d=4&e=5", True),
     ("/shop?a=1&b=2", False), ("/2019/05/06/a", False)],
)  # fmt: skip
def test_endless_addresses(path: str, expected: bool) -> None:
    assert is_trap(f"https://example.com{path}", 2026) is expected


async def test_a_site_without_end_is_left(web_site: WebSite, web_source: Make, read: Make) -> None:
    """Folders that pile up through relative links, a calendar, and session ids in each link."""
    web_site.page("/", "Home", links=["/sub/", "/calendar?month=2020-01", "/a?PHPSESSID=1"])
    web_site.page("/a", "A", links=["/a?PHPSESSID=2", "/a;jsessionid=3"])
    for n in range(1, 6):
        web_site.page("/" + "sub/" * n, f"Sub {n}", links=["sub/"])
    for year in range(1950, 2100):
        web_site.page(
            f"/calendar?month={year}-01", f"Month {year}",
            links=[f"/calendar?month={year + 1}-01", f"/calendar?month={year - 1}-01"],
        )  # fmt: skip
    found = await read(web_source("crawl", max_depth=200))
    assert len(found.pages) < 60
    assert "look endless" in found.reasons(failed=False)
    assert web_site.asked.count("/a") == 1


async def test_links_of_unchanged_pages_are_known(small_site: WebSite, web_source: Make, read: Make) -> None:
    source = web_source("crawl")
    first = await read(source)
    second = await read(source, after=first)
    assert second.unchanged == first.ids
    assert second.visits.now == first.visits.now
    assert not second.pages

    small_site.put("/a", status=500)  # where it leads is still known
    third = await read(source, after=second)
    assert set(third.unchanged) == set(first.ids) - {f"web/{small_site.url}/a"}
    assert [s.id for s in third.skipped if s.failed] == [f"web/{small_site.url}/a"]
    small_site.page("/a", "A", links=["/a/deep", "/b", "/pic.png"])
    small_site.page("/b", "B, without links")
    fourth = await read(source, after=third)
    assert fourth.ids == [f"web/{small_site.url}/b"]
    assert f"web/{small_site.url}/behind" not in fourth.unchanged


async def test_pages_that_do_not_answer_leave_the_crawl_incomplete(
    small_site: WebSite, web_source: Make, read: Make
) -> None:
    small_site.put("/a", status=503)
    found = await read(web_source("crawl"))
    assert "not known where they lead" in found.incomplete[0]
    small_site.put("/a", status=403)
    assert not (await read(web_source("crawl"))).incomplete


async def test_an_indexed_site_is_left_alone_until_it_changes(
    small_site: WebSite, web_source: Make, web_settings: Callable[..., Settings], embedder: FakeEmbedder
) -> None:
    settings = web_settings(web_source("crawl"))
    table = await KnowledgeTable.open(settings.store, embedder.identity, create=True)
    indexer = Indexer(table, embedder, RuleEnricher(settings), settings)
    first = (await indexer.run(settings.sources)).sources[0]
    assert (first.pages_changed, first.error) == (6, None)
    version = await table.version()
    second = (await indexer.run(settings.sources)).sources[0]
    assert (second.pages_unchanged, second.pages_removed) == (6, 0)
    assert await table.version() == version
    small_site.page("/a/deep", "Deep, without a link to Deeper")
    third = (await indexer.run(settings.sources)).sources[0]
    assert (third.pages_changed, third.pages_removed) == (1, 1)
