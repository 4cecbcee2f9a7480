"""How close a run comes to the ideal where a model server allows so many requests at a time.

    python -m tests.benchmarks.enrichment_pace [CHUNKS=577] [SECONDS=2] [PARALLEL=5]

The server answers each request after SECONDS, and with 429 where more than PARALLEL are under way. The ideal is
calls × SECONDS / PARALLEL. Embedding is done by the embedded model, so that it has to overlap. Afterwards the same
site is indexed again unchanged, and with one paragraph changed on a page of about 30 chunks.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from functions.indexing.enrichment import ModelEnricher
from functions.indexing.index import Indexer
from functions.indexing.report import RunReport
from shared.embedding import EmbeddedE5
from shared.language_model import LanguageModel
from shared.settings import FolderSource, Settings, StoreSettings
from shared.table import KnowledgeTable
from tests.fakes.openai_server import OpenAIServer, Request, fail


class Slow:
    """Answers after `seconds`; refuses what is more than `parallel` at a time."""

    def __init__(self, seconds: float, parallel: int) -> None:
        self.seconds, self.parallel = seconds, parallel
        self.running = self.calls = self.refused = 0
        self.lock = threading.Lock()

    def __call__(self, request: Request) -> Any:
        with self.lock:
            self.running += 1
            over = self.running > self.parallel
            self.calls += 1
            self.refused += over
        try:
            if over:
                return fail(429, {"Retry-After": "1"})
            time.sleep(self.seconds)
            words = request.last.split()
            return {
                "summary": f"It says {' '.join(words[-8:])}", "keywords": [w.lower() for w in words[-6:]],
                "questions": [f"What is {words[-1]}?", f"Where is {words[-2]}?"], "product": "general",
                "content_type": "guide",
            }  # fmt: skip
        finally:
            with self.lock:
                self.running -= 1


def paragraph(page: int, number: int, edit: str = "") -> str:
    words = " ".join(f"term{page}x{number}x{k}" if k % 4 == 0 else "the site says that" for k in range(28))
    return f"Paragraph {number} of page {page} {edit} is about {words}."


def write(folder: Path, chunks: int) -> int:
    """Pages of about 30 chunks; one paragraph is about a chunk."""
    pages = max(1, chunks // 30)
    for page in range(pages):
        share = chunks // pages + (page < chunks % pages)
        text = "\n\n".join(f"## Part {n}\n\n{paragraph(page, n)}" for n in range(share))
        (folder / f"{page}.md").write_text(f"# Page {page}\n\n{text}\n")
    return pages


async def main(chunks: int, seconds: float, parallel: int) -> None:
    """Print the three runs."""
    server = OpenAIServer()
    slow = Slow(seconds, parallel)
    server.always(slow, schema="Enrichment")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "site"
        folder.mkdir()
        write(folder, chunks)
        source = FolderSource(name="pages", kind="folder", path=folder)
        settings = Settings(
            sources=(source,), store=StoreSettings(uri=f"{place}/store"),
            indexing={"enrichment_parallel": parallel}, site={"languages": ["en"]},
        )  # fmt: skip
        embedder = EmbeddedE5()
        table = await KnowledgeTable.open(settings.store, embedder.identity, create=True)
        enricher = ModelEnricher(LanguageModel(server.settings("slow", timeout_s=60)), settings)
        indexer = Indexer(table, embedder, enricher, settings)

        async def run(name: str) -> RunReport:
            before, began = slow.calls, time.perf_counter()
            report = await indexer.run(settings.sources)
            took, calls = time.perf_counter() - began, slow.calls - before
            ideal = calls * seconds / parallel
            ratio = f", {took / ideal:.3f} × the ideal {ideal:.0f} s" if calls else ""
            print(
                f"{name}: {calls} calls ({slow.refused} refused), {len(embedded(report))} rows, {took:.1f} s{ratio}, "
                f"version {report.index_version}"
            )
            return report

        def embedded(report: RunReport) -> range:
            return range(report.breakdown.rows if report.breakdown else 0)

        await run("first")
        await run("unchanged")
        page = folder / "0.md"
        page.write_text(page.read_text().replace(paragraph(0, 15), paragraph(0, 15, "edited")))
        await run("one paragraph changed")
    server.close()


if __name__ == "__main__":
    chunks, seconds, parallel = [*sys.argv[1:], *("577", "2", "5")[len(sys.argv) - 1 :]]
    asyncio.run(main(int(chunks), float(seconds), int(parallel)))
