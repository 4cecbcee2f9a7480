"""One run over a source: what changed is chunked, enriched, embedded and replaced; what vanished is removed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from functions.indexing.chunking import chunk_page, digest
from functions.indexing.enrichment import Enricher, reuse_key
from functions.indexing.pages import Incomplete, Skipped, Unchanged, Visits
from functions.indexing.report import RunReport, SourceReport, count_enriched
from functions.indexing.rows import (
    Known,
    PageChunks,
    embedded_text,
    known_pages,
    stored_enrichments,
    stored_vectors,
    to_row,
)
from functions.indexing.sources import pages_of
from shared.cost import Ledger
from shared.embedding import Embedder
from shared.errors import SourceError
from shared.records import EnrichedChunk, Page
from shared.settings import Settings, Source
from shared.table import KnowledgeTable

PIPELINE = "2"  # raised when the same page and settings give other rows than in the release before
INCOMPLETE = "incomplete:"  # before the hash of a page with a chunk that a model should still enrich
BATCH_CHUNKS = 50  # chunks per commit: what a kill loses, and one call to most embedding servers
MOST_GONE = 0.3  # share of a source's pages that may vanish at once; more looks like an outage of the source
Progress = Callable[[str, int], None]  # name of the source, pages done


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
        began = time.perf_counter()
        ledger = Ledger()
        runs = [SourceRun(self, source, ledger, full, dry_run, confirmed) for source in sources]
        reports = tuple([await run.run(progress) for run in runs])
        version = await self.table.version()
        if not dry_run and any(r.pages_changed or r.pages_removed for r in reports):
            await self.table.maintain()
            version = await self.table.tag(f"run-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
        return RunReport(
            sources=reports,
            dry_run=dry_run,
            index_version=version,
            seconds=round(time.perf_counter() - began, 2),
            spent=ledger.by_role,
            cost_usd=ledger.usd,
        )

    def page_hash(self, page: Page) -> str:
        """Equal while nothing that the page's rows depend on has changed."""
        sizes = f"{self.settings.indexing.chunk_words}/{self.settings.indexing.overlap_words}"
        languages = ",".join(self.settings.site.languages)  # a chunk may be in another one than its page
        return digest(
            PIPELINE,
            page.model_dump_json(),
            sizes,
            languages,
            self.enricher.version,
            self.embedder.identity.model,
        )


@dataclass
class SourceRun:
    """One run over one source, and what it has counted so far."""

    indexer: Indexer
    source: Source
    ledger: Ledger
    full: bool
    dry_run: bool
    confirmed: bool
    counts: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)
    batch: list[PageChunks] = field(default_factory=list)
    visits: Visits = field(default_factory=Visits)
    incomplete: str | None = None

    async def run(self, progress: Progress) -> SourceReport:
        """Read the source to its end; a source that breaks off removes nothing."""
        known = await known_pages(self.indexer.table, self.source.name)
        seen: set[str] = set()
        error = None
        try:
            async for page in pages_of(self.source, self.indexer.settings, self.visits):
                if isinstance(page, Incomplete):
                    self.incomplete = page.reason
                    continue
                self.counts["pages_seen"] += 1
                if isinstance(page, Page):
                    seen.add(page.id)
                    await self._page(page, known.get(page.id, Known()))
                elif isinstance(page, Unchanged):
                    seen.add(page.id)
                    self.counts["pages_unchanged"] += 1
                else:
                    self.skipped.append(page)
                    if page.failed:  # it keeps its rows; drafts and empty pages lose theirs
                        seen.add(page.id)
                progress(self.source.name, self.counts["pages_seen"])
            await self._flush()
            gone = {} if self.incomplete else {page_id: known[page_id] for page_id in known.keys() - seen}
            await self._remove(gone, len(known), bool(seen))
        except SourceError as failure:
            error = str(failure)
        return SourceReport(
            source=self.source.name,
            **self.counts,
            pages_skipped=tuple(self.skipped),
            error=error,
            incomplete=self.incomplete,
        )

    async def _page(self, page: Page, before: Known) -> None:
        page_hash = self.indexer.page_hash(page)
        if before.page_hash == page_hash and not self.full:
            self.counts["pages_unchanged"] += 1
            return
        sizes = self.indexer.settings.indexing
        chunks = tuple(
            chunk_page(page, sizes.chunk_words, sizes.overlap_words, self.indexer.settings.site.languages)
        )
        if not chunks and not before.chunks:  # link definitions only, for instance
            self.skipped.append(Skipped(id=page.id, reason="the page has no text"))
            return
        ids = {chunk.id for chunk in chunks}
        self.counts["pages_changed"] += 1
        self.counts["chunks_added"] += len(ids - before.chunks)
        self.counts["chunks_removed"] += len(before.chunks - ids)
        self.batch.append(PageChunks(page=page, page_hash=page_hash, chunks=chunks))
        if sum(len(entry.chunks) for entry in self.batch) >= BATCH_CHUNKS:
            await self._flush()

    async def _flush(self) -> None:
        """Enrich and embed the pages gathered so far, and replace them in one commit."""
        batch, self.batch = self.batch, []
        if not batch or self.dry_run:
            return
        enriched = await self._enriched(batch)
        texts = [embedded_text(e) for e in enriched]
        keys = [digest(text) for text in texts]
        vectors = await self._vectors(dict(zip(keys, texts, strict=True)))
        complete = self._complete(enriched)
        hashes = {
            e.page.id: e.page_hash if e.page.id in complete else INCOMPLETE + e.page_hash for e in batch
        }
        rows = [
            to_row(e, hashes[e.page.id], key, vectors[key]) for e, key in zip(enriched, keys, strict=True)
        ]
        await self.indexer.table.replace_pages([entry.page.id for entry in batch], rows)

    async def _enriched(self, batch: Sequence[PageChunks]) -> list[EnrichedChunk]:
        """The batch's chunks enriched, in order; what the table or the batch already has is not asked again."""
        enricher = self.indexer.enricher
        pairs = [(entry.page, chunk) for entry in batch for chunk in entry.chunks]
        if not enricher.calls_model:
            self.counts["enriched_by_rules"] += len(pairs)
            return await enricher.enrich(pairs, self.ledger)
        keys = [reuse_key(chunk, page, enricher.version) for page, chunk in pairs]
        stored = {} if self.full else await stored_enrichments(self.indexer.table, keys)
        missing = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in stored}
        made = dict(zip(missing, await enricher.enrich(list(missing.values()), self.ledger), strict=True))
        self.counts.update(count_enriched(made.values()))
        self.counts["enrichments_reused"] += len(pairs) - len(missing)
        return [
            made[key].model_copy(update={"page": page, "chunk": chunk})
            if key in made
            else EnrichedChunk(page=page, chunk=chunk, enrichment=stored[key], reuse_key=key)
            for key, (page, chunk) in zip(keys, pairs, strict=True)
        ]

    async def _vectors(self, texts: dict[str, str]) -> dict[str, list[float]]:
        """Vectors by the digest of the embedded text; only texts that the table does not know are embedded."""
        vectors = {} if self.full else await stored_vectors(self.indexer.table, texts)
        missing = [key for key in texts if key not in vectors]
        self.counts["vectors_reused"] += len(texts) - len(missing)
        size = self.indexer.settings.indexing.embedding_batch
        for start in range(0, len(missing), size):
            keys = missing[start : start + size]
            made = await self.indexer.embedder.passages([texts[key] for key in keys], self.ledger)
            vectors |= dict(zip(keys, made.tolist(), strict=True))
        return vectors

    def _complete(self, enriched: Sequence[EnrichedChunk]) -> set[str]:
        """Pages all of whose chunks were enriched as the settings ask."""
        version = self.indexer.enricher.version
        pages = {e.page.id for e in enriched}
        return pages - {e.page.id for e in enriched if e.reuse_key != reuse_key(e.chunk, e.page, version)}

    async def _remove(self, gone: dict[str, Known], known: int, any_seen: bool) -> None:
        """Remove the pages that vanished, unless so many vanished that the source is likelier broken."""
        many = len(gone) > MOST_GONE * known and (len(gone) > 1 or not any_seen)
        if many and not self.confirmed:
            self.counts["removal_withheld"] = len(gone)
            return
        if not self.dry_run:
            await self.indexer.table.replace_pages(sorted(gone), [])
        self.counts["pages_removed"] = len(gone)
        self.counts["chunks_removed"] += sum(len(page.chunks) for page in gone.values())
