"""The one LanceDB table that indexing writes and retrieval reads, on a path or on object storage."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from shared.columns import add_columns
from shared.errors import EmbeddingMismatch, TableUnavailable
from shared.metadata import Kind, kinds_in, kinds_needed
from shared.records import Passage, Record, Row
from shared.schema import (
    PASSAGE_COLUMNS,
    EmbeddingIdentity,
    identity_of,
    schema_for,
    to_arrow,
    to_passage,
)

if TYPE_CHECKING:
    from lancedb.expr import Expr
    from numpy.typing import NDArray

    from shared.settings import StoreSettings

NAME = "chunks"
FILTERED = ("product", "content_type", "language", "source", "category")  # few values each: bitmaps
KEYED = ("id", "page_id", "reuse_key", "vector_key", "published_at")  # many values or ranges: trees
MAINTAIN_TRIES = 5  # each conflict means that another process got one step further
KEEP_VERSIONS = timedelta(days=7)  # a bad publish is noticed within a week; tagged versions stay longer
OPENING_TRIES, OPENING_PAUSE_S = 40, 0.05  # 2 s: the first commit on object storage takes some 0.2 s
# Where two processes create at once one fails, at the table or (object storage lets both make it) at an index.
OTHER_CREATOR = ("already exists", "concurrent transaction Overwrite", "concurrent transaction CreateIndex")
STEP = 5000  # rows a scan holds in memory at once; 5,000 × 384 floats are 8 MB

P = ParamSpec("P")
T = TypeVar("T")


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

    def __init__(self, table: Any, uri: str, schema: Any) -> None:
        self._table = table
        self._schema = schema
        self.uri = uri
        self.identity = identity_of(schema)

    @classmethod
    async def open(
        cls,
        store: StoreSettings,
        identity: EmbeddingIdentity | None = None,
        *,
        create: bool = False,
        replace: bool = False,
    ) -> KnowledgeTable:
        """Open the table; with `create`, make it for vectors of `identity` where it is missing.

        `replace` makes an empty table in its place if it holds vectors of another model.

        Raises:
            TableUnavailable: it does not exist (and `create` is not set), or the store cannot be reached.
            EmbeddingMismatch: it holds vectors of another model than `identity`.
        """
        import lancedb

        # Other processes' commits: at once on a disk (a stat), within 5 s on object storage (a list request each).
        freshness = timedelta(seconds=5 if "://" in store.uri and not create else 0)
        try:
            connection = await lancedb.connect_async(
                store.uri, storage_options=storage_options(store), read_consistency_interval=freshness
            )
            table = await _open_or_create(connection, identity if create else None)
            schema = await table.schema() if table else None
            if replace and identity and table and identity_of(schema) != identity:
                await connection.drop_table(NAME)
                table = await _open_or_create(connection, identity)
                schema = await table.schema()
        except (ValueError, RuntimeError, OSError) as error:
            raise TableUnavailable(f"cannot open the table at {store.uri}: {error}") from error
        if table is None:
            raise TableUnavailable(f"there is no index at {store.uri} yet; run `portavoz index` first")
        opened = cls(table, store.uri, schema)
        if identity is not None and opened.identity != identity:
            raise EmbeddingMismatch(
                f"the index at {store.uri} was built with {opened.identity.model} ({opened.identity.dim} dimensions), "
                f"the settings say {identity.model} ({identity.dim}); set [models.embedding] back, "
                "or rebuild with `portavoz index --full`"
            )
        return opened

    # --- reading ---------------------------------------------------------------------------------

    @_translated
    async def version(self) -> int:
        """The version of the table that this handle sees."""
        return int(await self._table.version())

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
        merge = (
            self._table.merge_insert("id")
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .when_not_matched_by_source_delete(col("page_id").isin(list(page_ids)))
        )
        # always of now: a row written without a column that another process added would keep its old value there
        self._schema = await add_columns(self._table, kinds_needed(row.metadata for row in rows))
        await merge.execute(to_arrow(rows, self._schema))

    @_translated
    async def maintain(self) -> None:
        """Compact small fragments, bring the indices up to date, forget versions older than a week.

        Another process that does the same at the same time is let go first; after `MAINTAIN_TRIES` it is left to it.
        """
        for _ in range(MAINTAIN_TRIES):
            try:
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


def storage_options(store: StoreSettings) -> dict[str, str] | None:
    """What LanceDB needs to reach the store besides the `AWS_*` variables."""
    if "://" not in store.uri:
        return None
    options = {"aws_region": store.region, "aws_endpoint": store.endpoint}
    if store.endpoint.startswith("http://"):
        options["allow_http"] = "true"
    return {name: value for name, value in options.items() if value}


async def _open_or_create(connection: Any, identity: EmbeddingIdentity | None) -> Any:
    """The table; made when `identity` is given; None when it is missing and may not be made."""
    if NAME in (await connection.list_tables()).tables:
        return await _open(connection)
    if identity is None:
        return None
    try:
        table = await connection.create_table(NAME, schema=schema_for(identity))
        await _create_indices(table)
    except (ValueError, RuntimeError) as error:
        if not any(sign in str(error) for sign in OTHER_CREATOR):
            raise
        return await _open(connection)  # another process was faster, and makes the indices
    return table


async def _open(connection: Any) -> Any:
    """Open a table that is listed; its first version may still be on its way from the process that creates it."""
    for _ in range(OPENING_TRIES):
        try:
            return await connection.open_table(NAME)
        except ValueError as error:
            if "not found" not in str(error):
                raise
            await asyncio.sleep(OPENING_PAUSE_S)
    return await connection.open_table(NAME)


async def _create_indices(table: Any) -> None:
    """Indices on all filter columns from the start; rows that are newer than an index are found all the same."""
    from lancedb.index import FTS, Bitmap, BTree

    for name in FILTERED:
        await table.create_index(name, config=Bitmap())
    for name in KEYED:
        await table.create_index(name, config=BTree())
    # `terms` is analysed already (shared/analysis.py): here only split at blanks
    plain = FTS(base_tokenizer="whitespace", stem=False, remove_stop_words=False, ascii_folding=False)
    await table.create_index("terms", config=plain)
