"""A site of many small pages: pages per second, memory, and where the time goes.

    python -m tests.benchmarks.many_pages [PAGES=20000] [--embedded]

Without --embedded the vectors are made by hashing, so that what is measured is everything but the embedding model;
its own rate is measured on 200 of the chunks and shown beside it.
"""

from __future__ import annotations

import asyncio
import cProfile
import pstats
import resource
import sys
import tempfile
import time
from pathlib import Path

from functions.indexing.enrichment import RuleEnricher
from functions.indexing.index import Indexer
from shared.cost import Ledger
from shared.embedding import EmbeddedE5
from shared.settings import FolderSource, Settings, StoreSettings
from shared.table import KnowledgeTable
from tests.fakes.embedder import FakeEmbedder


def write(folder: Path, pages: int) -> None:
    """Pages of some 120 words, 200 to a folder."""
    for page in range(pages):
        file = folder / str(page // 200) / f"{page}.md"
        file.parent.mkdir(exist_ok=True)
        body = " ".join(
            f"Item {page} has the property {n} with the value {page * n % 97}." for n in range(12)
        )
        file.write_text(f"---\ntitle: Item {page}\nlang: en\n---\n# Item {page}\n\n{body}\n")


def peak_mib() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def main(pages: int, embedded: bool) -> None:
    """Print the runs."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "site"
        folder.mkdir()
        write(folder, pages)
        source = FolderSource(name="pages", kind="folder", path=folder)
        settings = Settings(
            sources=(source,), store=StoreSettings(uri=f"{place}/store"), site={"languages": ["en"]}
        )
        embedder = EmbeddedE5() if embedded else FakeEmbedder(384)
        table = await KnowledgeTable.open(settings.store, embedder.identity, create=True)
        indexer = Indexer(table, embedder, RuleEnricher(settings), settings)
        marks: list[tuple[int, float, float]] = []
        began = time.perf_counter()

        def progress(name: str, done: int) -> None:
            if done % max(1, pages // 10) == 0:
                marks.append((done, time.perf_counter() - began, peak_mib()))

        profile = cProfile.Profile()
        profile.enable()
        report = await indexer.run(settings.sources, progress=progress)
        profile.disable()
        for done, seconds, mib in marks:
            print(f"{done:7d} pages  {seconds:7.1f} s  {done / seconds:6.1f} pages/s  peak {mib:6.0f} MiB")
        print(
            f"first run: {report.seconds} s, {pages / report.seconds:.1f} pages/s, peak {peak_mib():.0f} MiB"
        )
        again = await indexer.run(settings.sources)
        print(f"unchanged: {again.seconds} s, {again.sources[0].pages_unchanged} unchanged")
        pstats.Stats(profile).sort_stats("tottime").print_stats(18)
        if not embedded:
            texts = [row["text"] for row in (await table.columns(["text"]))[:200]]
            began = time.perf_counter()
            await EmbeddedE5().passages(texts, Ledger())
            print(f"embedded model: {len(texts) / (time.perf_counter() - began):.1f} chunks/s")


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    asyncio.run(main([*numbers, 20_000][0], "--embedded" in sys.argv))
