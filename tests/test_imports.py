"""Dependencies point one way: modal_app | cli → web → services → indexing | retrieval | chat → shared."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SLICES = ("functions.indexing", "functions.retrieval", "functions.chat")
ABOVE = ("functions.web", "functions.cli", "functions.commands", "functions.services", "functions.modal_app")
ONLY_IN = {
    "modal": {"functions/modal_app.py"},
    "openai": {"shared/language_model.py"},
    "fastapi": {"functions/web.py"},
    "typer": {"functions/cli.py"},
}
FILES = sorted(p for folder in ("shared", "functions") for p in (ROOT / folder).rglob("*.py"))


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.relative_to(ROOT).as_posix())
def test_imports_go_one_way(file: Path) -> None:
    name = file.relative_to(ROOT).as_posix()
    own = next((s for s in SLICES if name.startswith(s.replace(".", "/") + "/")), None)
    for module in imported(file):
        if name.startswith("shared/"):
            assert not module.startswith("functions"), f"{name} imports {module}"
        if own:
            forbidden = (*ABOVE, *(s for s in SLICES if s != own))
            assert not module.startswith(forbidden), f"{name} imports {module}"
        places = ONLY_IN.get(module.split(".")[0])
        assert places is None or name in places, f"{name} imports {module}"
