"""The commands as a user types them: exit status, and one line that says what to do."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

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
