"""The pages that a site's sitemaps list."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from functions.indexing.addresses import normal, site_of, wanted
from functions.indexing.fetching import Fetcher, RobotsUnreachable
from functions.indexing.media import HTML
from functions.indexing.pages import Incomplete, Skipped, Unchanged, Visits
from functions.indexing.politeness import in_order
from functions.indexing.replies import FetchFailed, Wish
from functions.indexing.sitemaps import MAX_BYTES, Entry, Sitemap, parse_sitemap
from functions.indexing.webpages import Reader
from shared.errors import SourceError
from shared.records import Page
from shared.settings import Settings, SitemapSource

LIST = Wish(limit=MAX_BYTES, obeys=False)  # a sitemap is offered to robots, also below a path closed to them
GUESSES = ("/sitemap.xml", "/sitemap_index.xml", "/wp-sitemap.xml")  # where generators and WordPress put it
MAX_FILES = 500  # sitemaps of one source: 500 of 50,000 pages are more than any table here holds
MAX_NESTING = 3  # indexes in indexes; the protocol allows none, shops have two


async def pages(
    source: SitemapSource, settings: Settings, visits: Visits, fetcher: Fetcher | None = None
) -> AsyncIterator[Page | Skipped | Unchanged | Incomplete]:
    """All pages that the sitemaps list. Their dates are no reason to leave a page out: many sites have them wrong.

    Raises:
        SourceError: no sitemap can be read, or it is not known what robots.txt allows.
    """
    async with fetcher or Fetcher(source, visits.before) as fetcher:
        listing = await _list(source, fetcher)
        reader = Reader(source, settings, visits, fetcher)
        for problem in listing.problems:
            yield Incomplete(reason=problem)
        entries = listing.entries(source)
        if listing.elsewhere:
            reason = f"{len(listing.elsewhere)} addresses of other sites are left out, such as {listing.elsewhere[0]}"
            yield Skipped(id=reader.id_of(source.url) + "#elsewhere", reason=reason)
        if len(entries) > source.max_pages:
            yield Incomplete(
                reason=f"the sitemaps list {len(entries)} pages; the newest {source.max_pages} (max_pages) are read"
            )
            entries = sorted(entries, key=lambda entry: entry.modified, reverse=True)[: source.max_pages]
        async for outcome in in_order(reader.read, [entry.url for entry in entries]):
            if (found := reader.settle(outcome)) is not None:
                yield found
        for found in reader.rest():
            yield found


@dataclass
class Listing:
    """What the sitemaps of a source list."""

    site: set[str]  # hosts whose pages belong to the source
    found: dict[str, Entry] = field(default_factory=dict)
    elsewhere: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(self, sitemap: Sitemap, address: str) -> None:
        """Take over the entries of one file."""
        if sitemap.damaged:
            self.problems.append(
                f"the sitemap {address} is damaged; what it does not list is not taken as gone"
            )
        for entry in sitemap.entries:
            if site_of(entry.url) in self.site:
                self.found.setdefault(entry.url, entry)
            else:
                self.elsewhere.append(entry.url)

    def entries(self, source: SitemapSource) -> list[Entry]:
        """The pages that the source wants, in the order of the sitemaps."""
        return [e for e in self.found.values() if wanted(e.url, source.include, source.exclude)]


async def _list(source: SitemapSource, fetcher: Fetcher) -> Listing:
    """Read all sitemaps. The first level must be readable; a file below that is not leaves the listing incomplete."""
    if source.respect_robots:
        await fetcher.rules(source.url)  # fails now, rather than at each page
    listing = Listing(site={site_of(source.url)})
    waiting = [(address, sitemap, 0) for address, sitemap in await _first(source, fetcher, listing)]
    seen = {address for address, *_ in waiting}
    while waiting:
        address, sitemap, depth = waiting.pop(0)
        if sitemap is None:
            try:
                sitemap = await _fetch(address, fetcher)
            except SourceError as error:
                listing.problems.append(f"a sitemap cannot be read: {error}")
                continue
        listing.add(sitemap, address)
        new = [child for child in sitemap.children if child not in seen]
        if new and (depth >= MAX_NESTING or len(seen) + len(new) > MAX_FILES):
            listing.problems.append(
                f"{address} leads to more sitemaps than are read ({MAX_FILES} files, {MAX_NESTING} levels)"
            )
            new = []
        seen.update(new)
        waiting += [(child, None, depth + 1) for child in new]
    return listing


async def _first(
    source: SitemapSource, fetcher: Fetcher, listing: Listing
) -> list[tuple[str, Sitemap | None]]:
    """The sitemaps to begin with: the address itself, or what the site's robots.txt names, or the usual places.

    Raises:
        SourceError: none of them can be read.
    """
    if urlsplit(source.url).path not in {"", "/"}:
        reply = await fetcher.get(source.url, LIST)
        if reply.status != 200:
            raise FetchFailed(f"the sitemap {source.url} answers {reply.status}")
        if reply.content_type not in HTML or not reply.body.lstrip()[:15].lower().startswith(
            (b"<!doctype html", b"<html")
        ):
            listing.site.add(site_of(reply.url))
            return [(source.url, parse_sitemap(reply.body, reply.url))]
    named: list[str] = []
    try:
        named = [normal(s, source.url) for s in (await fetcher.rules(source.url)).sitemaps]
    except RobotsUnreachable:
        if source.respect_robots:
            raise
    failures: list[str] = []
    sitemaps: list[tuple[str, Sitemap | None]] = []
    for address in filter(None, named or [urljoin(source.url, guess) for guess in GUESSES]):
        try:
            sitemaps.append((address, await _fetch(address, fetcher)))
        except SourceError as error:
            failures.append(str(error))
        if sitemaps and not named:
            break
    if not sitemaps:
        raise SourceError(f"{source.url} has no sitemap that can be read: {'; '.join(failures)}")
    if named:
        listing.problems += [f"a sitemap cannot be read: {failure}" for failure in failures]
    return sitemaps


async def _fetch(address: str, fetcher: Fetcher) -> Sitemap:
    reply = await fetcher.get(address, LIST)
    if reply.status != 200:
        raise FetchFailed(f"the sitemap {address} answers {reply.status}")
    return parse_sitemap(reply.body, reply.url)
