"""A run over sources: into the live table as it goes, or, in full, beside it with one switch at the end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from functions.indexing.carry import carry
from functions.indexing.chunking import digest
from functions.indexing.enrichment import Enricher
from functions.indexing.estimate import Estimator
from functions.indexing.pipeline import Pipeline
from functions.indexing.report import RunReport, SourceReport, breakdown
from functions.indexing.rows import known_pages, page_hashes
from functions.indexing.source_run import Progress, SourceRun
from functions.indexing.visits import VisitLog, load_visits, save_visits
from shared.cost import Ledger
from shared.embedding import Embedder
from shared.errors import PortavozError
from shared.journal import RUNS, VISITS, Journal
from shared.records import Page
from shared.settings import Settings, Source
from shared.table import KnowledgeTable

PIPELINE = "2"  # raised when the same page and settings give other rows than in the release before
KEEP_RUNS = 30  # named versions to go back to: a month of nightly runs


@dataclass(frozen=True)
class Indexer:
    """Keeps the table equal to the sources. Runs may overlap in several processes."""

    table: KnowledgeTable
    embedder: Embedder
    enricher: Enricher
    settings: Settings

    async def run(
        self,
        sources: Sequence[Source],
        *,
        full: bool = False,
        dry_run: bool = False,
        confirmed: bool = False,
        progress: Progress = lambda source, pages: None,
    ) -> RunReport:
        """Index the sources one after another and report; a source that fails leaves its rows as they are.

        `full` makes every chunk anew, `dry_run` writes nothing and calls no model, `confirmed` lets any
        share of pages vanish.
        """
        began, at = time.perf_counter(), datetime.now(UTC)
        self.enricher.start()
        run = Run(self, full=full, dry_run=dry_run, confirmed=confirmed, progress=progress)
        try:
            if full and not dry_run:
                reports = await run.beside(sources)
            else:
                reports = [await run.source(source, self.table) for source in sources]
        except PortavozError as error:  # what was committed stays; `status` shows that the run broke off
            await self._record(run.broken_off(at, time.perf_counter() - began, error))
            raise
        changed = not dry_run and (full or any(r.pages_changed or r.pages_removed for r in reports))
        version = await self._finished(at) if changed else await self.table.version()
        report = RunReport(
            at=at,
            sources=tuple(reports),
            dry_run=dry_run,
            full=full,
            index_version=version,
            seconds=round(time.perf_counter() - began, 2),
            spent=run.ledger.by_role,
            cost_usd=run.ledger.usd,
            enrichment_model=self.enricher.model_name,
            estimate=await run.estimator.result() if dry_run else None,
            breakdown=await breakdown(self.table) if changed else None,
        )
        if not dry_run:
            await self._record(report)
        return report

    @cached_property
    def journal(self) -> Journal:
        """What is kept beside the table."""
        return Journal(self.settings.store)

    async def sources(self) -> set[str]:
        """The names of the sources whose pages the table holds."""
        return {source for source, _ in (await page_hashes(self.table)).values()}

    async def remove_source(self, name: str, *, dry_run: bool = False) -> int:
        """Remove all pages of a source; returns how many there are."""
        pages = [page for page, (source, _) in (await page_hashes(self.table)).items() if source == name]
        if not dry_run:
            await self.table.replace_pages(pages, [])
            await self.journal.delete(VISITS, [name])
            await self._finished(datetime.now(UTC))
        return len(pages)

    async def restore(self, version: int) -> int:
        """Make the table what it was at a version, and forget what servers said since, which is of later rows."""
        now = await self.table.restore(version)
        await self.table.tag(f"rollback-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
        await self.journal.delete(VISITS, list(await self.journal.all(VISITS, VisitLog)))
        return now

    async def _finished(self, at: datetime) -> int:
        await self.table.maintain()
        version = await self.table.tag(f"run-{at:%Y%m%dT%H%M%S%f}")
        old = [v.name for v in await self.table.versions()][:-KEEP_RUNS]
        await self.table.untag(old)
        return version

    async def _record(self, report: RunReport) -> None:
        await self.journal.put(RUNS, {f"{report.at.isoformat()}": report})
        kept = list(await self.journal.all(RUNS, RunReport))
        await self.journal.delete(RUNS, kept[:-KEEP_RUNS])

    def page_hash(self, page: Page) -> str:
        """Equal while nothing that the page's rows depend on has changed."""
        return digest(page.model_dump_json(), self.made_by)

    @cached_property
    def made_by(self) -> str:
        """A hash of all that the rows of a page depend on besides the page."""
        sizes = f"{self.settings.indexing.chunk_words}/{self.settings.indexing.overlap_words}"
        languages = ",".join(self.settings.site.languages)  # a chunk may be in another one than its page
        return digest(PIPELINE, sizes, languages, self.enricher.version, self.embedder.identity.model)


class Run:
    """One run: its options, what it spent, and how a source goes through it."""

    def __init__(
        self, indexer: Indexer, *, full: bool, dry_run: bool, confirmed: bool, progress: Progress
    ) -> None:
        self.indexer = indexer
        self.full, self.dry_run, self.confirmed, self.progress = full, dry_run, confirmed, progress
        self.ledger = Ledger()
        self.estimator = Estimator(indexer, anew=full)
        self.kept: set[str] = set()  # pages whose rows a full run takes over from the live table
        self.wanted: set[str] = set()  # pages that a full run has made

    def broken_off(self, at: datetime, seconds: float, error: PortavozError) -> RunReport:
        """The report of a run that did not come to its end."""
        return RunReport(
            at=at,
            sources=(),
            dry_run=self.dry_run,
            full=self.full,
            index_version=None,
            seconds=round(seconds, 2),
            spent=self.ledger.by_role,
            cost_usd=self.ledger.usd,
            enrichment_model=self.indexer.enricher.model_name,
            error=str(error),
        )

    async def source(self, source: Source, target: KnowledgeTable) -> SourceReport:
        """One source into `target`: the live table, or the one beside it."""
        live, settings = self.indexer.table, self.indexer.settings
        known = await known_pages(live, source.name)
        done = known if target is live else await known_pages(target, source.name)
        remade = self.full and self.dry_run  # a full run that only estimates
        visits = await load_visits(self.indexer, source, known, full=self.full)
        counts: Counter[str] = Counter()
        pipeline = None if self.dry_run else self._pipeline(target, counts)
        run = SourceRun(
            source=source,
            settings=settings,
            known=known,
            done={} if remade else {page: k.page_hash for page, k in done.items()},
            page_hash=self.indexer.page_hash,
            pipeline=pipeline,
            batch_chunks=self.indexer.enricher.batch_chunks,
            counts=counts,
            visits=visits,
            confirmed=self.confirmed,
            estimate=self.estimator.add,
        )
        try:
            report = await run.run(self.progress)
        except BaseException:
            if pipeline:
                await pipeline.abandon()
            raise
        self.kept |= run.kept
        self.wanted |= run.seen
        if not self.dry_run:
            if target is live:
                await live.replace_pages(run.gone, [])
            await save_visits(self.indexer, source, visits, whole=report.error is None)
        return report

    def _pipeline(self, target: KnowledgeTable, counts: Counter[str]) -> Pipeline:
        live, embedder = self.indexer.table, self.indexer.embedder
        # another embedding model is no reason to pay for enrichment again
        elsewhere = [live] if target is not live and live.identity != embedder.identity else []
        return Pipeline(
            target,
            embedder,
            self.indexer.enricher,
            self.ledger,
            counts,
            enrichments_of=[target, *elsewhere],
            vectors_of=[target],
            embedding_batch=self.indexer.settings.indexing.embedding_batch,
        )

    async def beside(self, sources: Sequence[Source]) -> list[SourceReport]:
        """All into a table beside the live one, which is replaced by it at the end, in one commit.

        Pages of other sources, pages that could not be read, and pages that another process changed meanwhile
        are taken over from the live table. A run that was killed is gone on with.
        """
        live, embedder = self.indexer.table, self.indexer.embedder
        green = await live.beside(embedder.identity)
        before = await page_hashes(live)
        reports = [await self.source(source, green) for source in sources]
        named = {source.name for source in sources}
        now = await page_hashes(live)
        changed = {page for page, held in now.items() if before.get(page) != held}
        others = {page for page, (source, _) in now.items() if source not in named}
        taken = (self.kept & now.keys()) | changed | others
        await carry(live, green, sorted(taken), embedder, self.ledger)
        left = (await page_hashes(green)).keys() - taken - self.wanted
        await green.replace_pages(sorted(left | (before.keys() - now.keys())), [])
        await live.switch()
        return reports
