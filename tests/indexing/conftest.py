"""A web site to index, and what a run over it needs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import stamina
from pydantic import TypeAdapter

from functions.indexing.pages import Incomplete, Skipped, Unchanged, Visits
from functions.indexing.sources import pages_of
from shared.records import Page
from shared.settings import Settings, Source, StoreSettings
from tests.fakes.web_site import WebSite

SOURCE: TypeAdapter[Any] = TypeAdapter(Source)


@pytest.fixture
def web_site() -> Iterator[WebSite]:
    """A scripted web site; tests/fakes/web_site.py says how to use it. Retries do not wait."""
    site = WebSite()
    with stamina.set_testing(True, attempts=4):
        yield site
    site.close()


@pytest.fixture
def web_source(web_site: WebSite) -> Callable[..., Any]:
    """A source of the site: `web_source("crawl", "/start", max_depth=2)`."""

    def make(kind: str, path: str = "", **settings: Any) -> Any:
        defaults = {
            "name": "web",
            "kind": kind,
            "url": web_site.url + path,
            "allow_hosts": ["127.0.0.1"],
            "requests_per_second": 100_000,
        }
        return SOURCE.validate_python(defaults | settings)

    return make


@pytest.fixture
def web_settings(tmp_path: Path) -> Callable[..., Settings]:
    """Settings with these sources and a table of their own."""

    def make(*sources: Any) -> Settings:
        return Settings(
            store=StoreSettings(uri=str(tmp_path / "store")), sources=sources, indexing={"batch_pause_ms": 0}
        )

    return make


class Read:
    """What one reading of a source yielded, sorted."""

    def __init__(self, items: list[Any], visits: Visits) -> None:
        self.pages = [item for item in items if isinstance(item, Page)]
        self.skipped = [item for item in items if isinstance(item, Skipped)]
        self.unchanged = [item.id for item in items if isinstance(item, Unchanged)]
        self.incomplete = [item.reason for item in items if isinstance(item, Incomplete)]
        self.visits = visits
        self.ids = [page.id for page in self.pages]

    def reasons(self, *, failed: bool | None = None) -> str:
        return "\n".join(s.reason for s in self.skipped if failed is None or s.failed == failed)


@pytest.fixture
def read(web_settings: Callable[..., Settings]) -> Callable[..., Any]:
    """Reads a source to its end: `await read(source)`, and again with `after=` what the first reading gave."""

    async def run(source: Any, after: Read | None = None) -> Read:
        visits = Visits(before=dict(after.visits.now) if after else {})
        found: AsyncIterator[Any] = pages_of(source, web_settings(source), visits)
        return Read([item async for item in found], visits)

    return run
