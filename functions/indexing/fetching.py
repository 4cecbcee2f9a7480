"""Fetching over HTTP: guarded, polite, bounded in size and time, conditional where a page was seen before."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urljoin, urlsplit

from functions.indexing import robots
from functions.indexing.addresses import without_fragment
from functions.indexing.pace import AT_ONCE, Clock, Pace
from functions.indexing.pages import Visit
from shared.errors import SourceError
from shared.records import Record
from shared.settings import WebSource

if TYPE_CHECKING:
    import httpx2

    from functions.indexing.guard import Resolve

MAX_BYTES = 10 * 2**20  # a page of 10 MiB is a data dump; it would stall the run
MAX_REDIRECTS = 5  # http to https, to www, to a language, to the new name, and one more
TOTAL_SECONDS = 60  # for one answer, so that a server that drips bytes does not hold the run
TIMEOUTS = {
    "connect": 10.0,
    "read": 20.0,
    "write": 10.0,
    "pool": 60.0,
}  # slow shops answer within some seconds
ATTEMPTS = 4  # with waits of 1, 2 and 4 s: a restart of a server, not an outage
MAX_HOLD = 120  # seconds of Retry-After that are waited for; who asks for more is not read now
REDIRECTS = {301, 302, 303, 307, 308}
PASSING = {429, 502, 503, 504}  # statuses that a later attempt may cure
ENCODINGS = {"", "identity", "gzip", "x-gzip", "deflate"}


class FetchFailed(SourceError):
    """An address gave no usable answer. `passing`: it may the next time; `wait`: seconds the server asked for."""

    def __init__(self, message: str, *, passing: bool = False, wait: float = 0) -> None:
        super().__init__(message)
        self.passing = passing
        self.wait = wait


class Disallowed(SourceError):
    """The site's robots.txt disallows the address."""


class RobotsUnreachable(SourceError):
    """It is not known what may be read, because robots.txt cannot be."""


class Reply(Record):
    """The answer to a request, after redirects. The body is there for status 200 only."""

    url: str  # where it came from
    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes = b""

    @property
    def content_type(self) -> str:
        """The media type in lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str:
        """The charset that the header names, empty without."""
        for parameter in self.headers.get("content-type", "").split(";")[1:]:
            name, _, value = parameter.partition("=")
            if name.strip().lower() == "charset":
                return value.strip(" \"'").lower()
        return ""

    def visit(self, page_id: str, links: tuple[str, ...] = ()) -> Visit:
        """What the next run has to know: which page it was, and what makes its request conditional."""
        return Visit(
            page_id=page_id,
            etag=self.headers.get("etag", ""),
            last_modified=self.headers.get("last-modified", ""),
            links=links,
        )


class Wish(Record):
    """How an address is to be fetched."""

    limit: int = MAX_BYTES
    cut: bool = False  # what is larger is cut off, instead of an error
    conditional: bool = False  # 304 where it is as it was at the last visit
    obeys: bool = True  # robots.txt, as far as the source does
    types: frozenset[str] = frozenset()  # the body of other media types is not read; empty: of all it is


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
                    return await _read(response, address, wish)
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


async def _read(response: httpx2.Response, address: str, wish: Wish) -> Reply:
    """The reply with its body; what is larger than the limit, also once it is decompressed, is not read on."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    status = response.status_code
    if status in PASSING:
        wait = _seconds(headers.get("retry-after", ""))
        raise FetchFailed(
            f"{address} answers {status}" + (f" and asks to come back in {wait:.0f} s" if wait else ""),
            passing=wait <= MAX_HOLD,
            wait=wait if wait <= MAX_HOLD else 0,
        )
    reply = Reply(url=address, status=status, headers=headers)
    if status != 200 or (wish.types and reply.content_type not in wish.types):
        return reply
    encodings = {e.strip().lower() for e in headers.get("content-encoding", "").split(",")}
    if not encodings <= ENCODINGS:
        raise FetchFailed(f"{address} answers in an encoding that was not asked for: {', '.join(encodings)}")
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > wish.limit:
            if wish.cut:
                break
            raise FetchFailed(f"{address} is larger than {wish.limit // 2**20} MiB")
    return reply.model_copy(update={"body": bytes(body[: wish.limit])})


def _seconds(retry_after: str) -> float:
    """The wait that a server asks for, in seconds or as a date; 0 where it asks for none."""
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass  # not a number: a date, or nothing
    try:
        at = parsedate_to_datetime(retry_after)
    except ValueError:
        return 0
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
