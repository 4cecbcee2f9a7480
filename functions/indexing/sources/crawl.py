"""The pages that links lead to, from a start page on, breadth first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlsplit

from functions.indexing.addresses import normal, site_of, wanted
from functions.indexing.fetching import Fetcher
from functions.indexing.pages import Incomplete, Skipped, Unchanged, Visits
from functions.indexing.politeness import in_order
from functions.indexing.webpages import Reader
from shared.errors import SourceError
from shared.records import Page
from shared.settings import CrawlSource, Settings

MAX_FOLDERS = 15  # in a path; documentation trees have up to 8, relative links that pile up have no end
MAX_REPEATED = 3  # times that one folder may stand in a path: /a/b/a/b/a/b comes from wrong relative links
MAX_PARAMETERS = 4  # in an address; more are the filters of a shop, whose combinations have no end
YEARS_BACK, YEARS_AHEAD = 40, 2  # a calendar leads further, a page about a year does not stand in such a path
_YEAR = re.compile(r"(?:^|[/=-])(\d{4})(?:[-/](?:0?[1-9]|1[0-2])\b|$)")
_CALENDAR = re.compile(r"calend|event|agenda|termin|kalender|month|date|week", re.IGNORECASE)


async def pages(
    source: CrawlSource, settings: Settings, visits: Visits, fetcher: Fetcher | None = None
) -> AsyncIterator[Page | Skipped | Unchanged | Incomplete]:
    """All pages reached from the start within `max_depth` clicks, nearest first.

    Raises:
        SourceError: the start page cannot be read, or it is not known what robots.txt allows.
    """
    async with fetcher or Fetcher(source, visits.before) as fetcher:
        if source.respect_robots:
            await fetcher.rules(source.url)  # fails now, rather than at each page
        reader = Reader(source, settings, visits, fetcher, keeps_links=True)
        start = await reader.read(normal(source.url) or source.url)
        if isinstance(start.found, Skipped) and not start.links:
            raise SourceError(f"the start page {source.url} cannot be read: {start.found.reason}")
        frontier = Frontier(source, {site_of(source.url), site_of(start.url or source.url)})
        frontier.seen |= {start.address, normal(start.url)}
        is_page = wanted(start.address, source.include, source.exclude)
        if is_page and (found := reader.settle(start)) is not None:
            yield found
        addresses = frontier.new(start.links)
        lost = 0
        for _ in range(source.max_depth):
            links: list[str] = []
            async for outcome in in_order(reader.read, frontier.within(addresses)):
                links += outcome.links
                frontier.seen.add(normal(outcome.url))
                lost += outcome.passing
                if (found := reader.settle(outcome)) is not None:
                    yield found
            addresses = frontier.new(links)
        for found in reader.rest():
            yield found
        for reason in frontier.limits(lost):
            yield Incomplete(reason=reason)
        if frontier.traps:
            example = frontier.traps.most_common(1)[0][0]
            reason = (
                f"{frontier.traps.total()} addresses look endless and are not followed, such as {example}"
            )
            yield Skipped(id=reader.id_of(source.url) + "#endless", reason=reason)


@dataclass
class Frontier:
    """Which addresses were met, and which of them are still to be read."""

    source: CrawlSource
    sites: set[str]
    seen: set[str] = field(default_factory=set)
    traps: Counter[str] = field(default_factory=Counter)
    read: int = 1
    left: int = 0  # addresses beyond max_pages

    def new(self, links: Iterable[str]) -> list[str]:
        """The links that lead to pages of the source which were not met before."""
        found = []
        for link in links:
            if link in self.seen:
                continue
            self.seen.add(link)
            if site_of(link) not in self.sites or not wanted(link, self.source.include, self.source.exclude):
                continue
            if is_trap(link, datetime.now(UTC).year):
                self.traps[link] += 1
            else:
                found.append(link)
        return found

    def within(self, addresses: list[str]) -> list[str]:
        """As many of the addresses as `max_pages` leaves room for."""
        room = max(0, self.source.max_pages - self.read)
        self.read += min(room, len(addresses))
        self.left += max(0, len(addresses) - room)
        return addresses[:room]

    def limits(self, lost: int) -> list[str]:
        """Why pages may have been missed."""
        reasons = []
        if self.left:
            reasons.append(
                f"more than {self.source.max_pages} pages (max_pages); at least {self.left} are not read"
            )
        if lost:
            reasons.append(f"{lost} pages do not answer, so that it is not known where they lead")
        return reasons


def is_trap(address: str, year: int) -> bool:
    """Whether an address looks like one of an endless series: calendars, filters, folders that repeat."""
    parts = urlsplit(address)
    folders = [folder for folder in parts.path.split("/") if folder]
    parameters = parse_qsl(parts.query, keep_blank_values=True)
    if len(folders) > MAX_FOLDERS or len(parameters) > MAX_PARAMETERS:
        return True
    if folders and max(Counter(folders).values()) >= MAX_REPEATED:
        return True
    dated = [parts.path, *("=" + value for _, value in parameters)]
    years = [int(found) for text in dated for found in _YEAR.findall(text)]
    far = any(not year - YEARS_BACK <= found <= year + YEARS_AHEAD for found in years)
    return far and bool(_CALENDAR.search(address))
