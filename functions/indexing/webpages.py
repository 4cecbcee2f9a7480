"""A fetched page to what is indexed of it: `Page`, or what became of it, and its visit for the next run."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlsplit

from functions.indexing.addresses import normal, path_of, site_of
from functions.indexing.fetching import Disallowed, Fetcher
from functions.indexing.html_facts import PageFacts, facts_of, looks_missing
from functions.indexing.media import HTML, READERS, robots_tag, text_of
from functions.indexing.pages import Document, Origin, Skipped, Unchanged, Visit, Visits, to_page
from functions.indexing.replies import FetchFailed, Reply, Wish
from shared.errors import SourceError
from shared.records import GENERAL, Page, Record
from shared.settings import Settings, WebSource

GONE = {404, 410}
NEEDS_JAVASCRIPT = (
    "the page is empty without JavaScript, which is not run: let the site render on its server (SSR, prerendering),"
    " or index what it shows from its files or its database with a folder or sql source"
)


PAGE = Wish(conditional=True, types=frozenset(READERS))
MISSING = Wish(types=frozenset(HTML))


class Outcome(Record):
    """What became of one address."""

    address: str  # as it was asked for
    found: Page | Skipped | Unchanged
    url: str = ""  # where it was found, after redirects
    links: tuple[str, ...] = ()
    visit: Visit | None = None
    passing: bool = False  # it failed in a way that says nothing of the page, and its links are not known


@dataclass
class Reader:
    """Reads the pages of one source in one run: `read` may run ahead, `settle` goes in order."""

    source: WebSource
    settings: Settings
    visits: Visits
    fetcher: Fetcher
    keeps_links: bool = False  # a crawl goes on from them when the page is unchanged
    _done: dict[str, str] = field(default_factory=dict)  # page id to the address that it was found at
    _later: list[Outcome] = field(default_factory=list)
    _missing: list[PageFacts] | None = None
    _asking_missing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def read(self, address: str) -> Outcome:
        """Fetch an address and find out what it is. No failure of one page is an error of the source."""
        try:
            reply = await self.fetcher.get(address, PAGE)
            return await self._outcome(address, reply)
        except Disallowed as error:
            return self.skipped(address, str(error))
        except SourceError as error:
            return self.failed(address, str(error), passing=isinstance(error, FetchFailed) and error.passing)

    def settle(self, outcome: Outcome) -> Page | Skipped | Unchanged | None:
        """What is to be yielded: each page once. Keeps the visit for the next run.

        A page that names another address as its canonical one waits for `rest`: what stands there comes first.
        """
        found = outcome.found
        if isinstance(found, Skipped):
            if found.failed:
                self.visits.now |= self._known.get(found.id, {})
            return found
        if found.id in self._done:
            return self._duplicate(outcome, self._done[found.id])
        if found.id != self.id_of(outcome.url):
            self._later.append(outcome)
            return None
        return self._keep(outcome)

    def rest(self) -> Iterator[Page | Skipped | Unchanged]:
        """After all pages: those whose canonical address was not among them."""
        for outcome in self._later:
            before = self._done.get(outcome.found.id)
            item = self._keep(outcome) if before is None else self._duplicate(outcome, before)
            if item is not None:
                yield item

    def _keep(self, outcome: Outcome) -> Page | Skipped | Unchanged:
        self._done[outcome.found.id] = outcome.url
        if outcome.visit is not None:
            self.visits.now[outcome.url] = outcome.visit
            if outcome.address != outcome.url:  # whose page it is, should it fail the next time
                alias = {"etag": "", "last_modified": "", "links": ()}
                self.visits.now[outcome.address] = outcome.visit.model_copy(update=alias)
        return outcome.found

    @cached_property
    def _known(self) -> dict[str, dict[str, Visit]]:
        """The visits of the last run by page: where it was found, and the addresses that redirect there."""
        known: dict[str, dict[str, Visit]] = {}
        for address, visit in self.visits.before.items():
            known.setdefault(visit.page_id, {})[address] = visit
        return known

    def skipped(self, address: str, reason: str) -> Outcome:
        """The page is not for readers, or gone."""
        return Outcome(address=address, found=Skipped(id=self.id_of(address), reason=reason))

    def failed(self, address: str, reason: str, *, passing: bool = False) -> Outcome:
        """The page could not be read: it keeps its rows, and what was known of it."""
        before = self.visits.before.get(address)
        return Outcome(
            address=address,
            url=address,
            found=Skipped(
                id=before.page_id if before else self.id_of(address), reason=reason, failed=True
            ),
            links=before.links if before else (),
            passing=passing and before is None,
        )  # fmt: skip

    def id_of(self, address: str) -> str:
        """The id of the page at an address."""
        return f"{self.source.name}/{normal(address) or address}"

    def page(self, document: Document, url: str, page_id: str) -> Page | Skipped:
        """A document with the settings of the source."""
        path = path_of(url)
        origin = Origin(
            id=page_id,
            source=self.source.name,
            url=url,
            path=path if path != "/" else urlsplit(url).netloc,
            category=self.source.category,
            product=self.source.product,
            content_type=self.source.content_type,
            language=self.source.language,
        )
        return to_page(
            document,
            origin,
            site_languages=self.settings.site.languages,
            content_types=self.settings.content_types,
            products=[p.id for p in self.settings.products] + [GENERAL],
        )

    def _duplicate(self, outcome: Outcome, before: str) -> Skipped | None:
        """Reported where somebody may wonder; `?sort=price` of a page is nothing to tell."""
        own = outcome.url or outcome.address
        if urlsplit(own).path == urlsplit(before).path or outcome.address != own:
            return None
        return Skipped(id=self.id_of(own), reason=f"the same page as {before}, by its canonical link")

    async def _outcome(self, address: str, reply: Reply) -> Outcome:
        if reply.status == 304:
            return self._unchanged(address, reply)
        if reply.status in GONE:
            return self.skipped(address, f"the page is gone ({reply.status})")
        if reply.status != 200:
            return self.failed(address, f"{reply.url} answers {reply.status}", passing=reply.status >= 500)
        if site_of(reply.url) != site_of(address):
            return self.skipped(address, f"it redirects to another site: {reply.url}")
        if reply.content_type not in READERS:
            return self.skipped(address, f"pages of type {reply.content_type} are not read")
        facts = facts_of(text_of(reply), reply.url) if reply.content_type in HTML else PageFacts()
        told = robots_tag(reply.headers.get("x-robots-tag", ""), self.source.user_agent)
        if told:
            closed = told & {"nofollow", "none"}
            facts = facts.model_copy(
                update={"robots": facts.robots | told, "links": () if closed else facts.links}
            )
        problem = await self._problem(address, reply, facts)
        outcome = problem or self._read(address, reply, facts)
        return outcome.model_copy(update={"links": outcome.links or facts.links})

    def _unchanged(self, address: str, reply: Reply) -> Outcome:
        before = self.visits.before.get(reply.url)
        if before is None:  # 304 without a condition; some caches do
            return self.failed(address, f"{reply.url} answers 304 without having been asked")
        return Outcome(
            address=address,
            url=reply.url,
            found=Unchanged(id=before.page_id),
            links=before.links,
            visit=before,
        )

    async def _problem(self, address: str, reply: Reply, facts: PageFacts) -> Outcome | None:
        """The reason why a page that came with status 200 is none, or is not for readers."""
        if facts.robots & {"noindex", "none"}:
            return self.skipped(address, "the page is noindex")
        if reply.content_type not in HTML:
            return None
        if facts.refresh:
            leads = Outcome(
                address=address, found=self.skipped(address, f"it redirects to {facts.refresh}").found
            )
            return leads.model_copy(update={"links": (facts.refresh, *facts.links)})
        if facts.needs_javascript:
            return self.failed(address, NEEDS_JAVASCRIPT)
        home = {"", "/"}
        for missing in await self._missing_page(reply.url):
            redirected = normal(address) != normal(reply.url) and urlsplit(address).path not in home
            if redirected and facts == missing:
                return self.skipped(address, f"it redirects to {reply.url}, as missing pages of this site do")
            if urlsplit(reply.url).path not in home and looks_missing(facts, missing):
                return self.skipped(address, "the page says that it does not exist, though with status 200")
        return None

    async def _missing_page(self, near: str) -> list[PageFacts]:
        """How the site answers for a page that does not exist; empty where it is by an error status, as it should."""
        async with self._asking_missing:
            if self._missing is None:
                parts = urlsplit(near)
                made_up = f"{parts.scheme}://{parts.netloc}/{uuid.uuid4().hex}"
                try:
                    reply = await self.fetcher.get(made_up, MISSING)
                    is_page = reply.status == 200 and reply.content_type in HTML
                    self._missing = [facts_of(text_of(reply), reply.url)] if is_page else []
                except SourceError:  # an answer as good as any error status; no page depends on it
                    self._missing = []
        return self._missing

    def _read(self, address: str, reply: Reply, facts: PageFacts) -> Outcome:
        url = facts.canonical or reply.url
        page_id = self.id_of(url)
        try:
            document = READERS[reply.content_type](reply)
        except SourceError as error:
            return self.failed(address, str(error))
        found = self.page(document, url, page_id)
        if isinstance(found, Skipped):
            return Outcome(address=address, url=reply.url, found=found)
        links = facts.links if self.keeps_links else ()
        return Outcome(
            address=address, url=reply.url, found=found, links=links, visit=reply.visit(page_id, links)
        )
