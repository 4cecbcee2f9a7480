"""The one LanceDB table that indexing writes and retrieval reads, on a path or on object storage."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from shared.columns import add_columns
from shared.errors import EmbeddingMismatch, NoIndex, TableUnavailable
from shared.metadata import Kind, kinds_in, kinds_needed
from shared.records import Passage, Record, Row
from shared.schema import (
    PASSAGE_COLUMNS,
    EmbeddingIdentity,
    identity_of,
    to_arrow,
    to_passage,
    to_row,
)
from shared.store import connect, create_indices, is_empty, open_or_create, overwrite, written

if TYPE_CHECKING:
    from lancedb.expr import Expr
    from numpy.typing import NDArray

    from shared.settings import StoreSettings

NAME, BESIDE = "chunks", "chunks_next"  # the live table, and the one that a full run builds beside it
NO_INDEX = "there is no index at {uri} yet; run `portavoz index` first"
MAINTAIN_TRIES = 5  # each conflict means that another process got one step further
KEEP_VERSIONS = timedelta(days=7)  # a bad publish is noticed within a week; tagged versions stay longer
STEP = 5000  # rows a scan holds in memory at once; 5,000 × 384 floats are 8 MB

P = ParamSpec("P")
T = TypeVar("T")


class Version(Record):
    """A named version of the table."""

    number: int
    name: str
    at: datetime


class Hit(Record):
    """A row found by a search: the passage with its cosine similarity, and its full-text score (BM25)."""

    passage: Passage
    similarity: float
    text_score: float = 0.0


def _translated(
    method: Callable[Concatenate[KnowledgeTable, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[KnowledgeTable, P], Coroutine[Any, Any, T]]:
    """LanceDB raises ValueError, RuntimeError and OSError for whatever goes wrong below it."""

    async def call(self: KnowledgeTable, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await method(self, *args, **kwargs)
        except (ValueError, RuntimeError, OSError) as error:
            raise TableUnavailable(f"the table at {self.uri} failed: {error}") from error

    functools.update_wrapper(call, method)
    return call


class KnowledgeTable:
    """The table of chunks. Every search takes a pre-filter; a page is replaced in one commit."""

    def __init__(self, table: Any, store: StoreSettings, schema: Any) -> None:
        self._table = table
        self._store = store
        self._schema = schema
        self._checked = -1  # the version whose embedding model was looked at
        self.uri = store.uri
        self.identity = identity_of(schema)

    @classmethod
    async def open(
        cls,
        store: StoreSettings,
        identity: EmbeddingIdentity | None = None,
        *,
        create: bool = False,
        any_model: bool = False,
        name: str = NAME,
    ) -> KnowledgeTable:
        """Open the table; with `create`, make it for vectors of `identity` where it is missing.

        `any_model` opens it whatever model its vectors are of, to be replaced by a full run.

        Raises:
            TableUnavailable: it does not exist (and `create` is not set), or the store cannot be reached.
            EmbeddingMismatch: it holds vectors of another model than `identity`.
        """
        if not create and is_empty(store):
            raise NoIndex(NO_INDEX.format(uri=store.uri))
        # Other processes' commits: at once on a disk (a stat), within 5 s on object storage (a list request each).
        freshness = timedelta(seconds=5 if "://" in store.uri and not create else 0)
        try:
            connection = await connect(store, freshness)
            table = await open_or_create(connection, name, identity if create else None)
            schema = await table.schema() if table else None
        except (ValueError, RuntimeError, OSError) as error:
            raise TableUnavailable(f"cannot open the table at {store.uri}: {error}") from error
        if table is None:
            raise NoIndex(NO_INDEX.format(uri=store.uri))
        opened = cls(table, store, schema)
        if identity is not None and not any_model:
            opened._must_hold(identity)
        return opened

    def _must_hold(self, identity: EmbeddingIdentity) -> None:
        if self.identity != identity:
            raise EmbeddingMismatch(
                f"the index at {self.uri} was built with {self.identity.model} ({self.identity.dim} dimensions), "
                f"the settings say {identity.model} ({identity.dim}); set [models.embedding] back, "
                "or rebuild with `portavoz index --full`"
            )

    # --- reading ---------------------------------------------------------------------------------

    @_translated
    async def version(self) -> int:
        """The version of the table that this handle sees."""
        return int(await self._table.version())

    @_translated
    async def check(self) -> int:
        """The version of now, after making sure that another process has not put vectors of another model there.

        Raises:
            EmbeddingMismatch: it has; this process must be started with the settings of now.
        """
        version = int(await self._table.version())
        if version != self._checked:
            before, self._schema = self.identity, await self._table.schema()
            self.identity = identity_of(self._schema)
            try:
                self._must_hold(before)
            finally:
                self.identity = before
            self._checked = version
        return version

    @_translated
    async def rows(self, where: Expr | None = None) -> int:
        """How many rows there are, or how many match."""
        if where is None:
            return int(await self._table.count_rows())
        # count_rows takes SQL, and Expr.to_sql of lancedb 0.40 leaves the quote in \' unescaped
        return int((await self._table.query().where(where).select(["id"]).to_arrow()).num_rows)

    @_translated
    async def metadata(self) -> dict[str, Kind]:
        """The metadata that rows can be filtered by, with the kinds of its values."""
        return kinds_in(await self._table.schema())

    @_translated
    async def columns(self, names: Sequence[str], where: Expr | None = None) -> list[dict[str, Any]]:
        """The named columns of all rows that match, in no order."""
        query = self._table.query().select(list(names))
        if where is not None:
            query = query.where(where)
        batches = await query.to_batches(max_batch_length=STEP)
        return [row async for batch in batches for row in batch.to_pylist()]

    @_translated
    async def rows_of(self, page_ids: Sequence[str]) -> list[Row]:
        """All rows of the pages named."""
        from lancedb.expr import col

        found = await self._table.query().where(col("page_id").isin(list(page_ids))).to_arrow()
        kinds = kinds_in(found.schema)
        return [to_row(values, kinds) for values in found.to_pylist()]

    @_translated
    async def nearest(self, vectors: NDArray[np.float32], where: Expr | None, limit: int) -> list[list[Hit]]:
        """The `limit` nearest rows of each query vector (n, dim), best first, in one call."""
        query = self._table.query().nearest_to(list(vectors)).distance_type("cosine").limit(limit)
        found: list[list[Hit]] = [[] for _ in vectors]
        for row in await self._searched(query, [*PASSAGE_COLUMNS, "_distance"], where):
            similarity = 1.0 - row["_distance"]
            hit = Hit(passage=to_passage(row, round(similarity, 2)), similarity=similarity)
            found[row.get("query_index", 0)].append(hit)
        return found

    @_translated
    async def full_text(
        self, terms: str, vector: NDArray[np.float32], where: Expr | None, limit: int
    ) -> list[Hit]:
        """The `limit` rows of the highest BM25 for `terms` (analysed words), with their similarity to `vector`."""
        if not terms:
            return []
        query = self._table.query().nearest_to_text(terms, columns="terms").limit(limit)
        hits = []
        for row in await self._searched(query, [*PASSAGE_COLUMNS, "vector", "_score"], where):
            similarity = float(np.dot(np.asarray(row["vector"], dtype=np.float32), vector))
            passage = to_passage(row, round(similarity, 2))
            hits.append(Hit(passage=passage, similarity=similarity, text_score=row["_score"]))
        return hits

    async def _searched(self, query: Any, columns: list[str], where: Expr | None) -> list[dict[str, Any]]:
        query = query.select(columns)
        if where is not None:
            query = query.where(where)
        return list((await query.to_arrow()).to_pylist())

    # --- writing ---------------------------------------------------------------------------------

    @_translated
    async def replace_pages(self, page_ids: Sequence[str], rows: Sequence[Row]) -> None:
        """Make `rows` all that there is of the pages named, in one commit: readers see the old or the new pages.

        A page with no row is removed. Concurrent writers retry by themselves (the primary key is declared).
        """
        from lancedb.expr import col

        if not page_ids:
            return
        await self.check()
        merge = (
            self._table.merge_insert("id")
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .when_not_matched_by_source_delete(col("page_id").isin(list(page_ids)))
        )
        # always of now: a row written without a column that another process added would keep its old value there
        self._schema = await add_columns(self._table, kinds_needed(row.metadata for row in rows))
        await written(merge, to_arrow(rows, self._schema))

    @_translated
    async def maintain(self) -> None:
        """Compact small fragments, bring the indices up to date, forget versions older than a week.

        Another process that does the same at the same time is let go first; after `MAINTAIN_TRIES` it is left to it.
        """
        for _ in range(MAINTAIN_TRIES):
            try:
                await create_indices(self._table)
                await self._table.optimize(cleanup_older_than=KEEP_VERSIONS)
            except RuntimeError as error:
                if "Retryable commit conflict" not in str(error):
                    raise
                await self._table.checkout_latest()
            else:
                return

    @_translated
    async def tag(self, name: str) -> int:
        """Name the version of now, so that it is kept and can be returned to."""
        version = int(await self._table.version())
        await self._table.tags.create(name, version)
        return version

    @_translated
    async def untag(self, names: Sequence[str]) -> None:
        """Let versions go: maintenance forgets them when they are a week old."""
        for name in names:
            await self._table.tags.delete(name)

    @_translated
    async def versions(self) -> list[Version]:
        """The named versions, oldest first."""
        when = {v["version"]: v["timestamp"] for v in await self._table.list_versions()}
        named = {name: int(tag["version"]) for name, tag in (await self._table.tags.list()).items()}
        found = [Version(number=n, name=name, at=when[n]) for name, n in named.items() if n in when]
        return sorted(found, key=lambda version: (version.number, version.name))

    @_translated
    async def restore(self, number: int) -> int:
        """Make the rows of now those of an earlier version, as a new version; the versions between stay.

        Raises:
            EmbeddingMismatch: that version holds vectors of another model than this process makes.
        """
        earlier = await open_or_create(await connect(self._store, timedelta(0)), NAME, None)
        await earlier.checkout(number)
        held = identity_of(await earlier.schema())
        if held != self.identity:
            raise EmbeddingMismatch(
                f"version {number} was built with {held.model} ({held.dim} dimensions), the settings say "
                f"{self.identity.model}; set [models.embedding] to {held.model} first"
            )
        await earlier.restore()
        await self._table.checkout_latest()
        return int(await self._table.version())

    @_translated
    async def beside(self, identity: EmbeddingIdentity) -> KnowledgeTable:
        """The table that a full run fills beside this one; what a run that was cut off has put there is kept."""
        table = await KnowledgeTable.open(self._store, identity, create=True, any_model=True, name=BESIDE)
        if table.identity != identity:
            await self.drop_beside()
            table = await KnowledgeTable.open(self._store, identity, create=True, name=BESIDE)
        return table

    @_translated
    async def drop_beside(self) -> None:
        """Remove the table of a full run."""
        connection = await connect(self._store, timedelta(0))
        if BESIDE in (await connection.list_tables()).tables:
            await connection.drop_table(BESIDE)

    @_translated
    async def switch(self) -> None:
        """Put the table of a full run in the place of this one, in one commit, and remove it there."""
        await asyncio.to_thread(overwrite, self._store, NAME, BESIDE)
        await self._table.checkout_latest()
        self._schema = await self._table.schema()
        self.identity = identity_of(self._schema)
        await create_indices(self._table)
        await self.drop_beside()
