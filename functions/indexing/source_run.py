"""One run over one source: what changed goes into the pipeline, what vanished is removed, all is counted."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from functions.indexing.chunking import chunk_page
from functions.indexing.pages import Incomplete, Skipped, Unchanged, Visits
from functions.indexing.pipeline import Pipeline
from functions.indexing.report import Quarantined, SourceReport
from functions.indexing.rows import Known, PageChunks
from functions.indexing.sources import Found, pages_of
from shared.errors import SourceError
from shared.records import Page
from shared.settings import Settings, Source

MOST_GONE = 0.3  # share of a source's pages that may vanish at once; more looks like an outage of the source
Progress = Callable[[str, int], None]  # name of the source, pages done


@dataclass
class SourceRun:
    """`known` is what the live table holds of the source, `done` the pages whose rows are right already.

    `estimate` takes the place of the pipeline in a dry run.
    """

    source: Source
    settings: Settings
    known: dict[str, Known]
    done: dict[str, str]
    page_hash: Callable[[Page], str]
    pipeline: Pipeline | None
    batch_chunks: int
    counts: Counter[str]
    visits: Visits = field(default_factory=Visits)
    confirmed: bool = False
    estimate: Callable[[PageChunks], None] = lambda entry: None
    skipped: list[Skipped] = field(default_factory=list)
    quarantined: list[Quarantined] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)  # pages whose rows stay although they were not read
    dropped: set[str] = field(default_factory=set)  # pages that say themselves that they are none any more
    gone: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)  # pages that the source still has
    incomplete: str | None = None
    _batch: list[PageChunks] = field(default_factory=list)

    async def run(self, progress: Progress) -> SourceReport:
        """Read the source to its end; a source that breaks off removes nothing."""
        error = None
        try:
            async for found in pages_of(self.source, self.settings, self.visits):
                await self._take(found)
                progress(self.source.name, self.counts["pages_seen"])
            await self._flush()
            await self._written()
            self._vanished(self.known.keys() - self.seen if not self.incomplete else self.dropped)
        except SourceError as failure:
            error = str(failure)
            await self._written(failed=True)
        if error or self.incomplete:
            self.kept |= self.known.keys() - self.seen - set(self.gone)
        return SourceReport(
            source=self.source.name, **self.counts, pages_skipped=tuple(self.skipped), quarantined=tuple(self.quarantined), error=error,
            incomplete=self.incomplete,
        )  # fmt: skip

    async def _written(self, *, failed: bool = False) -> None:
        """Wait for what is on its way; where the source `failed` already, a second complaint adds nothing."""
        try:
            if self.pipeline:
                await self.pipeline.finish()
        except SourceError:
            if not failed:
                raise

    async def _take(self, found: Found) -> None:
        if isinstance(found, Incomplete):
            self.incomplete = "; ".join(filter(None, (self.incomplete, found.reason)))
            return
        self.counts["pages_seen"] += 1
        if isinstance(found, Page):
            self.seen.add(found.id)
            if found.quarantined:
                self.quarantined.append(Quarantined(id=found.id, quotes=found.quarantined))
            await self._page(found)
        elif isinstance(found, Unchanged):
            self.seen.add(found.id)
            self.kept.add(found.id)
            self.counts["pages_unchanged"] += 1
        else:
            self._failed(found)

    def _failed(self, page: Skipped) -> None:
        self.skipped.append(page)
        if page.failed:  # it keeps its rows; drafts and empty pages lose theirs
            self.seen.add(page.id)
            self.kept.add(page.id)
        else:
            self.dropped.add(page.id)

    async def _page(self, page: Page) -> None:
        page_hash = self.page_hash(page)
        if self.done.get(page.id) == page_hash:
            self.counts["pages_unchanged"] += 1
            return
        before = self.known.get(page.id, Known())
        sizes = self.settings.indexing
        languages = self.settings.site.languages
        try:
            chunks = tuple(chunk_page(page, sizes.chunk_words, sizes.overlap_words, languages))
        except Exception as error:
            logging.getLogger("portavoz").exception("%s cannot be cut into chunks", page.id)
            self._failed(
                Skipped(id=page.id, reason=f"it cannot be cut into chunks: {error!r:.200}", failed=True)
            )
            return
        if not chunks and not before.chunks:  # link definitions only, for instance
            self.skipped.append(Skipped(id=page.id, reason="the page has no text"))
            return
        ids = {chunk.id for chunk in chunks}
        self.counts["pages_changed"] += 1
        self.counts["chunks_added"] += len(ids - before.chunks)
        self.counts["chunks_kept"] += len(ids & before.chunks)
        self.counts["chunks_removed"] += len(before.chunks - ids)
        entry = PageChunks(page=page, page_hash=page_hash, chunks=chunks)
        if self.pipeline is None:
            self.estimate(entry)
            return
        self._batch.append(entry)
        if sum(len(entry.chunks) for entry in self._batch) >= self.batch_chunks:
            await self._flush()

    async def _flush(self) -> None:
        batch, self._batch = self._batch, []
        if batch and self.pipeline:
            await self.pipeline.put(batch)

    def _vanished(self, pages: Iterable[str]) -> None:
        """The pages that vanished go, unless so many vanished that the source is likelier broken."""
        gone = sorted(self.known.keys() & set(pages))
        many = len(gone) > MOST_GONE * len(self.known) and (len(gone) > 1 or not self.seen)
        if many and not self.confirmed:
            self.counts["removal_withheld"] = len(gone)
            self.kept |= set(gone)
            return
        self.gone = gone
        self.counts["pages_removed"] = len(gone)
        self.counts["chunks_removed"] += sum(len(self.known[page].chunks) for page in gone)
