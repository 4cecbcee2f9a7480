"""Columns for metadata are added to the table when a page first needs them; several processes may do so at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from shared.metadata import PREFIX, Kind, agreed, field_of, kinds_in

TRIES = (
    20  # each conflict means that another process committed; 20 writers at once are more than any site has
)
BITMAP = frozenset({"yes/no"})  # two values; all other kinds may have many
UNINDEXED = frozenset({"list of texts"})  # `contains` reads the column, no index of LanceDB 0.40 serves it


async def add_columns(table: Any, needed: Mapping[str, Kind]) -> pa.Schema:
    """The table's schema with a column, and its index, for all metadata `needed`.

    Raises:
        SourceError: the table has one of them with values of another kind.
    """
    schema = await table.schema()
    for _ in range(TRIES):
        there = kinds_in(schema)
        for name, kind in needed.items():
            agreed(name, there.get(name), kind)
        missing = [field_of(name, kind) for name, kind in needed.items() if name not in there]
        if not missing:
            break
        try:
            await table.add_columns(pa.schema(missing))
        except (ValueError, RuntimeError) as error:
            if not _other_process(error):
                raise
        await table.checkout_latest()
        schema = await table.schema()
    if needed:
        await _index(table, needed)
    return schema


async def _index(table: Any, needed: Mapping[str, Kind]) -> None:
    """Without an index a filter reads the whole column; a process that is killed before leaves it to the next."""
    from lancedb.index import Bitmap, BTree

    indexed = {column for index in await table.list_indices() for column in index.columns}
    for name, kind in needed.items():
        if PREFIX + name in indexed or kind in UNINDEXED:
            continue
        try:
            await table.create_index(PREFIX + name, config=Bitmap() if kind in BITMAP else BTree())
        except (ValueError, RuntimeError) as error:
            if not _other_process(error):
                raise
            await table.checkout_latest()  # the other process makes it, or the next batch of pages does


def _other_process(error: Exception) -> bool:
    text = str(error)
    return "already exists" in text or "commit conflict" in text or "concurrent transaction" in text
