"""Indexes a folder slowly, to be killed half-way: `python -m tests.fakes.slow_index FOLDER STORE SECONDS [NAME]`.

The batches are small and the embedder waits, so that there is time between commits.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from functions.indexing.enrichment import RuleEnricher
from functions.indexing.index import Indexer
from shared.cost import Ledger
from shared.settings import FolderSource, Settings, StoreSettings
from shared.table import KnowledgeTable
from tests.fakes.embedder import FakeEmbedder


class SlowEmbedder(FakeEmbedder):
    """Takes its time for each batch."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    async def passages(self, texts: Sequence[str], ledger: Ledger) -> Any:
        await asyncio.sleep(self.seconds)
        return await super().passages(texts, ledger)


async def run(folder: Path, store: str | Path, seconds: float, name: str = "pages") -> None:
    """One run over the folder."""
    RuleEnricher.batch_chunks = 4
    source = FolderSource(name=name, kind="folder", path=folder, base_url="https://example.com")
    place = StoreSettings(
        uri=str(store),
        endpoint=os.environ.get("SLOW_INDEX_ENDPOINT", ""),
        region=os.environ.get("SLOW_INDEX_REGION", ""),
    )
    settings = Settings(sources=(source,), store=place)
    embedder = SlowEmbedder(seconds)
    table = await KnowledgeTable.open(settings.store, embedder.identity, create=True)
    await Indexer(table, embedder, RuleEnricher(settings), settings).run(settings.sources)


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), *sys.argv[4:]))
