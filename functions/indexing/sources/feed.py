"""The entries of an RSS or Atom feed, and those that have left it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from functools import partial
from urllib.parse import urlsplit

from functions.indexing.addresses import wanted, without_fragment
from functions.indexing.feeds import FeedEntry, entry_document, parse_feed
from functions.indexing.fetching import Fetcher
from functions.indexing.pages import Incomplete, Skipped, Unchanged, Visit, Visits
from functions.indexing.politeness import in_order
from functions.indexing.replies import FetchFailed
from functions.indexing.webpages import Outcome, Reader
from shared.errors import SourceError
from shared.records import Page
from shared.settings import FeedSource, Settings

WHOLE_TEXT = 800  # letters, some 130 words: summaries end before, most articles do not


async def pages(
    source: FeedSource, settings: Settings, visits: Visits, fetcher: Fetcher | None = None
) -> AsyncIterator[Page | Skipped | Unchanged | Incomplete]:
    """The feed's entries, then those of earlier runs that it no longer has, until their pages are gone.

    Raises:
        SourceError: the feed cannot be read, or it is not known what robots.txt allows.
    """
    async with fetcher or Fetcher(source, visits.before) as fetcher:
        reply = await fetcher.get(source.url)
        if reply.status != 200:
            raise FetchFailed(f"the feed {source.url} answers {reply.status}")
        reader = Reader(source, settings, visits, fetcher)
        entries = [
            entry
            for entry in parse_feed(reply.body, reply.url, reply.headers)
            if not entry.url or wanted(entry.url, source.include, source.exclude)
        ]
        if len(entries) > source.max_pages:
            yield Incomplete(
                reason=f"the feed has {len(entries)} entries; {source.max_pages} (max_pages) are read"
            )
            entries = entries[: source.max_pages]
        async for outcome in in_order(partial(_entry, source, reader), entries):
            if (found := reader.settle(outcome)) is not None:
                yield found
        left = _left_the_feed(visits, {entry.key for entry in entries})
        async for outcome in in_order(partial(_left, source, reader), left):
            if (found := reader.settle(outcome)) is not None:
                yield found
        for found in reader.rest():
            yield found


async def _entry(source: FeedSource, reader: Reader, entry: FeedEntry) -> Outcome:
    """An entry from its own text, or from its page, as the source says or as its length asks for."""
    own: Outcome | None = None
    if source.full_text != "page" or not entry.url:
        own = _own_text(reader, entry)
        whole = isinstance(own.found, Page) and len(re.findall(r"\w", own.found.text)) >= WHOLE_TEXT
        if whole or source.full_text == "feed" or not entry.url:
            return own
    outcome = await reader.read(entry.key)
    found = outcome.found
    failed = isinstance(found, Skipped) and found.failed
    # an entry that was read before keeps its rows, which may be of the whole page
    if failed and own is not None and isinstance(own.found, Page) and entry.key not in reader.visits.before:
        return own
    if isinstance(found, Page):
        found = found.model_copy(
            update={
                "published_at": found.published_at or _own_date(reader, entry),
                "title": found.title or entry.title,
            }
        )
    return outcome.model_copy(update={"found": found})


def _own_text(reader: Reader, entry: FeedEntry) -> Outcome:
    url = without_fragment(entry.url)
    page_id = f"{reader.source.name}/{entry.key}"
    found: Page | Skipped
    try:
        found = reader.page(entry_document(entry), url, page_id)
    except SourceError as error:
        found = Skipped(id=page_id, reason=str(error))
    visit = Visit(page_id=page_id) if isinstance(found, Page) else None
    return Outcome(address=entry.key, url=entry.key, found=found, visit=visit)


def _own_date(reader: Reader, entry: FeedEntry) -> object:
    outcome = _own_text(reader, entry)
    return outcome.found.published_at if isinstance(outcome.found, Page) else None


def _left_the_feed(visits: Visits, keys: set[str]) -> list[str]:
    """One address for each page of earlier runs that is not in the feed: the one that can be asked for changes."""
    done = {visit.page_id for visit in visits.now.values()}
    done |= {visit.page_id for address, visit in visits.before.items() if address in keys}
    conditional_last = sorted(
        visits.before.items(), key=lambda item: bool(item[1].etag or item[1].last_modified)
    )
    by_page = {visit.page_id: address for address, visit in conditional_last if visit.page_id not in done}
    return list(by_page.values())


async def _left(source: FeedSource, reader: Reader, address: str) -> Outcome:
    """An entry that the feed no longer has: it stays as it is until its page is gone."""
    before = reader.visits.before[address]
    stays = Outcome(address=address, url=address, found=Unchanged(id=before.page_id), visit=before)
    if not urlsplit(address).netloc or not wanted(address, source.include, source.exclude):
        return stays if not urlsplit(address).netloc else reader.skipped(address, "the source excludes it")
    outcome = await reader.read(address)
    found = outcome.found
    if isinstance(found, Skipped) and not found.failed:
        return outcome
    if isinstance(found, Page) and source.full_text == "page":
        return outcome
    if outcome.visit is None:
        return stays
    # its rows are of the feed's text, which nothing but the feed can change; the next request is conditional
    return stays.model_copy(update={"visit": outcome.visit.model_copy(update={"page_id": before.page_id})})
