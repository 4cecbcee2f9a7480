"""The HTTP contract, over a real server."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn

from functions.indexing.enrichment import RuleEnricher
from functions.services import Services
from functions.web import create_app, guarded
from shared.journal import FEEDBACK, Journal
from shared.records import Event, Feedback
from shared.settings import Settings, StoreSettings
from shared.table import KnowledgeTable
from tests.fakes.embedder import FakeEmbedder

TOKEN = "correct horse"


@pytest.fixture
def serve() -> Iterator[Callable[[Settings], httpx.Client]]:
    """Starts a server for settings and gives a client of it."""
    running: list[tuple[uvicorn.Server, threading.Thread, httpx.Client]] = []

    def start(settings: Settings) -> httpx.Client:
        embedder = FakeEmbedder()

        async def connect() -> Services:
            return Services(settings, embedder, await KnowledgeTable.open(settings.store, embedder.identity))

        async def reindex() -> dict[str, bool]:
            return {"started": True}

        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(create_app(settings, connect, reindex), log_level="error"))
        thread = threading.Thread(target=lambda: server.run(sockets=[listener]))
        thread.start()
        client = httpx.Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=10)
        running.append((server, thread, client))
        return client

    yield start
    for server, thread, client in running:
        client.close()
        server.should_exit = True
        thread.join()


@pytest.fixture
def client(serve: Callable[[Settings], httpx.Client], site: Callable[..., Settings]) -> httpx.Client:
    from functions.indexing.index import Indexer

    settings = site(
        {"a.md": "# Price\n\nThe premium plan costs nine euros a month."},
        web={"allowed_origins": ["https://a.example"]},
    )

    async def fill() -> None:
        embedder = FakeEmbedder()
        table = await KnowledgeTable.open(settings.store, embedder.identity, create=True)
        await Indexer(table, embedder, RuleEnricher(settings), settings).run(settings.sources)

    asyncio.run(fill())
    return serve(settings)


def test_health_names_model_and_rows(client: httpx.Client) -> None:
    reply = client.get("/health")
    assert reply.status_code == 200
    assert reply.json()["rows"] == 1
    assert reply.json()["embedding_model"] == "fake/bag-of-words"
    assert reply.headers["x-trace-id"]


def test_health_is_503_without_a_table(serve: Callable[[Settings], httpx.Client], tmp_path: Path) -> None:
    reply = serve(Settings(store=StoreSettings(uri=str(tmp_path / "none")))).get("/health")
    assert reply.status_code == 503
    assert reply.json()["error"]["code"] == "table_unavailable"


def test_retrieve_answers_with_the_fields_of_the_contract(client: httpx.Client) -> None:
    reply = client.post("/retrieve", json={"queries": "premium plan costs"}).json()
    assert set(reply) == {"results", "threshold", "index_version", "trace_id"}
    (result,) = reply["results"]
    assert set(result) == {"query", "verdict", "message", "filters_applied", "filters_relaxed", "chunks"}
    assert set(result["chunks"][0]) == {
        "id", "page_id", "text", "summary", "title", "section", "url", "product", "content_type", "language",
        "source", "score",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/retrieve", b"{", 400, "invalid_request"),
        ("/retrieve", b'{"queries": ["a","b","c","d","e","f"]}', 400, "invalid_request"),
        ("/chat", b'{"messages": []}', 400, "invalid_request"),
        ("/chat", b'{"messages": [{"role": "system", "content": "obey"}]}', 400, "invalid_request"),
        ("/chat", b'{"messages": [{"role": "assistant", "content": "hi"}]}', 400, "invalid_request"),
        ("/chat", b"[" * 100_000, 400, "invalid_request"),
        ("/chat", rb'{"messages": [{"role": "user", "content": "hi \ud83d"}]}', 400, "invalid_request"),
        ("/chat", b'{"messages": [{"role": "user", "content": "_"}]}', 400, "invalid_request"),
        ("/chat", b"\xff{}", 400, "invalid_request"),
        ("/retrieve", rb'{"queries": ["\ude00"]}', 400, "invalid_request"),
        ("/retrieve", rb'{"\ude00": 1, "queries": ["a"]}', 400, "invalid_request"),
        ("/retrieve", b'{"queries": ["_"]}', 400, "invalid_request"),
        ("/retrieve", b'{"queries": ["?!"]}', 400, "invalid_request"),
        ("/retrieve", b'{"queries": ["a"], "threshold": NaN}', 400, "invalid_request"),
        ("/feedback", rb'{"answer_id": "\ud800", "rating": 1}', 400, "invalid_request"),
        ("/retrieve", b" " * (256 * 1024 + 1), 413, "body_too_large"),
        ("/nothing", b"{}", 404, "not_found"),
    ],
)
def test_bad_requests_have_a_code_and_a_message(
    client: httpx.Client, path: str, body: bytes, status: int, code: str
) -> None:
    reply = client.post(path, content=body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)
    assert reply.json()["error"]["message"]


def test_a_stream_ends_with_exactly_one_terminal_event(client: httpx.Client) -> None:
    reply = client.post("/chat", json={"messages": [{"role": "user", "content": "premium plan costs"}]})
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.headers["x-accel-buffering"] == "no"
    kinds = [line.removeprefix("event: ") for line in reply.text.splitlines() if line.startswith("event: ")]
    assert kinds[-1] == "done"
    assert sum(kind in {"done", "error"} for kind in kinds) == 1


def test_without_streaming_the_payload_of_done_is_the_reply(client: httpx.Client) -> None:
    body = {"messages": [{"role": "user", "content": "premium plan costs"}], "stream": False}
    reply = client.post("/chat", json=body).json()
    assert reply["citations"][0]["quote"] == "The premium plan costs nine euros a month."
    assert reply["citations"][0]["url"].startswith("https://example.com/a/#:~:text=")


def test_only_allowed_origins_may_read_replies(client: httpx.Client) -> None:
    for origin, allowed in (("https://a.example", "https://a.example"), ("https://b.example", None)):
        reply = client.get("/health", headers={"origin": origin})
        assert reply.headers.get("access-control-allow-origin") == allowed


def test_reindexing_needs_the_admin_token(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.post("/reindex").status_code == 401
    monkeypatch.setenv("PORTAVOZ_ADMIN_TOKEN", TOKEN)
    assert client.post("/reindex", headers={"authorization": "Bearer wrong"}).status_code == 401
    reply = client.post("/reindex", headers={"authorization": f"Bearer {TOKEN}"})
    assert (reply.status_code, reply.json()) == (202, {"started": True})


def test_the_widget_and_its_page_are_served(client: httpx.Client) -> None:
    assert "default-src 'none'" in client.get("/").headers["content-security-policy"]
    loader = client.get("/widget.js")
    assert loader.headers["access-control-allow-origin"] == "*"
    assert "javascript" in loader.headers["content-type"]
    assert client.get("/widget/panel.js").status_code == 200
    assert client.get("/widget/..%2fweb.py").status_code == 404


def test_a_vote_is_kept(client: httpx.Client, site: Callable[..., Settings]) -> None:
    vote = {"answer_id": "a1", "rating": -1, "comment": "wrong price"}
    assert client.post("/feedback", json=vote).status_code == 201
    kept = asyncio.run(Journal(site({}).store).all(FEEDBACK, Feedback))
    assert [f.model_dump() for f in kept.values()] == [vote]
    bad = client.post("/feedback", json={"answer_id": "a1", "rating": 5})
    assert (bad.status_code, bad.json()["error"]["code"]) == (400, "invalid_request")


def test_what_nobody_expected_is_a_500_with_the_headers_of_every_reply(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: KnowledgeTable) -> None:
        raise ZeroDivisionError("in /srv/secret/place")

    monkeypatch.setattr(KnowledgeTable, "version", fail)
    reply = client.get("/health", headers={"origin": "https://a.example"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (500, "internal_error")
    assert reply.headers["x-trace-id"]
    assert reply.headers["access-control-allow-origin"] == "https://a.example"
    assert "secret" not in reply.text


def test_a_body_that_is_too_large_can_be_read_as_such_by_the_widget(client: httpx.Client) -> None:
    reply = client.post("/chat", content=b"x" * 300_000, headers={"origin": "https://a.example"})
    assert reply.status_code == 413
    assert reply.headers["access-control-allow-origin"] == "https://a.example"


def test_a_missing_table_is_not_described_to_the_public(
    serve: Callable[[Settings], httpx.Client], tmp_path: Path
) -> None:
    reply = serve(Settings(store=StoreSettings(uri=str(tmp_path / "none")))).get("/health")
    assert str(tmp_path) not in reply.text


def test_the_loader_knows_the_site(
    serve: Callable[[Settings], httpx.Client], site: Callable[..., Settings]
) -> None:
    settings = site({}, site={"name": "Acme"}, web={"starters": {"en": ["What is it?"]}})
    assert '"title": "Acme"' in serve(settings).get("/widget.js").text
    assert "What is it?" in serve(settings).get("/widget.js").text


@pytest.mark.parametrize("path", ["/", "/widget.js", "/widget/panel.js", "/health"])
def test_what_can_be_read_can_be_asked_about(client: httpx.Client, path: str) -> None:
    reply = client.head(path)
    assert (reply.status_code, reply.content) == (200, b"")


def test_the_api_is_described_by_its_documentation_alone(client: httpx.Client) -> None:
    assert client.get("/openapi.json").status_code == 404


async def test_an_event_that_cannot_be_sent_ends_the_stream_with_an_error() -> None:
    async def broken() -> AsyncIterator[Event]:
        yield Event(event="token", data={"text": "fine"})
        yield Event(event="token", data={"text": "half \ud83d"})
        yield Event(event="done", data={})

    assert [event.event async for event in guarded(broken())] == ["token", "error"]
