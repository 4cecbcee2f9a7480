"""Chunks on their way to the table: batches are enriched while earlier ones are embedded and written."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from functions.indexing.chunking import digest
from functions.indexing.enrichment import Enricher, reuse_key
from functions.indexing.report import count_enriched
from functions.indexing.rows import (
    INCOMPLETE,
    PageChunks,
    embedded_text,
    stored_enrichments,
    stored_vectors,
    to_row,
)
from shared.cost import Ledger
from shared.embedding import Embedder
from shared.records import Chunk, EnrichedChunk, Enrichment, Page, Row
from shared.table import KnowledgeTable

IN_FLIGHT = 3  # batches: one enriched, one embedded, one written; more would only be lost by a kill


class Pipeline:
    """Writes batches of pages in the order given, each in one commit. `counts` tells what was reused and made.

    What an earlier row already has is neither enriched nor embedded again: enrichments are looked up in
    `enrichments_of`, vectors in `vectors_of`, and among the batches on their way.
    """

    def __init__(
        self,
        table: KnowledgeTable,
        embedder: Embedder,
        enricher: Enricher,
        ledger: Ledger,
        counts: Counter[str],
        *,
        enrichments_of: Sequence[KnowledgeTable],
        vectors_of: Sequence[KnowledgeTable],
        embedding_batch: int,
    ) -> None:
        self._table, self._embedder, self._enricher = table, embedder, enricher
        self._ledger, self._counts = ledger, counts
        self._enrichments_of, self._vectors_of = enrichments_of, vectors_of
        self._embedding_batch = embedding_batch
        self._room = asyncio.Semaphore(IN_FLIGHT)
        self._under_way: set[asyncio.Task[bool]] = set()
        self._last: asyncio.Task[bool] | None = None
        self._failure: Exception | None = None
        self._making: dict[str, asyncio.Future[EnrichedChunk]] = {}

    async def put(self, batch: Sequence[PageChunks]) -> None:
        """Take a batch in; waits while `IN_FLIGHT` are under way. Raises what an earlier batch failed with."""
        await self._room.acquire()
        if self._failure:
            await self.finish()
        task = asyncio.create_task(self._through(batch, self._last))
        self._last = task
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def finish(self) -> None:
        """Wait for all batches; raises what the first of them failed with."""
        if self._under_way:
            await asyncio.wait(self._under_way)
        if self._failure:
            raise self._failure

    async def abandon(self) -> None:
        """Stop what is under way; what was committed stays."""
        for task in list(self._under_way):
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _through(self, batch: Sequence[PageChunks], before: asyncio.Task[bool] | None) -> bool:
        """One batch to the end; False where it, or one before it, failed."""
        try:
            mine: list[str] = []
            enriched = await self._enriched(batch, mine)
            rows = await self._rows(batch, enriched)
            if before is not None and not await before:  # commits keep their order; none follows a failed one
                return False
            await self._table.replace_pages([entry.page.id for entry in batch], rows)
            for key in mine:  # the table has them from here on
                del self._making[key]
        except Exception as error:  # noqa: BLE001 - raised by the next put, or by finish
            self._failure = self._failure or error
            return False
        else:
            return True
        finally:
            self._room.release()

    async def _enriched(self, batch: Sequence[PageChunks], paid: list[str]) -> list[EnrichedChunk]:
        """The batch's chunks enriched, in order; the keys of those made now are added to `paid`."""
        pairs = [(entry.page, chunk) for entry in batch for chunk in entry.chunks]
        if not self._enricher.calls_model:
            self._counts["enriched_by_rules"] += len(pairs)
            return await self._enricher.enrich(pairs, self._ledger)
        keys = [reuse_key(chunk, page, self._enricher.version) for page, chunk in pairs]
        stored: dict[str, Enrichment] = {}
        for table in self._enrichments_of:
            stored |= await stored_enrichments(table, set(keys) - stored.keys())
        wanted = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in stored}
        elsewhere = {key: self._making[key] for key in wanted if key in self._making}
        mine = {key: pair for key, pair in wanted.items() if key not in elsewhere}
        self._counts["enrichments_reused"] += len(pairs) - len(mine)
        paid += mine
        made = await self._made(mine)
        made |= {key: await future for key, future in elsewhere.items()}
        return [
            made[key].model_copy(update={"page": page, "chunk": chunk})
            if key in made
            else EnrichedChunk(page=page, chunk=chunk, enrichment=stored[key], reuse_key=key)
            for key, (page, chunk) in zip(keys, pairs, strict=True)
        ]

    async def _made(self, wanted: dict[str, tuple[Page, Chunk]]) -> dict[str, EnrichedChunk]:
        """Enriched now; batches that meet the same chunk before it is written take it instead of paying again."""
        promised = {key: asyncio.get_running_loop().create_future() for key in wanted}
        self._making |= promised
        try:
            made = await self._enricher.enrich(list(wanted.values()), self._ledger)
        except BaseException:
            for future in promised.values():
                future.cancel()
            raise
        for future, one in zip(promised.values(), made, strict=True):
            future.set_result(one)
        self._counts.update(count_enriched(made))
        return dict(zip(wanted, made, strict=True))

    async def _rows(self, batch: Sequence[PageChunks], enriched: Sequence[EnrichedChunk]) -> list[Row]:
        texts = [embedded_text(one) for one in enriched]
        keys = [digest(text) for text in texts]
        vectors = await self._vectors(dict(zip(keys, texts, strict=True)))
        version = self._enricher.version
        open_pages = {e.page.id for e in enriched if e.reuse_key != reuse_key(e.chunk, e.page, version)}
        hashes = {
            e.page.id: INCOMPLETE + e.page_hash if e.page.id in open_pages else e.page_hash for e in batch
        }
        return [
            to_row(one, hashes[one.page.id], key, vectors[key])
            for one, key in zip(enriched, keys, strict=True)
        ]

    async def _vectors(self, texts: dict[str, str]) -> dict[str, Sequence[float]]:
        """Vectors by the digest of the embedded text."""
        vectors: dict[str, Sequence[float]] = {}
        for table in self._vectors_of:
            vectors |= await stored_vectors(table, texts.keys() - vectors.keys())
        missing = [key for key in texts if key not in vectors]
        self._counts["vectors_reused"] += len(texts) - len(missing)
        for start in range(0, len(missing), self._embedding_batch):
            keys = missing[start : start + self._embedding_batch]
            made = await self._embedder.passages([texts[key] for key in keys], self._ledger)
            vectors |= dict(zip(keys, made.tolist(), strict=True))
        return vectors
