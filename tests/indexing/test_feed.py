"""Feeds: what an entry's text is, and what becomes of entries that leave the feed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from html import escape
from typing import Any

import pytest

from functions.indexing.enrichment import RuleEnricher
from functions.indexing.feeds import entry_document, parse_feed
from functions.indexing.index import Indexer
from shared.errors import SourceError
from shared.settings import Settings
from shared.table import KnowledgeTable
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.web_site import WebSite

Make = Callable[..., Any]
AT = "https://example.com/feed.xml"
LONG = "".join(
    f"<p>The council decided on point {n} of the agenda after a long debate about money.</p>"
    for n in range(20)
)


def rss(*items: str, language: str = "en") -> str:
    return (
        '<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>News</title>'
        f"<language>{language}</language>{''.join(items)}</channel></rss>"
    )


def item(
    path: str, title: str = "News", html: str = LONG, *, date: str = "Mon, 05 Oct 2026 10:00:00 +0200"
) -> str:
    return (
        f"<item><link>{{url}}{path}</link><title>{title}</title><pubDate>{date}</pubDate>"
        f"<description>A summary.</description><content:encoded>{escape(html)}</content:encoded></item>"
    )


def test_atom_and_rss_entries() -> None:
    atom = (
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="es"><entry><id>urn:1</id><title type="html">A &amp;amp; B'
        '</title><link href="/x#y"/><updated>2026-01-02T03:04:05Z</updated><content type="html">&lt;p&gt;Uno&lt;/p&gt;'
        "&lt;p&gt;Dos&lt;/p&gt;&lt;script&gt;x()&lt;/script&gt;</content></entry>"
        '<entry><id>urn:2</id><summary type="text">One.\n\nTwo &lt; three.</summary></entry></feed>'
    )
    first, second = parse_feed(atom.encode(), AT)
    assert (first.key, first.title, first.language) == ("https://example.com/x", "A & B", "es")
    assert first.updated == "2026-01-02T03:04:05+00:00"
    assert first.url == "https://example.com/x#y"
    assert second.key == "urn:2"
    document = entry_document(first)
    assert "Uno" in document.markdown
    assert "Dos" in document.markdown
    assert "x()" not in document.markdown
    assert "Two < three." in entry_document(second).markdown.replace("\\", "")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html><body>Down</body></html>",
        b"{}",
        b"<rss version='2.0'>",
        b"\xbb\xffnot <b>&\x84",
        b"\0\xff",
    ],
)
def test_what_is_no_feed_is_an_error(body: bytes) -> None:
    with pytest.raises(SourceError, match="neither RSS nor Atom"):
        parse_feed(body, AT)


def test_odd_feeds() -> None:
    assert parse_feed(rss().encode(), AT) == ()
    bomb = '<!DOCTYPE rss [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    found = parse_feed((bomb + rss("<item><title>&b;&f;x</title></item>")).encode(), AT)
    assert "root:" not in found[0].title
    latin = rss("<item><title>Información</title><guid>1</guid></item>").encode("latin-1")
    assert parse_feed(latin, AT, {"content-type": "text/xml; charset=iso-8859-1"})[0].title == "Información"
    one, two = parse_feed(rss("<item><title>a</title></item><item><title>b</title></item>").encode(), AT)
    assert one.key != two.key


async def test_the_feeds_text_or_the_page(web_site: WebSite, web_source: Make, read: Make) -> None:
    web_site.put("/feed", rss(item("/long", "Long"), item("/short", "Short", "<p>Just a teaser …</p>"), item("/lost", "Lost", "<p>Only here.</p>")), type="application/rss+xml")  # fmt: skip
    web_site.page("/short", "Short, from the page")
    web_site.page("/long", "Long, from the page")
    web_site.put("/lost", status=500)
    found = await read(web_source("feed", "/feed"))
    assert [page.title for page in found.pages] == ["Long", "Short, from the page", "Lost"]
    assert found.ids[0] == f"web/{web_site.url}/long"
    assert found.pages[0].url == f"{web_site.url}/long"
    assert {page.published_at for page in found.pages[:2]} == {datetime(2026, 10, 5, 8, tzinfo=UTC)}
    assert "agenda" in found.pages[0].text
    assert "/long" not in web_site.asked

    pages = await read(web_source("feed", "/feed", full_text="page"))
    assert [page.title for page in pages.pages] == ["Long, from the page", "Short, from the page"]
    assert pages.skipped[0].failed
    feed = await read(web_source("feed", "/feed", full_text="feed", exclude=["/lost"]))
    assert [page.text for page in feed.pages][1:] == ["Just a teaser …"]


@pytest.mark.parametrize("full_text", ["auto", "feed", "page"])
async def test_entries_that_leave_the_feed_stay_until_their_page_is_gone(
    full_text: str, web_site: WebSite, web_source: Make, read: Make
) -> None:
    def feed(*names: str) -> None:
        guid = "<item><guid isPermaLink='false'>note-1</guid><description>A note.</description></item>"
        web_site.put("/feed", rss(*(item(f"/{n}", n.upper()) for n in names), *[guid] * ("a" in names)))

    for name in "abcd":
        web_site.page(f"/{name}", name)
    source = web_source("feed", "/feed", full_text=full_text)
    feed("a", "b", "c")
    first = await read(source)
    ids = {name: f"web/{web_site.url}/{name}" for name in "abcd"}
    assert set(first.ids) == {ids["a"], ids["b"], ids["c"], "web/note-1"}
    feed("c", "d")
    web_site.put("/b", status=503)
    second = await read(source, after=first)
    assert set(second.ids) - {ids["c"]} == {ids["d"]}
    kept = {*second.unchanged, *(s.id for s in second.skipped if s.failed)}
    assert {ids["a"], ids["b"], "web/note-1"} <= kept
    web_site.remove("/a")
    web_site.page("/b", "b")
    third = await read(source, after=second)
    assert [s.id for s in third.skipped] == [ids["a"]]
    assert not third.skipped[0].failed
    assert ids["b"] in third.unchanged
    fourth = await read(source, after=third)
    assert ids["b"] in fourth.unchanged
    assert web_site.statuses["/b"] == 304


async def test_a_feed_that_is_down_removes_nothing(
    web_site: WebSite, web_source: Make, web_settings: Callable[..., Settings], embedder: FakeEmbedder
) -> None:
    web_site.put(
        "/feed", rss(*(item(f"/{n}", f"News {n}", LONG.replace("council", f"council{n}")) for n in range(5)))
    )
    settings = web_settings(web_source("feed", "/feed"))
    table = await KnowledgeTable.open(settings.store, embedder.identity, create=True)
    indexer = Indexer(table, embedder, RuleEnricher(settings), settings)
    first = (await indexer.run(settings.sources)).sources[0]
    assert (first.pages_changed, first.error) == (5, None)
    version = await table.version()
    second = (await indexer.run(settings.sources)).sources[0]
    assert second.pages_unchanged == 5
    web_site.put("/feed", "<html>down</html>")
    third = (await indexer.run(settings.sources)).sources[0]
    assert "neither RSS nor Atom" in (third.error or "")
    assert await table.version() == version
