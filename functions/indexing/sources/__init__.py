"""Where pages come from: one module a kind, all yield `Page`, or say what became of a page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import assert_never

from functions.indexing.pages import Incomplete, Skipped, Unchanged, Visits
from shared.records import Page
from shared.settings import CrawlSource, FeedSource, FolderSource, Settings, SitemapSource, Source, SqlSource

Found = Page | Skipped | Unchanged | Incomplete


def pages_of(source: Source, settings: Settings, visits: Visits) -> AsyncIterator[Found]:
    """The pages of a source. What it fetches with cost is imported only where a source of that kind is read.

    Raises:
        SourceError: while iterating, the source cannot be read at all.
    """
    if isinstance(source, FolderSource):
        from functions.indexing.sources import folder

        return folder.pages(source, settings)
    if isinstance(source, SqlSource):
        from functions.indexing.sources import sql

        return sql.pages(source, settings, visits)
    if isinstance(source, SitemapSource):
        from functions.indexing.sources import sitemap

        return sitemap.pages(source, settings, visits)
    if isinstance(source, CrawlSource):
        from functions.indexing.sources import crawl

        return crawl.pages(source, settings, visits)
    if isinstance(source, FeedSource):
        from functions.indexing.sources import feed

        return feed.pages(source, settings, visits)
    assert_never(source)


def check(source: Source, *, elsewhere: bool = False) -> None:
    """Refuse what the settings' own types cannot tell; `elsewhere`: the run's environment variables are not those here.

    Raises:
        SettingsError: a query is anything but one SELECT, or a database has no URL.
    """
    if isinstance(source, SqlSource):
        from functions.indexing.sources import sql

        sql.check(source, elsewhere=elsewhere)
