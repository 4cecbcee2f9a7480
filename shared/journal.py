"""What is kept beside the table of chunks, in the same store: reports of runs, visits of pages, and the like.

One small LanceDB table of JSON documents by kind and key. Writers in several processes replace each other's
documents of the same key, the later one wins; readers of other keys are not disturbed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from shared.errors import TableUnavailable
from shared.records import Record
from shared.settings import StoreSettings

NAME = "journal"
FEEDBACK, RUNS, VISITS = "feedback", "runs", "visits"  # kinds
KEEP_VERSIONS = timedelta(hours=1)  # nobody goes back in the journal; a reader holds a version for seconds
COMPACT_EVERY = 50  # commits; each leaves a small file that every later read opens
R = TypeVar("R", bound=Record)


class Journal:
    """Documents by kind and key. The table is made with the first document."""

    def __init__(self, store: StoreSettings) -> None:
        self._store = store
        self._table: Any = None

    async def put(self, kind: str, documents: dict[str, Record]) -> None:
        """Write documents, in one commit, over those of the same kind and key."""
        if not documents:
            return
        table = await self._open(create=True)
        now = datetime.now(UTC)
        rows = [
            {
                "id": f"{kind}\x1f{key}",
                "kind": kind,
                "key": key,
                "at": now,
                "body": document.model_dump_json(),
            }
            for key, document in documents.items()
        ]
        import pyarrow as pa

        from shared.store import written

        with _failures(self._store.uri):
            merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
            await written(merge, pa.Table.from_pylist(rows, schema=_schema()))
            if await table.version() % COMPACT_EVERY == 0:
                await _compact(table)

    async def all(self, kind: str, model: type[R]) -> dict[str, R]:
        """All documents of a kind by key, oldest first; those that an older release wrote otherwise are left out."""
        from lancedb.expr import col, lit
        from pydantic import ValidationError

        table = await self._open(create=False)
        if table is None:
            return {}
        with _failures(self._store.uri):
            found = (
                await table.query().where(col("kind") == lit(kind)).select(["key", "at", "body"]).to_list()
            )
        documents = {}
        for row in sorted(found, key=lambda row: (row["at"], row["key"])):
            try:
                documents[row["key"]] = model.model_validate_json(row["body"])
            except ValidationError:
                continue  # what is kept here can be made again: a visit, a report
        return documents

    async def delete(self, kind: str, keys: Sequence[str]) -> None:
        """Remove documents; keys that are not there are no error."""
        from lancedb.expr import col

        table = await self._open(create=False)
        if table is not None and keys:
            with _failures(self._store.uri):
                await table.delete(col("id").isin([f"{kind}\x1f{key}" for key in keys]))

    async def _open(self, *, create: bool) -> Any:
        import lancedb

        from shared.store import is_empty, storage_options

        if self._table is not None:
            return self._table
        if not create and is_empty(self._store):
            return None
        with _failures(self._store.uri):
            connection = await lancedb.connect_async(
                self._store.uri,
                storage_options=storage_options(self._store),
                read_consistency_interval=timedelta(0),
            )
            if NAME not in (await connection.list_tables()).tables:
                if not create:
                    return None
                self._table = await connection.create_table(NAME, schema=_schema(), exist_ok=True)
            else:
                self._table = await connection.open_table(NAME)
        return self._table


def _schema() -> Any:
    import pyarrow as pa

    from shared.schema import PRIMARY_KEY

    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False, metadata=PRIMARY_KEY),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("key", pa.string(), nullable=False),
            pa.field("at", pa.timestamp("us", tz="UTC"), nullable=False),
            pa.field("body", pa.string(), nullable=False),
        ]
    )


async def _compact(table: Any) -> None:
    try:
        await table.optimize(cleanup_older_than=KEEP_VERSIONS)
    except RuntimeError as error:  # another process compacts at the same time
        if "Retryable commit conflict" not in str(error):
            raise
        await asyncio.sleep(0)
        await table.checkout_latest()


class _failures:
    """LanceDB's exceptions as `TableUnavailable`."""

    def __init__(self, uri: str) -> None:
        self._uri = uri

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, ValueError | RuntimeError | OSError):
            raise TableUnavailable(f"the journal at {self._uri} failed: {error}") from error
