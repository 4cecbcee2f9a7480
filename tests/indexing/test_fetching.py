"""Fetching: which addresses are refused, what is waited for, and what is too much."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpcore2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.indexing import fetching, replies
from functions.indexing.addresses import normal, site_of, wanted
from functions.indexing.fetching import Disallowed, Fetcher, RobotsUnreachable
from functions.indexing.guard import AddressRefused, GuardedBackend, is_public
from functions.indexing.html_facts import facts_of
from functions.indexing.pages import Visit
from functions.indexing.politeness import Clock, Pace, in_order
from functions.indexing.replies import FetchFailed, Wish
from functions.indexing.robots import parse_robots
from tests.fakes.web_site import Answer, WebSite, etag_of, status

MakeSource = Callable[..., Any]


class FakeClock(Clock):
    """Time passes only where it is waited for."""

    def __init__(self) -> None:
        self.time = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds


def names(**hosts: str | list[str]) -> Any:
    """A resolver that knows these hosts (`_` stands for a dot), and asks nobody."""
    known = {name.replace("_", "."): hosts[name] for name in hosts}

    async def resolve(host: str, port: int) -> list[str]:
        if host == "127.0.0.1":
            return [host]
        if host not in known:
            raise OSError("unknown host")
        found = known[host]
        return found if isinstance(found, list) else [found]

    return resolve


@pytest.fixture
def source(web_source: MakeSource) -> Any:
    return web_source("crawl")


# --- which addresses are refused -------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200",
     "192.0.0.192", "168.63.129.16", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::1", "::",
     "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "ff02::1", "fec0::1", "::ffff:127.0.0.1", "::ffff:a9fe:a9fe",
     "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001:0:7f00:1::", "2001:db8::1",
     "::127.0.0.1", "localhost", ""],
)  # fmt: skip
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["93.184.215.14", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_public_addresses(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "017700000001", "[::1]", "[::ffff:127.0.0.1]",
     "[0:0:0:0:0:ffff:7f00:1]", "localhost", "LOCALHOST", "0", "169.254.169.254"],
)  # fmt: skip
async def test_no_notation_of_a_private_address_gets_through(
    host: str, web_site: WebSite, web_source: MakeSource
) -> None:
    """Names and numbers are resolved as the system does, so that what counts is where the connection would go."""
    source = web_source("crawl", allow_hosts=[], respect_robots=False)
    async with Fetcher(source) as fetcher:
        with pytest.raises(AddressRefused, match="allow_hosts"):
            await fetcher.get(f"http://{host}:{web_site.port}/")
    assert not web_site.requests


async def test_a_name_with_a_private_address_is_refused(web_site: WebSite, web_source: MakeSource) -> None:
    source = web_source("crawl", allow_hosts=["mine.example"], respect_robots=False)
    resolve = names(
        evil_example="10.0.0.1", mixed_example=["93.184.215.14", "127.0.0.1"], mine_example="127.0.0.1"
    )
    async with Fetcher(source, resolve=resolve) as fetcher:
        for host in ("evil.example", "mixed.example"):
            with pytest.raises(AddressRefused):
                await fetcher.get(f"http://{host}:{web_site.port}/")
        web_site.page("/", "Mine")
        assert (await fetcher.get(f"http://mine.example:{web_site.port}/")).status == 200
        assert web_site.requests[0].headers["host"] == f"mine.example:{web_site.port}"
        web_site.put("/", status=302, headers={"Location": f"http://evil.example:{web_site.port}/"})
        with pytest.raises(AddressRefused):
            await fetcher.get(f"http://mine.example:{web_site.port}/")
        with pytest.raises(FetchFailed, match="no address"):
            await fetcher.get("http://unknown.example/")


async def test_the_address_that_was_checked_is_the_one_connected_to() -> None:
    """A name that resolves to another address the second time (DNS rebinding) is not asked a second time."""
    answers = iter([["93.184.215.14"], ["127.0.0.1"]])
    connected: list[str] = []

    async def rebinding(host: str, port: int) -> list[str]:
        return next(answers)

    class Network(httpcore2.AsyncMockBackend):
        async def connect_tcp(self, host: str, *args: Any, **kwargs: Any) -> Any:
            connected.append(host)
            return httpcore2.AsyncMockStream([])

    backend = GuardedBackend([], rebinding, Network([]))
    await backend.connect_tcp("rebind.example", 80)
    assert connected == ["93.184.215.14"]
    with pytest.raises(AddressRefused):
        await backend.connect_tcp("rebind.example", 80)
    assert len(connected) == 1


async def test_the_next_address_is_tried_where_one_is_dead(web_site: WebSite, web_source: MakeSource) -> None:
    web_site.page("/", "Up")
    source = web_source("crawl", allow_hosts=["two.example"], respect_robots=False)
    async with Fetcher(source, resolve=names(two_example=["127.0.0.2", "127.0.0.1"])) as fetcher:
        assert (await fetcher.get(f"http://two.example:{web_site.port}/")).status == 200


@pytest.mark.parametrize(
    "address", ["ftp://x.example/", "file:///etc/passwd", "http:///x", "http://u:p@x.example/", "http://[x/", "x",
                "http://x.example:99999/", "gopher://x.example:70/"]
)  # fmt: skip
async def test_addresses_that_are_none_of_the_web(address: str, source: Any, web_site: WebSite) -> None:
    async with Fetcher(source, resolve=names()) as fetcher:
        with pytest.raises(FetchFailed):
            await fetcher.get(address)
        web_site.put(
            "/r",
            status=302,
            headers={"Location": address if "://x" in address or "[" in address else "ftp://x/"},
        )
        with pytest.raises(FetchFailed):
            await fetcher.get(web_site.url + "/r")


# --- how much and how often ------------------------------------------------------------------------


async def test_redirects_are_followed_five_times(source: Any, web_site: WebSite) -> None:
    for n in range(6):
        web_site.put(f"/{n}", status=302, headers={"Location": f"{n + 1}#part"})
    web_site.page("/6", "The end")
    async with Fetcher(source) as fetcher:
        assert (await fetcher.get(web_site.url + "/1")).url == web_site.url + "/6"
        with pytest.raises(FetchFailed, match="redirects"):
            await fetcher.get(web_site.url + "/0")
        web_site.put("/loop", status=301, headers={"Location": "/loop"})
        with pytest.raises(FetchFailed, match="redirects"):
            await fetcher.get(web_site.url + "/loop")


async def test_too_much_is_not_read(source: Any, web_site: WebSite) -> None:
    web_site.put("/large", b"x" * 5000)
    web_site.put("/bomb", gzip.compress(b"\0" * 20_000_000, 1), headers={"Content-Encoding": "gzip"})
    web_site.put("/br", b"\x0b", headers={"Content-Encoding": "br"})
    web_site.put("/liar", b"not gzip", headers={"Content-Encoding": "gzip"})
    web_site.put("/video", b"x" * 5000, type="video/mp4")
    async with Fetcher(source) as fetcher:
        with pytest.raises(FetchFailed, match="larger"):
            await fetcher.get(web_site.url + "/large", Wish(limit=4999))
        assert len((await fetcher.get(web_site.url + "/large", Wish(limit=100, cut=True))).body) == 100
        with pytest.raises(FetchFailed, match="larger than 10 MiB"):
            await fetcher.get(web_site.url + "/bomb")
        with pytest.raises(FetchFailed, match="encoding"):
            await fetcher.get(web_site.url + "/br")
        with pytest.raises(FetchFailed, match="cannot be read"):
            await fetcher.get(web_site.url + "/liar")
        assert (await fetcher.get(web_site.url + "/video", Wish(types=frozenset({"text/html"})))).body == b""


async def test_a_server_that_drips_is_given_up(
    source: Any, web_site: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "TOTAL_SECONDS", 0)
    async with Fetcher(source) as fetcher:
        with pytest.raises(FetchFailed, match="does not answer") as raised:
            await fetcher.get(web_site.url, Wish(obeys=False))
    assert raised.value.passing


async def test_what_may_pass_is_tried_again(source: Any, web_site: WebSite) -> None:
    web_site.page("/", "Up again")
    web_site.script("/", [status(503), status(429), Answer(cut=True)])
    async with Fetcher(source) as fetcher:
        assert (await fetcher.get(web_site.url + "/")).status == 200
        assert web_site.asked.count("/") == 4
        web_site.put("/down", status=504)
        with pytest.raises(FetchFailed, match="504"):
            await fetcher.get(web_site.url + "/down")
        assert web_site.asked.count("/down") == 4
        web_site.put("/error", status=500)
        assert (await fetcher.get(web_site.url + "/error")).status == 500
        assert web_site.asked.count("/error") == 1


async def test_retry_after_is_waited_for_by_all_requests(web_source: MakeSource, web_site: WebSite) -> None:
    clock = FakeClock()
    web_site.page("/", "Up again")
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=50), usegmt=True)
    web_site.script("/", [status(429, Retry_After="7"), status(503, Retry_After=later)])
    async with Fetcher(web_source("crawl", respect_robots=False), clock=clock) as fetcher:
        assert (await fetcher.get(web_site.url + "/")).status == 200
        assert [round(wait, -1) for wait in clock.waits] == [10, 50]
        web_site.script("/", [status(429, Retry_After="3600")])
        with pytest.raises(FetchFailed, match="come back in 3600 s"):
            await fetcher.get(web_site.url + "/")
    assert web_site.asked.count("/") == 4
    assert replies._seconds("soon") == replies._seconds("-5") == replies._seconds("") == 0


async def test_requests_keep_their_distance(web_source: MakeSource, web_site: WebSite) -> None:
    clock = FakeClock()
    web_site.page("/", "Home")
    web_site.put("/robots.txt", "User-agent: portavoz\nCrawl-delay: 2\n", type="text/plain")
    async with Fetcher(web_source("crawl", requests_per_second=4), clock=clock) as fetcher:
        for _ in range(3):
            await fetcher.get(web_site.url + "/")
    assert clock.time == pytest.approx(0.25 + 2 * 2)

    pace = Pace(0.5, clock := FakeClock())
    await asyncio.gather(*(pace.turn() for _ in range(4)))
    assert clock.waits == pytest.approx([0.5, 0.5, 0.5])  # each from the one before, in this clock


async def test_results_come_in_order_and_some_ahead() -> None:
    running, most = set(), 0

    async def work(n: int) -> int:
        nonlocal most
        running.add(n)
        most = max(most, len(running))
        for _ in range(5 - n % 5):
            await asyncio.sleep(0)
        running.discard(n)
        return n

    assert [n async for n in in_order(work, range(20), 3)] == list(range(20))
    assert most == 3
    some: AsyncIterator[int] = in_order(work, range(20), 3)
    assert await anext(some) == 0
    await some.aclose()  # type: ignore[attr-defined]
    assert len(asyncio.all_tasks()) == 1


async def test_conditional_requests(source: Any, web_site: WebSite) -> None:
    web_site.page("/a", "A")
    web_site.put("/r", status=301, headers={"Location": "/a"})
    visits = {
        web_site.url + "/a": Visit(page_id="p", etag=etag_of(web_site.answers["/a"]), last_modified="Mon")
    }
    async with Fetcher(source, visits) as fetcher:
        assert (await fetcher.get(web_site.url + "/r", Wish(conditional=True))).status == 304
        assert web_site.requests[-1].headers["if-modified-since"] == "Mon"
        assert "if-none-match" not in web_site.requests[-2].headers
        assert (await fetcher.get(web_site.url + "/a")).status == 200


# --- robots.txt -----------------------------------------------------------------------------------


async def test_robots_txt_is_obeyed_at_every_hop(web_source: MakeSource, web_site: WebSite) -> None:
    web_site.put("/robots.txt", "User-agent: *\nDisallow: /\n\nUser-agent: PORTAVOZ\nDisallow: /no\n")
    web_site.put("/r", status=302, headers={"Location": "/no/1"})
    web_site.page("/yes", "Yes")
    async with Fetcher(web_source("crawl")) as fetcher:
        assert (await fetcher.get(web_site.url + "/yes")).status == 200
        for path in ("/no", "/r"):
            with pytest.raises(Disallowed):
                await fetcher.get(web_site.url + path)
    assert web_site.asked.count("/robots.txt") == 1
    async with Fetcher(web_source("crawl", respect_robots=False)) as fetcher:
        assert (await fetcher.get(web_site.url + "/no/1")).status == 404


@pytest.mark.parametrize(("code", "allowed"), [(404, True), (401, True), (500, False), (503, False)])
async def test_a_robots_txt_that_cannot_be_read(
    code: int, allowed: bool, source: Any, web_site: WebSite
) -> None:
    web_site.put("/robots.txt", status=code)
    web_site.page("/", "Home")
    async with Fetcher(source) as fetcher:
        if allowed:
            assert (await fetcher.get(web_site.url + "/")).status == 200
        else:
            for _ in range(2):
                with pytest.raises(RobotsUnreachable):
                    await fetcher.get(web_site.url + "/")
            assert "/" not in web_site.asked


def test_robots_txt_of_odd_forms() -> None:
    told = "\ufeffUser-agent: *\nDisallow: /x\nCrawl-delay: 900\nSitemap: /s.xml\nSitemap: /s.xml\n"
    for body in (told.encode(), told.encode("utf-16-be"), told.replace("\n", "\r\n").encode()):
        rules = parse_robots(body, "Portavoz/0.1 (+https://example.com)")
        assert not rules.allow("https://example.com/x/y")
        assert rules.allow("https://example.com/y")
        assert (rules.delay, rules.sitemaps) == (30, ("/s.xml",))
    assert parse_robots(b"<html>\xff\0</html>", "x").allow("https://example.com/")


# --- addresses and facts ----------------------------------------------------------------------------

URLS = st.builds(
    lambda scheme, host, port, path, query, fragment: f"{scheme}://{host}{port}/{path}{query}{fragment}",
    st.sampled_from(["http", "https", "HTTP"]),
    st.sampled_from(["example.com", "EXAMPLE.com.", "exämple.com", "[::1]", "a-b.example"]),
    st.sampled_from(["", ":80", ":443", ":8080"]),
    st.text(st.sampled_from("ab/.%2é ~+;=&:@|[]\\^\x7f"), max_size=20),
    st.sampled_from(["", "?"])
    | st.text(st.sampled_from("ab=&%2é +;utm_source"), max_size=20).map(lambda text: f"?{text}"),
    st.sampled_from(["", "#x", "#"]),
)


@given(URLS)
def test_normal_is_final_and_loses_no_site(url: str) -> None:
    once = normal(url)
    if once:
        assert normal(once) == once
        assert "#" not in once
        assert " " not in once
        assert once.isascii()
        assert site_of(once) == site_of(normal(once.partition("?")[0]))


@given(URLS, st.sampled_from(["utm_source=x", "fbclid=1", "PHPSESSID=ab", "gclid=a%20b"]))
def test_noise_makes_no_other_page(url: str, noise: str) -> None:
    plain = url.partition("#")[0]
    loud = f"{plain}{'&' if '?' in plain else '?'}{noise}#top"
    assert normal(loud) == normal(plain)


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_has_an_answer(url: str, base: str) -> None:
    found = normal(url, f"https://example.com/{base}")
    assert found == "" or found.startswith(("http://", "https://"))


def test_one_spelling() -> None:
    assert normal("HTTPS://Example.COM.:443/a/../b/;jsessionid=1?b=2&utm_x=1&a=%41#c") == (
        "https://example.com/b/?a=A&b=2"
    )
    assert normal("../c?123", "https://example.com/a/b/") == "https://example.com/a/c?123"
    assert normal("https://user@example.com/") == normal("mailto:a@b.c") == normal("") == ""
    assert normal("https://example.com/" + "a" * 3000) == ""
    assert site_of("http://www.example.com/") == site_of("https://example.com:443/x") == "example.com"


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [("/docs/**", "/docs", True), ("/docs/**", "/docs/a/b", True), ("/docs/**", "/docsx", False),
     ("/*/a", "/x/a", True), ("/*/a", "/x/y/a", False), ("**/tag/**", "/tag/b", True), ("/a/*.html", "/a/b.html", True),
     ("/**", "/", True), ("/ñ/*", "/%C3%B1/x", True), ("/a?", "/ab", True)],
)  # fmt: skip
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    assert wanted(f"https://example.com{path}", (pattern,), ()) is expected
    assert wanted(f"https://example.com{path}", (), (pattern,)) is not expected


def test_facts_of_a_page() -> None:
    html = (
        "<?xml version='1.0' encoding='utf-8'?><html><head><base href='/base/'><title> A  b </title><link rel=canonical href='/A#x'>"
        "<link rel=alternate hreflang=es href='/es'><link rel=alternate type=application/rss+xml href=/feed></head>"
        "<body><h1>Head</h1><a href='x?utm_source=1#y'>x</a><a href=x>again</a><a rel='nofollow ugc' href=no>n</a>"
        "<a href='https://other.example/'>o</a><a href='mailto:a@b.c'>m</a><a href='/pic.jpg'>p</a><a href='http://['>b</a>"
        "<a href='/paper.pdf'>pdf</a><script>var hidden</script></body></html>"
    )
    facts = facts_of(html, "https://example.com/page")
    assert (facts.title, facts.heading, facts.canonical) == ("A b", "Head", "https://example.com/A")
    assert facts.links == tuple(f"https://example.com/{p}" for p in ("es", "base/x", "paper.pdf"))
    assert "hidden" not in facts.text
    closed = html.replace("<head>", "<head><meta name=Robots content='INDEX,NoFollow'>")
    assert facts_of(closed, "https://example.com/page").links == ()
    assert facts_of("", "https://example.com/") == facts_of("<!-- -->", "https://example.com/")


@pytest.mark.parametrize(
    ("html", "expected"),
    [("<div id=root></div><script src=a.js></script>", True),
     ("<app-root><noscript>x</noscript></app-root><script type=module src=a.js></script>", True),
     ("<div>Loading</div><noscript>Please enable JavaScript to run this app.</noscript><script src=a.js></script>", True),
     ("<script src=a.js></script><script src=b.js></script><script src=c.js></script>", True),
     ("<p>A short page, without scripts.</p>", False),
     ("<p>A short page of a small shop, with opening hours: Monday to Friday.</p><script src=count.js></script>", False),
     ("<div id=root><p>Rendered on the server.</p></div><script src=a.js></script>", False),
     (f"<div id=root></div><p>{'word ' * 90}</p><script src=a.js></script>", False)],
)  # fmt: skip
def test_pages_that_are_empty_without_javascript(html: str, expected: bool) -> None:
    assert facts_of(f"<html><body>{html}</body></html>", "https://example.com/").needs_javascript is expected
