"""Fetching over HTTP: guarded, polite, bounded in size and time, conditional where a page was seen before."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urljoin, urlsplit

from functions.indexing import robots
from functions.indexing.addresses import without_fragment
from functions.indexing.pages import Visit
from functions.indexing.politeness import AT_ONCE, Clock, Pace
from functions.indexing.replies import FetchFailed, Reply, Wish, read_reply
from shared.errors import SourceError
from shared.settings import WebSource

if TYPE_CHECKING:
    from functions.indexing.guard import Resolve

MAX_REDIRECTS = 5  # http to https, to www, to a language, to the new name, and one more
TOTAL_SECONDS = 60  # for one answer, so that a server that drips bytes does not hold the run
TIMEOUTS = {
    "connect": 10.0,
    "read": 20.0,
    "write": 10.0,
    "pool": 60.0,
}  # slow shops answer within some seconds
ATTEMPTS = 4  # with waits of 1, 2 and 4 s: a restart of a server, not an outage
REDIRECTS = {301, 302, 303, 307, 308}


class Disallowed(SourceError):
    """The site's robots.txt disallows the address."""


class RobotsUnreachable(SourceError):
    """It is not known what may be read, because robots.txt cannot be."""


WHOLE = Wish()
ROBOTS = Wish(limit=robots.MAX_BYTES, cut=True, obeys=False)


class Fetcher:
    """All requests of one source in one run."""

    def __init__(
        self,
        source: WebSource,
        visits: Mapping[str, Visit] | None = None,
        *,
        resolve: Resolve | None = None,
        clock: Clock | None = None,
    ) -> None:
        from functions.indexing import guard

        self._source = source
        self._visits = visits or {}
        self._backend = guard.GuardedBackend(source.allow_hosts, resolve or guard.resolve)
        self._transport = guard.GuardedTransport(self._backend)
        self._pace = Pace(1 / source.requests_per_second, clock or Clock())
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._rules: dict[str, robots.Rules | RobotsUnreachable] = {}
        self._reading_rules = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.aclose()

    async def get(self, address: str, wish: Wish = WHOLE) -> Reply:
        """The answer at an address after redirects, of any status that no retry cures.

        Raises:
            FetchFailed: no answer, too large, too slow, too many redirects, or 429 and 5xx to the end.
            AddressRefused: the host, or one redirected to, is not public.
            Disallowed, RobotsUnreachable: robots.txt does not let it be fetched.
        """
        return await self._follow(address, wish)

    async def rules(self, address: str) -> robots.Rules:
        """What the robots.txt of the address's host says, read once a run. Without one, everything is allowed.

        Raises:
            RobotsUnreachable: the server fails (5xx) or does not answer.
        """
        parts = urlsplit(address)
        origin = f"{parts.scheme}://{parts.netloc}"
        async with self._reading_rules:
            if origin not in self._rules:
                try:
                    self._rules[origin] = await self._read_rules(f"{origin}/robots.txt")
                except RobotsUnreachable as error:
                    self._rules[origin] = error
        known = self._rules[origin]
        if isinstance(known, RobotsUnreachable):
            raise RobotsUnreachable(str(known))
        return known

    async def _read_rules(self, address: str) -> robots.Rules:
        try:
            reply = await self._follow(address, ROBOTS)
        except FetchFailed as error:
            raise RobotsUnreachable(f"it is not known what may be read: {error}") from error
        if reply.status >= 500:
            raise RobotsUnreachable(f"it is not known what may be read: {address} answers {reply.status}")
        rules = (
            robots.parse_robots(reply.body, self._source.user_agent)
            if reply.status == 200
            else robots.Rules()
        )
        self._pace.slow_to(rules.delay)
        return rules

    async def _follow(self, address: str, wish: Wish) -> Reply:
        address = without_fragment(address)
        obeys = wish.obeys and self._source.respect_robots
        for _ in range(MAX_REDIRECTS + 1):
            _check(address)
            if obeys and not (await self.rules(address)).allow(address):
                raise Disallowed(f"the site's robots.txt disallows {address}")
            reply = await self._persist(address, wish)
            if reply.status not in REDIRECTS or not reply.headers.get("location"):
                return reply
            try:
                address = without_fragment(urljoin(address, reply.headers["location"].strip()))
            except ValueError as error:
                raise FetchFailed(f"{address} redirects to what is no address: {error}") from error
        raise FetchFailed(f"more than {MAX_REDIRECTS} redirects; the last one leads to {address}")

    async def _persist(self, address: str, wish: Wish) -> Reply:
        """One hop, tried again where that may help."""
        import stamina

        async for attempt in stamina.retry_context(
            on=lambda error: isinstance(error, FetchFailed) and error.passing,
            attempts=ATTEMPTS,
            timeout=None,  # attempts and waits are bounded
            wait_initial=1,
            wait_jitter=0.5,
            wait_max=8,
        ):
            with attempt:
                async with self._slots:
                    await self._pace.turn()
                    try:
                        return await self._once(address, wish)
                    except FetchFailed as error:
                        self._pace.hold(error.wait)
                        raise
        raise AssertionError("the last attempt returns or raises")

    async def _once(self, address: str, wish: Wish) -> Reply:
        import httpcore2
        import httpx2

        failures = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, TimeoutError)
        visit = self._visits.get(address) if wish.conditional else None
        try:
            request = httpx2.Request(
                "GET", address, headers=self._headers(visit), extensions={"timeout": TIMEOUTS}
            )
            async with asyncio.timeout(TOTAL_SECONDS):
                response = await self._transport.handle_async_request(request)
                try:
                    return await read_reply(response, address, wish)
                finally:
                    await response.aclose()
        except failures as error:
            raise FetchFailed(
                f"{address} does not answer: {str(error) or type(error).__name__}", passing=True
            ) from error
        except (httpx2.InvalidURL, httpx2.HTTPError, zlib.error, ValueError) as error:
            raise FetchFailed(f"{address} cannot be read: {error}") from error

    def _headers(self, visit: Visit | None) -> dict[str, str]:
        headers = {
            "User-Agent": self._source.user_agent,
            "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "Accept-Encoding": "gzip, deflate",
        }
        if visit and visit.etag:
            headers["If-None-Match"] = visit.etag
        if visit and visit.last_modified:
            headers["If-Modified-Since"] = visit.last_modified
        return headers


def _check(address: str) -> None:
    try:
        parts = urlsplit(address)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # brackets that are no IPv6 address, a port that is no number
        usable = False
    if not usable:
        raise FetchFailed(f"{address!r} is no http(s) address")
    if "@" in parts.netloc:
        raise FetchFailed(f"the address at {parts.hostname} carries a user name or password")
