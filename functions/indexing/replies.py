"""An answer over HTTP: what of it is read, and when it is none."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from functions.indexing.pages import Visit
from shared.errors import SourceError
from shared.records import Record

if TYPE_CHECKING:
    import httpx2

MAX_BYTES = 10 * 2**20  # a page of 10 MiB is a data dump; it would stall the run
MAX_HOLD = 120  # seconds of Retry-After that are waited for; who asks for more is not read now
PASSING = {429, 502, 503, 504}  # statuses that a later attempt may cure
ENCODINGS = {"", "identity", "gzip", "x-gzip", "deflate"}


class FetchFailed(SourceError):
    """An address gave no usable answer. `passing`: it may the next time; `wait`: seconds the server asked for."""

    def __init__(self, message: str, *, passing: bool = False, wait: float = 0) -> None:
        super().__init__(message)
        self.passing = passing
        self.wait = wait


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


async def read_reply(response: httpx2.Response, address: str, wish: Wish) -> Reply:
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
