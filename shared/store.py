"""Where the table lives: connecting, creating it with its indices, opening it, and putting another in its place."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shared.schema import EmbeddingIdentity, schema_for

if TYPE_CHECKING:
    from shared.settings import StoreSettings

FILTERED = ("product", "content_type", "language", "source", "category")  # few values each: bitmaps
KEYED = ("id", "page_id", "reuse_key", "vector_key", "published_at")  # many values or ranges: trees
OPENING_TRIES, OPENING_PAUSE_S = 40, 0.05  # 2 s: the first commit on object storage takes some 0.2 s
# Where two processes create at once one fails, at the table or (object storage lets both make it) at an index.
OTHER_CREATOR = ("already exists", "concurrent transaction Overwrite", "concurrent transaction CreateIndex")
WRITING_TIME = timedelta(minutes=5)  # LanceDB's own 30 s are too short for 8 writers on object storage
WRITING_TRIES = 6  # then half a minute of waiting in all; LanceDB itself gives up after some ten lost races
COPIED = 1000  # rows held at once while a table is put in the place of another; some 4 MB


def is_empty(store: StoreSettings) -> bool:
    """Whether the store is a folder that does not exist; to connect would make it."""
    return "://" not in store.uri and not Path(store.uri).exists()


async def connect(store: StoreSettings, freshness: timedelta) -> Any:
    """A connection whose tables look for other processes' commits after `freshness`."""
    import lancedb

    return await lancedb.connect_async(
        store.uri, storage_options=storage_options(store), read_consistency_interval=freshness
    )


def storage_options(store: StoreSettings) -> dict[str, str] | None:
    """What LanceDB needs to reach the store besides the `AWS_*` variables."""
    if "://" not in store.uri:
        return None
    options = {"aws_region": store.region, "aws_endpoint": store.endpoint}
    if store.endpoint.startswith("http://"):
        options["allow_http"] = "true"
    return {name: value for name, value in options.items() if value}


async def open_or_create(connection: Any, name: str, identity: EmbeddingIdentity | None) -> Any:
    """The table; made when `identity` is given; None when it is missing and may not be made."""
    if name in (await connection.list_tables()).tables:
        return await _open(connection, name)
    if identity is None:
        return None
    try:
        table = await connection.create_table(name, schema=schema_for(identity))
        await create_indices(table)
    except (ValueError, RuntimeError) as error:
        if not any(sign in str(error) for sign in OTHER_CREATOR):
            raise
        return await _open(connection, name)  # another process was faster, and makes the indices
    return table


async def _open(connection: Any, name: str) -> Any:
    """Open a table that is listed; its first version may still be on its way from the process that creates it."""
    for _ in range(OPENING_TRIES):
        try:
            return await connection.open_table(name)
        except ValueError as error:
            if "not found" not in str(error):
                raise
            await asyncio.sleep(OPENING_PAUSE_S)
    return await connection.open_table(name)


async def written(merge: Any, rows: Any) -> None:
    """Execute a merge; where others keep winning the race for the next version, wait a little and go on trying."""
    for attempt in range(WRITING_TRIES):
        try:
            await merge.execute(rows, timeout=WRITING_TIME)
            return
        except (ValueError, RuntimeError, OSError) as error:
            if "Too many concurrent writers" not in str(error) or attempt == WRITING_TRIES - 1:
                raise
        await asyncio.sleep(random.uniform(0, 2**attempt))


async def create_indices(table: Any) -> None:
    """Indices on all filter columns, where they are missing; rows newer than an index are found all the same."""
    from lancedb.index import FTS, Bitmap, BTree

    there = {column for index in await table.list_indices() for column in index.columns}
    for name in FILTERED:
        if name not in there:
            await table.create_index(name, config=Bitmap())
    for name in KEYED:
        if name not in there:
            await table.create_index(name, config=BTree())
    if "terms" in there:
        return
    # `terms` is analysed already (shared/analysis.py): here only split at blanks
    plain = FTS(base_tokenizer="whitespace", stem=False, remove_stop_words=False, ascii_folding=False)
    await table.create_index("terms", config=plain)


def overwrite(store: StoreSettings, name: str, by: str) -> None:
    """Make the table `name` what the table `by` is, schema and rows, in one commit; its older versions stay.

    Blocking: rows are streamed through LanceDB's synchronous interface.
    """
    import lancedb
    import pyarrow as pa

    connection = lancedb.connect(store.uri, storage_options=storage_options(store))
    source = connection.open_table(by)
    schema = source.schema
    batches = source.search().to_batches(COPIED)
    rows = pa.RecordBatchReader.from_batches(
        schema, (batch.select(schema.names).cast(schema) for batch in batches)
    )
    connection.create_table(name, data=rows, schema=schema, mode="overwrite")
