"""Sitemaps: what they list, in whatever form, and what a run over one does."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any

import pytest

from functions.indexing.enrichment import RuleEnricher
from functions.indexing.index import Indexer
from functions.indexing.sitemaps import MAX_BYTES, parse_sitemap
from shared.errors import SourceError
from shared.settings import Settings
from shared.table import KnowledgeTable
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.web_site import WebSite

AT = "https://example.com/sitemap.xml"
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urls(body: str | bytes) -> list[str]:
    return [e.url for e in parse_sitemap(body if isinstance(body, bytes) else body.encode(), AT).entries]


def test_pages_of_other_namespaces_are_read_and_images_are_not() -> None:
    body = (
        f'<urlset {NS} xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"><url><loc> https://example.com/a#x'
        " </loc><image:image><image:loc>https://example.com/a.png</image:loc></image:image></url></urlset>"
    )
    assert urls(body) == ["https://example.com/a"]
    assert urls(body.replace("sitemaps.org/schemas", "google.com/old")) == ["https://example.com/a"]
    assert urls("<urlset><url><loc>/b?x=1&amp;y=2</loc></url></urlset>") == ["https://example.com/b?x=1&y=2"]


def test_alternates_in_other_languages_are_pages_too() -> None:
    body = (
        f'<urlset {NS} xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>https://example.com/en</loc>'
        '<xhtml:link rel="alternate" hreflang="es" href="https://example.com/es"/>'
        '<xhtml:link rel="alternate" hreflang="en" href="https://example.com/en"/></url></urlset>'
    )
    assert urls(body) == ["https://example.com/en", "https://example.com/es"]


def test_text_gzip_and_feeds_are_sitemaps() -> None:
    text = "\ufeff# ours\nhttps://example.com/a\r\n\nhttps://example.com/b\nhttps://example.com/a\n"
    rss = '<rss version="2.0"><channel><item><link>https://example.com/a</link></item></channel></rss>'
    assert urls(text) == ["https://example.com/a", "https://example.com/b"]
    assert urls(text.encode("utf-16")) == urls(gzip.compress(gzip.compress(text.encode()))) == urls(text)
    assert urls(rss) == ["https://example.com/a"]


@pytest.mark.parametrize(
    "body",
    [b"", b"\n\n", b"Service unavailable", b"<html><body>Oops</body></html>", b"\x1f\x8bnonsense", b"<",
     gzip.compress(b"https://example.com/a\n" * 99, mtime=0)[:-9], b"{}"],
)  # fmt: skip
def test_what_is_no_sitemap_is_an_error(body: bytes) -> None:
    with pytest.raises(SourceError):
        parse_sitemap(body, AT)


def test_bombs_are_harmless() -> None:
    lol = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    bomb = (
        f'<!DOCTYPE urlset [<!ENTITY l0 "ha">{lol}<!ENTITY file SYSTEM "file:///etc/passwd">]><urlset {NS}>'
        "<url><loc>https://example.com/&l9;</loc></url><url><loc>https://example.com/&file;</loc></url></urlset>"
    )
    assert all(len(url) < 60 and "root" not in url for url in urls(bomb))
    with pytest.raises(SourceError, match="larger than"):
        parse_sitemap(gzip.compress(b"\0" * (MAX_BYTES + 1), 1), AT)


def test_a_sitemap_that_breaks_off_is_damaged() -> None:
    whole = (
        f"<urlset {NS}><url><loc>https://example.com/a</loc></url><url><loc>https://example.com/b</loc></url>"
    )
    found = parse_sitemap(whole.encode(), AT)
    assert found.damaged
    assert [e.url for e in found.entries] == ["https://example.com/a", "https://example.com/b"]


async def test_robots_txt_names_the_sitemaps(
    web_site: WebSite, web_source: Callable[..., Any], read: Callable[..., Any]
) -> None:
    web_site.put(
        "/robots.txt", "User-agent: *\nDisallow: /private/\nSitemap: {url}/deep/one.xml\nSitemap: /two.xml\n"
    )
    web_site.sitemap("/a", "/private/x", at="/deep/one.xml")
    web_site.sitemap("/b", "/a", at="/two.xml")
    for path in ("/a", "/b", "/private/x"):
        web_site.page(path, f"Page {path}")
    found = await read(web_source("sitemap"))
    assert found.ids == [f"web/{web_site.url}/a", f"web/{web_site.url}/b"]
    assert "robots.txt disallows" in found.reasons(failed=False)
    assert "/private/x" not in web_site.asked
    page = found.pages[0]
    assert (page.title, page.language, page.url) == ("Page /a", "en", f"{web_site.url}/a")


async def test_without_robots_txt_the_usual_places_are_tried(
    web_site: WebSite, web_source: Callable[..., Any], read: Callable[..., Any]
) -> None:
    web_site.sitemap("/a", at="/sitemap_index.xml")
    web_site.page("/a", "A")
    assert len((await read(web_source("sitemap", "/"))).pages) == 1
    web_site.remove("/sitemap_index.xml")
    with pytest.raises(SourceError, match="no sitemap that can be read"):
        await read(web_source("sitemap", "/"))


async def test_indexes_lead_to_sitemaps_and_loops_end(
    web_site: WebSite, web_source: Callable[..., Any], read: Callable[..., Any]
) -> None:
    children = ("/index.xml", "/one.xml.gz", "/broken.xml", "/none.xml")
    items = "".join(f"<sitemap><loc>{{url}}{child}</loc></sitemap>" for child in children)
    web_site.put("/index.xml", f"<sitemapindex {NS}>{items}</sitemapindex>", type="text/xml")
    listed = f"<urlset {NS}><url><loc>{web_site.url}/a</loc></url><url><loc>https://other.example/x</loc></url></urlset>"
    web_site.put("/one.xml.gz", gzip.compress(listed.encode()), type="application/gzip")
    web_site.put("/broken.xml", "<html>maintenance</html>")
    web_site.page("/a", "A")
    found = await read(web_source("sitemap", "/index.xml"))
    assert len(found.pages) == 1
    assert len(found.incomplete) == 2
    assert "1 addresses of other sites" in found.reasons()
    assert web_site.asked.count("/index.xml") == 1


async def test_a_site_that_is_down_is_an_error_of_the_source(
    web_site: WebSite, web_source: Callable[..., Any], read: Callable[..., Any]
) -> None:
    web_site.sitemap("/a")
    web_site.put("/robots.txt", status=503)
    with pytest.raises(SourceError, match="what may be read"):
        await read(web_source("sitemap", "/sitemap.xml"))
    web_site.page("/a", "A")
    assert len((await read(web_source("sitemap", "/", respect_robots=False))).pages) == 1
    web_site.put("/robots.txt", status=403)  # as good as none
    web_site.put("/sitemap.xml", status=500)
    with pytest.raises(SourceError, match="answers 500"):
        await read(web_source("sitemap", "/sitemap.xml"))


async def test_patterns_and_limits_choose_pages(
    web_site: WebSite, web_source: Callable[..., Any], read: Callable[..., Any]
) -> None:
    paths = ["/docs", "/docs/a", "/docs/old/b", "/blog/c"]
    web_site.sitemap(*paths)
    for path in paths:
        web_site.page(path, path)
    chosen = web_source("sitemap", "/sitemap.xml", include=["/docs/**"], exclude=["**/old/**"])
    assert (await read(chosen)).ids == [f"web/{web_site.url}/docs", f"web/{web_site.url}/docs/a"]
    limited = await read(web_source("sitemap", "/sitemap.xml", max_pages=3))
    assert len(limited.pages) == 3
    assert "max_pages" in limited.incomplete[0]


async def test_what_became_of_pages(
    web_site: WebSite, web_source: Callable[..., Any], read: Callable[..., Any]
) -> None:
    page = web_site.page
    page("/copy", "Copy", head=f'<link rel="canonical" href="{web_site.url}/good">')
    page("/good", "Good")
    page("/elsewhere", "Elsewhere", head='<link rel="canonical" href="https://other.example/">')
    page("/meta", "Meta", head='<meta name="ROBOTS" content="NoIndex, follow">')
    page("/header", "Header", headers={"X-Robots-Tag": "googlebot: noarchive, portavoz: noindex"})
    page("/theirs", "Theirs", headers={"X-Robots-Tag": "googlebot: noindex, nofollow"})
    page(
        "/stub",
        "Moved",
        head='<link rel="canonical" href="/good"><meta http-equiv="Refresh" content="0; URL=/good">',
    )
    web_site.put("/moved", status=301, headers={"Location": "/good"})
    web_site.put("/away", status=302, headers={"Location": f"http://localhost:{web_site.port}/"})
    web_site.put("/gone", status=410)
    web_site.put("/secret", status=403)
    web_site.put("/crash", status=500)
    web_site.put("/picture", b"\x89PNG", type="image/png")
    web_site.put("/torn.pdf", b"%PDF-1.7\n", type="application/pdf")
    web_site.put("/notes.md", "---\ntitle: Notes\n---\nSome notes about the product.", type="text/markdown")
    web_site.put("/app", '<html><body><div id="root"></div><script src="/app.js"></script></body></html>')
    web_site.put("/latin", "<html><body><h1>Él</h1><p>Él llegó mañana a la estación.</p></body></html>".encode("latin-1"),
                 type="text/html; charset=ISO-8859-1")  # fmt: skip
    web_site.sitemap(*(path for path in web_site.answers if path != "/sitemap.xml"), "/none")
    found = await read(web_source("sitemap", "/sitemap.xml", allow_hosts=["127.0.0.1", "localhost"]))
    base = f"web/{web_site.url}"
    assert found.ids == [
        f"{base}/good",
        f"{base}/elsewhere",
        f"{base}/theirs",
        f"{base}/notes.md",
        f"{base}/latin",
    ]
    assert "Él llegó mañana a la estación." in found.pages[-1].text
    failed = {s.id.removeprefix(base): s.reason for s in found.skipped if s.failed}
    assert set(failed) == {"/secret", "/crash", "/app", "/torn.pdf"}
    assert "SSR" in failed["/app"]
    left_out = {s.id.removeprefix(base): s.reason for s in found.skipped if not s.failed}
    assert set(left_out) == {"/copy", "/meta", "/header", "/stub", "/away", "/gone", "/picture", "/none"}
    assert "canonical" in left_out["/copy"]


async def test_pages_that_say_they_are_missing_with_status_200(
    web_site: WebSite, web_source: Callable[..., Any], read: Callable[..., Any]
) -> None:
    def soft(title: str, text: str = "<p>Sorry.</p>") -> str:
        return f"<html lang=es><head><title>{title}</title></head><body><h1>{title}</h1>{text}</body></html>"

    web_site.put("/oops", soft("Página no encontrada"))
    web_site.put("/same", soft("Our shop", "<p>Welcome, dear visitor of /same. We sell.</p>"))
    web_site.page("/errors", "What 404 not found means")
    web_site.page("/a", "A")
    web_site.sitemap("/oops", "/same", "/errors", "/a")
    source = web_source("sitemap", "/sitemap.xml")
    assert (
        len((await read(source)).pages) == 4
    )  # a site that answers 404 for what is missing means what it says
    web_site.missing = type(web_site.missing)(
        body=soft("Our shop", "<p>Welcome, dear visitor of /f00. We sell.</p>").encode()
    )
    web_site.put("/robots.txt", status=404)
    found = await read(source)
    assert [page.title for page in found.pages] == ["What 404 not found means", "A"]
    assert all(not s.failed for s in found.skipped)


async def test_a_second_run_fetches_nothing_that_is_unchanged(
    web_site: WebSite, web_source: Callable[..., Any], read: Callable[..., Any]
) -> None:
    web_site.page("/a", "A")
    web_site.page("/b", "B", head='<link rel="canonical" href="/B2">')
    web_site.put("/old", status=301, headers={"Location": "/c"})
    web_site.page("/c", "C")
    web_site.sitemap("/a", "/b", "/old")
    source = web_source("sitemap", "/sitemap.xml")
    first = await read(source)
    web_site.forget()
    second = await read(source, after=first)
    assert second.unchanged == first.ids
    assert [web_site.statuses[path] for path in ("/a", "/b", "/c")] == [304] * 3
    assert second.visits.now == first.visits.now

    for path in ("/a", "/b", "/c"):
        web_site.put(path, status=500)
    third = await read(source, after=second)
    assert {s.id for s in third.skipped} == set(first.ids)  # their rows stay, under the ids that they have
    web_site.page("/a", "A again")
    web_site.remove("/b")
    web_site.page("/c", "C")
    fourth = await read(source, after=third)
    assert (fourth.ids, fourth.unchanged) == ([f"web/{web_site.url}/a"], [f"web/{web_site.url}/c"])
    assert "gone (404)" in fourth.reasons(failed=False)


async def test_an_indexed_site_is_left_alone_until_it_changes(
    web_site: WebSite,
    web_source: Callable[..., Any],
    web_settings: Callable[..., Settings],
    embedder: FakeEmbedder,
) -> None:
    paths = [f"/{n}" for n in range(8)]
    for path in paths:
        web_site.page(path, f"Page {path}")
    web_site.sitemap(*paths)
    settings = web_settings(web_source("sitemap", "/sitemap.xml"))
    table = await KnowledgeTable.open(settings.store, embedder.identity, create=True)
    indexer = Indexer(table, embedder, RuleEnricher(settings), settings)
    first = (await indexer.run(settings.sources)).sources[0]
    assert (first.pages_changed, first.error) == (8, None)
    version = await table.version()
    second = (await indexer.run(settings.sources)).sources[0]
    assert (second.pages_unchanged, second.pages_changed, second.pages_removed) == (8, 0, 0)
    assert await table.version() == version
    assert {web_site.statuses[path] for path in paths} == {304}
    web_site.page("/1", "Page one, rewritten")
    web_site.remove("/2")
    web_site.put("/3", status=500)
    third = (await indexer.run(settings.sources)).sources[0]
    assert (third.pages_unchanged, third.pages_changed, third.pages_removed) == (5, 1, 1)
    web_site.put("/sitemap.xml", "<html>down</html>", status=502)
    fourth = (await indexer.run(settings.sources)).sources[0]
    assert "502" in (fourth.error or "")
    assert fourth.pages_removed == 0
