"""From a database to a filtered search: by the indexer, over HTTP and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from functions.indexing.enrichment import RuleEnricher
from functions.indexing.index import Indexer
from functions.indexing.report import RunReport
from functions.retrieval.search import Retriever
from functions.services import Services
from functions.web import create_app
from shared.records import Filters, RetrieveRequest
from shared.settings import Settings, StoreSettings
from shared.table import KnowledgeTable
from tests.fakes.database import sql_source, write
from tests.fakes.embedder import FakeEmbedder

TABLE = (
    "create table articles (id integer primary key, body text, author text, tags json, views int, day date)"
)
ROWS = [
    (1, "Rain is expected in the north.", "Ann", '["weather", "north"]', 10, "2024-01-31"),
    (2, "Rain is expected in the south.", "O'Neil", '["weather"]', 20, "2024-02-01"),
    (3, "The library opens on Sunday.", None, None, None, None),
]


class World:
    """A database, its source, and a table that it is indexed into."""

    def __init__(self, folder: Path, **keys: Any) -> None:
        self.file = folder / "site.db"
        write(self.file, TABLE, ("insert into articles values (?, ?, ?, ?, ?, ?)", ROWS))
        source = sql_source(self.file, metadata=("author", "tags", "views", "day"), **keys)
        self.settings = Settings(store=StoreSettings(uri=str(folder / "store")), sources=(source,))
        self.embedder = FakeEmbedder()

    async def index(self, settings: Settings | None = None) -> RunReport:
        settings = settings or self.settings
        self.table = await KnowledgeTable.open(settings.store, self.embedder.identity, create=True)
        return await Indexer(self.table, self.embedder, RuleEnricher(settings), settings).run(
            settings.sources
        )

    async def found(self, **metadata: Any) -> list[str]:
        request = RetrieveRequest(queries=("rain",), filters=Filters(metadata=metadata or None), threshold=-1)
        response = await Retriever(self.table, self.embedder, self.settings).retrieve(request)
        return sorted(chunk.page_id for chunk in response.results[0].chunks)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_pages_are_found_by_their_metadata(world: World) -> None:
    report = await world.index()
    assert (report.sources[0].pages_changed, report.sources[0].error) == (3, None)
    assert await world.found() == ["db/1", "db/2", "db/3"]
    assert await world.found(author="O'Neil") == ["db/2"]
    assert await world.found(tags="weather", views={"from": 15}) == ["db/2"]
    assert await world.found(day={"from": "2024-01-01", "to": "2024-01-31"}) == ["db/1"]
    assert await world.found(author=[None, "Ann"]) == ["db/1", "db/3"]


async def test_a_second_run_changes_nothing(world: World) -> None:
    await world.index()
    report = await world.index()
    assert (report.sources[0].pages_unchanged, report.sources[0].pages_changed) == (3, 0)


async def test_a_changed_value_is_written_without_embedding_again(world: World) -> None:
    await world.index()
    embedded = len(world.embedder.embedded)
    write(world.file, "update articles set author = 'Bea', views = null where id = 1")
    (report,) = (await world.index()).sources
    assert (report.pages_changed, report.chunks_added, report.chunks_removed) == (1, 0, 0)
    assert len(world.embedder.embedded) == embedded
    assert await world.found(author="Bea", views=None) == ["db/1"]
    assert await world.found(author="Ann") == []


async def test_rows_that_are_gone_are_removed(world: World) -> None:
    await world.index()
    write(world.file, "delete from articles where id = 2")
    (report,) = (await world.index()).sources
    assert report.removal_withheld == 1 or report.pages_removed == 1  # one of three is more than 30 %
    assert await world.found() == (["db/1", "db/3"] if report.pages_removed else ["db/1", "db/2", "db/3"])


async def test_another_source_with_another_kind_says_so_and_leaves_the_first(world: World) -> None:
    await world.index()
    other = sql_source(
        world.file, name="other", query="select id, body, 'x' as views from articles", metadata=("views",)
    )
    (report,) = (await world.index(world.settings.model_copy(update={"sources": (other,)}))).sources
    assert "metadata 'views' is a text here, but a whole number in the index" in (report.error or "")
    assert await world.found() == ["db/1", "db/2", "db/3"]


async def test_over_http(world: World) -> None:
    await world.index()
    services = Services(world.settings, world.embedder, world.table)

    async def connect() -> Services:
        return services

    transport = httpx.ASGITransport(app=create_app(world.settings, connect))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        filters = {"metadata": {"author": ["Ann"], "views": {"to": 10}}}
        body: dict[str, Any] = {"queries": "rain", "filters": filters, "threshold": -1}
        (result,) = (await client.post("/retrieve", json=body)).json()["results"]
        assert [chunk["page_id"] for chunk in result["chunks"]] == ["db/1"]
        assert result["filters_applied"] == {
            "metadata": {"author": ["Ann"], "views": {"from": None, "to": 10}}
        }
        assert "metadata" not in result["chunks"][0]

        for path, more in (
            ("/retrieve", {"queries": "rain"}),
            ("/chat", {"messages": [{"role": "user", "content": "rain?"}]}),
        ):
            reply = await client.post(path, json={**more, "filters": {"metadata": {"nope": 1}}})
            assert reply.status_code == 400
            assert reply.json()["error"]["code"] == "invalid_request"
            assert (
                "there is: author (text), day (date), tags (list of texts)"
                in reply.json()["error"]["message"]
            )

        chat = {"messages": [{"role": "user", "content": "Where is rain expected?"}], "stream": False, "filters": {"metadata": {"author": "O'Neil"}}}  # fmt: skip
        done = (await client.post("/chat", json=chat)).json()
        assert "south" in done["answer"]
        assert "north" not in done["answer"]


def test_on_the_command_line(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from typer.testing import CliRunner

    from functions import commands
    from functions.cli import app

    (tmp_path / "portavoz.toml").write_text(
        '[[sources]]\nname = "db"\nkind = "sql"\nurl = "sqlite:///site.db"\ntable = "articles"\nkey = "id"\ntext = "body"\n'
        'metadata = ["author", "views"]\n'
    )
    monkeypatch.chdir(tmp_path)

    async def build(settings: Settings, **others: Any) -> Services:
        table = await KnowledgeTable.open(settings.store, world.embedder.identity, create=True)
        return Services(settings, world.embedder, table)

    monkeypatch.setattr(commands, "build_services", build)
    runner = CliRunner()
    indexed = runner.invoke(app, ["index", "db", "--json"], catch_exceptions=False)
    assert indexed.exit_code == 0, indexed.output
    found = runner.invoke(
        app,
        ["search", "rain", "--where", "author=O'Neil", "--where", "views>=10", "--threshold", "-1", "--json"],
    )
    (result,) = json.loads(found.stdout)["results"]
    assert [chunk["page_id"] for chunk in result["chunks"]] == ["db/2"]
