"""The commands as a user types them: exit status, and one line that says what to do."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from functions import reindexing
from shared.errors import TableUnavailable
from shared.settings import Settings

ROOT = Path(__file__).parents[1]


def portavoz(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PORTAVOZ_", "OPENAI_"))}
    return subprocess.run(
        [sys.executable, "-m", "functions.cli", *words],
        cwd=folder, env=environment | variables | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ask", ""], "the last message is empty"),
        (["ask", "x" * 9000], "at most 8000"),
        (["search", " "], "query 1 is empty"),
        (["index", "nowhere"], "neither a source"),
        (["index"], "nothing to index"),
        (["serve", "--port", "99999"], "--port"),
    ],
)
def test_bad_usage_is_status_2_and_says_what_to_do(tmp_path: Path, words: list[str], says: str) -> None:
    done = portavoz(tmp_path, *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_in_use_is_said_before_anything_is_served(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = portavoz(tmp_path, "serve", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "--port" in done.stderr
    assert "serves" not in done.stdout


def test_a_file_of_a_source_is_indexed_as_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "content").mkdir()
    (tmp_path / "content" / "a.md").write_text("# Lamp\n\nThe lamp costs nine euros.")
    (tmp_path / "portavoz.toml").write_text('[[sources]]\nname = "docs"\nkind = "folder"\npath = "content"\n')
    done = portavoz(tmp_path, "index", "content/a.md", "--json")
    assert done.returncode == 0, done.stderr
    assert '"source": "docs"' in done.stdout
    (tmp_path / "elsewhere" / "docs").mkdir(parents=True)
    clash = portavoz(tmp_path, "index", "elsewhere/docs")
    assert clash.returncode == 2
    assert "under another name" in clash.stderr


def test_a_variable_with_one_underscore_is_named_with_the_right_spelling(tmp_path: Path) -> None:
    done = portavoz(tmp_path, "status", PORTAVOZ_SITE_NAME="x")
    assert done.returncode == 2
    assert "PORTAVOZ_SITE__NAME" in done.stderr


async def test_two_runs_asked_for_at_once_are_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        async def run(self, sources: object) -> None:
            raise OSError("the disk is full")

    async def slow(settings: Settings, *, writes: bool) -> SimpleNamespace:
        await asyncio.sleep(0.05)
        return SimpleNamespace(indexer=Broken())

    monkeypatch.setattr(reindexing, "build_services", slow)
    reindex = reindexing.one_run_at_a_time(Settings())
    started = await asyncio.gather(reindex(), reindex())
    assert [reply["started"] for reply in started] == [True, False]
    assert "under way" in started[1]["reason"]
    await asyncio.sleep(0.05)
    assert "the disk is full" in caplog.text
    assert (await reindex())["started"]


async def test_a_run_that_cannot_start_does_not_bar_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    async def down(settings: Settings, *, writes: bool) -> None:
        raise TableUnavailable("down")

    monkeypatch.setattr(reindexing, "build_services", down)
    reindex = reindexing.one_run_at_a_time(Settings())
    for _ in range(2):
        with pytest.raises(TableUnavailable):
            await reindex()


def test_a_source_that_left_the_settings_is_shown_and_removed_when_confirmed(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"# {name}\n\nThe {name} lamp costs nine euros.")
    settings = tmp_path / "portavoz.toml"
    source = '[[sources]]\nname = "{0}"\nkind = "folder"\npath = "{0}"\n'
    settings.write_text(source.format("old") + source.format("new"))
    assert portavoz(tmp_path, "index").returncode == 0
    settings.write_text(source.format("new"))
    (tmp_path / "old" / "a.md").unlink()
    (tmp_path / "old").rmdir()
    assert "'old' is in the index but not in the settings" in portavoz(tmp_path, "status").stderr
    assert portavoz(tmp_path, "index", "old").returncode == 2
    assert "would be removed" in portavoz(tmp_path, "index", "old", "--yes", "--dry-run").stderr
    assert "'old'" in portavoz(tmp_path, "status").stderr
    assert portavoz(tmp_path, "index", "old", "--yes").returncode == 0
    assert "'old'" not in portavoz(tmp_path, "status").stderr


def test_versions_are_listed_and_returned_to(tmp_path: Path) -> None:
    (tmp_path / "content").mkdir()
    page = tmp_path / "content" / "a.md"
    (tmp_path / "portavoz.toml").write_text('[[sources]]\nname = "docs"\nkind = "folder"\npath = "content"\n')
    for price in ("nine", "ten"):
        page.write_text(f"# Lamp\n\nThe lamp costs {price} euros.")
        assert portavoz(tmp_path, "index").returncode == 0
    versions = json.loads(portavoz(tmp_path, "versions", "--json").stdout)["versions"]
    assert [v["live"] for v in versions] == [False, True]
    assert "1 pages changed" in versions[1]["changes"]
    assert portavoz(tmp_path, "rollback", "999").returncode == 2
    assert portavoz(tmp_path, "rollback", str(versions[0]["version"])).returncode == 0
    assert "nine euros" in portavoz(tmp_path, "search", "How much is the lamp?", "--json").stdout
    again = json.loads(portavoz(tmp_path, "index", "--json").stdout)
    assert again["sources"][0]["pages_changed"] == 1
    assert "ten euros" in portavoz(tmp_path, "search", "How much is the lamp?", "--json").stdout


def test_a_dry_run_makes_no_index(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Lamp\n\nThe lamp costs nine euros.")
    done = portavoz(tmp_path, "index", str(tmp_path), "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "1 chunks to do, 0 model calls" in done.stdout
    assert not (tmp_path / ".portavoz").exists()
