"""Writers that are killed and writers at once: is the table exact?

    python -m tests.benchmarks.killed_writers [KILLS=100] [--s3]

First 8 processes index 20 pages each, all into one table, while readers look for pages that are half there. Then a
run is killed at a random moment KILLS times (seed 1), gone on with each time, and compared with a run that nobody
disturbed, column by column.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from shared.records import Row
from shared.settings import StoreSettings
from shared.table import KnowledgeTable

COLUMNS = tuple(name for name in Row.model_fields if name != "metadata")


def page(name: str, edit: int = 0) -> str:
    parts = (
        f"{name} paragraph {n} of edit {edit} says " + " ".join(f"{name}{n}w{k}" for k in range(25)) + "."
        for n in range(12)
    )
    return f"# {name}\n\n" + "\n\n".join(parts)


def start(folder: Path, store: StoreSettings, name: str, pause: float) -> subprocess.Popen[bytes]:
    """An indexing process: rules, hashed vectors, four chunks a commit."""
    words = [sys.executable, "-m", "tests.fakes.slow_index", str(folder), store.uri, str(pause), name]
    variables = {"SLOW_INDEX_ENDPOINT": store.endpoint, "SLOW_INDEX_REGION": store.region}
    return subprocess.Popen(words, env=os.environ | variables, stderr=subprocess.DEVNULL)


async def rows(store: StoreSettings) -> list[dict[str, Any]]:
    table = await KnowledgeTable.open(store)
    return sorted(await table.columns(COLUMNS), key=lambda row: row["id"])


async def together(place: Path, store: StoreSettings) -> None:
    """8 writers of 20 pages each, and readers."""
    running = []
    for writer in range(8):
        folder = place / f"writer{writer}"
        folder.mkdir()
        for number in range(20):
            (folder / f"{number}.md").write_text(page(f"W{writer}p{number}"))
        running.append(start(folder, store, f"writer{writer}", 0.0))
    began, reads = time.perf_counter(), []
    while any(process.poll() is None for process in running):
        await asyncio.sleep(0.2)
        try:
            found = await rows(store)
        except Exception as error:  # noqa: BLE001 - the table is not there yet
            print("  reader:", str(error)[:80])
            continue
        reads.append(Counter(row["page_id"] for row in found))
    found = await rows(store)
    sizes = Counter(row["page_id"] for row in found)
    mixed = sum(any(sizes[name] != count for name, count in read.items()) for read in reads)
    print(
        f"8 × 20 pages at once: {len(found)} rows, {len({r['id'] for r in found})} ids, {len(sizes)} pages, "
        f"exit {[p.returncode for p in running]}; "
        f"{len(reads)} reads, {mixed} with half a page; {time.perf_counter() - began:.0f} s"
    )


async def killed(place: Path, new_store: Any, kills: int) -> None:
    """Kill, go on, compare; the site is edited before each kill."""
    folder, rng = place / "site", random.Random(1)
    folder.mkdir()
    store, wrong, in_run, done = new_store("killed"), 0, 0, 0
    whole = 6.0  # s of an undisturbed run, measured with each reference
    while done < kills:
        for number in range(12):
            (folder / f"{number}.md").write_text(page(f"P{number}", rng.randrange(3)))
        process = start(folder, store, "pages", 0.02)
        await asyncio.sleep(rng.uniform(0.4, 1.0) * whole)  # before, the process only imports
        in_run += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        done += 1
        if done % 5 and done < kills:
            continue  # killed again, upon what the last kill left
        assert start(folder, store, "pages", 0.0).wait() == 0
        reference = new_store(f"reference{done}")
        began = time.perf_counter()
        assert start(folder, reference, "pages", 0.02).wait() == 0
        whole = time.perf_counter() - began
        same = await rows(store) == await rows(reference)
        wrong += not same
        print(f"  {done} kills ({in_run} while it ran): {'equal' if same else 'DIFFERENT'}", flush=True)
        shutil.rmtree(reference.uri, ignore_errors=True)
    print(f"{kills} kills, {in_run} while the run was under way: {wrong} comparisons differ")


async def main(kills: int, s3: bool) -> None:
    """Both parts, on a disk or on a loopback S3 server."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if s3:
            import boto3
            from moto.server import ThreadedMotoServer

            server = ThreadedMotoServer(port=0, verbose=False)
            server.start()
            host, port = server.get_host_and_port()
            os.environ |= {
                "AWS_ACCESS_KEY_ID": "test",
                "AWS_SECRET_ACCESS_KEY": "test",
                "AWS_EC2_METADATA_DISABLED": "true",
            }
            endpoint = f"http://{host}:{port}"
            boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1").create_bucket(Bucket="site")

            def new_store(name: str) -> StoreSettings:
                return StoreSettings(uri=f"s3://site/{name}", endpoint=endpoint, region="us-east-1")
        else:

            def new_store(name: str) -> StoreSettings:
                return StoreSettings(uri=str(place / name))

        await together(place, new_store("together"))
        await killed(place, new_store, kills)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    asyncio.run(main([*numbers, 100][0], "--s3" in sys.argv))
