"""An OpenAI-compatible server on loopback whose replies a test writes down beforehand.

    openai_server.reply("Hello [1].")                   # one reply, after those queued before
    openai_server.reply_json({"sufficient": True})      # the same, as structured output
    openai_server.fail(429, {"Retry-After": "1"})       # one error status
    openai_server.script([cut("Half an ans"), "whole"]) # several; a string is a reply, a dict is JSON
    openai_server.always(reply, schema="Plan")          # whenever nothing is queued; schema None: free text
    openai_server.always(lambda request: …)             # a handler: from Request to any of the above
    openai_server.script([fail(500)], path="/embeddings")
    openai_server.without("response_format")            # 400 for requests with this parameter, as old servers do
    openai_server.requests, .url, .settings("model", timeout_s=…)

Other shapes: `pieces`. Faults: `fail`, `refuse`, `hang`, `hang_before_token`, `cut`, `stall`, `garbage`, `empty`, `filtered`.
Embeddings are the hashed bags of words of tests/fakes/embedder.py unless scripted.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from shared.settings import ModelSettings
from tests.fakes.embedder import bag_of_words

CHAT, EMBEDDINGS = "/chat/completions", "/embeddings"
DIM = 64  # of the default embeddings


@dataclass(frozen=True)
class Request:
    """One request as it came in."""

    path: str  # without /v1
    body: dict[str, Any]
    headers: dict[str, str]  # names in lower case

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body.get("messages", [])

    @property
    def prompt(self) -> str:
        """All messages as one text."""
        return "\n".join(str(m["content"]) for m in self.messages)

    @property
    def last(self) -> str:
        """The last message."""
        return str(self.messages[-1]["content"]) if self.messages else ""

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def schema(self) -> str | None:
        """The name of the schema asked for, None for free text."""
        form = self.body.get("response_format") or {}
        return form.get("json_schema", {}).get("name")


@dataclass(frozen=True)
class Reply:
    """What the server does with one request. Tests make it by the functions below."""

    text: str = ""
    deltas: tuple[Any, ...] | None = None  # what is sent as content, piece by piece, whatever its type
    usage: dict[str, Any] | None = None  # instead of `tokens`
    finish: str | None = "stop"
    tokens: tuple[int, int] | None = (100, 20)  # usage: read, written; None reports none
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    error: dict[str, Any] | None = None
    raw: bytes | None = None  # sent instead of a well-formed body
    fault: Literal["refuse", "hang", "hang_before_token", "cut", "stall"] | None = None


def say(text: str, *, finish: str = "stop", tokens: tuple[int, int] | None = (100, 20)) -> Reply:
    """A well-formed reply."""
    return Reply(text=text, finish=finish, tokens=tokens)


def pieces(*deltas: Any, finish: str = "stop", usage: dict[str, Any] | None = None) -> Reply:
    """A reply of these contents, each a delta of its own; the last one is the content where nothing streams."""
    return Reply(deltas=deltas, finish=finish, usage=usage)


def fail(
    status: int, headers: dict[str, str] | None = None, message: str = "", param: str | None = None
) -> Reply:
    """An error status with OpenAI's error body."""
    error = {"message": message or f"scripted {status}", "type": "scripted", "param": param, "code": None}
    return Reply(status=status, headers=headers or {}, error=error)


def refuse() -> Reply:
    """The connection is closed without a byte. (For a port that nobody listens on: `closed_url()`.)"""
    return Reply(fault="refuse")


def hang() -> Reply:
    """Nothing is sent, not even headers, until the test ends."""
    return Reply(fault="hang")


def hang_before_token() -> Reply:
    """Headers and the opening chunk are sent, then nothing."""
    return Reply(fault="hang_before_token")


def cut(text: str) -> Reply:
    """`text`, then the connection breaks."""
    return Reply(text=text, fault="cut")


def stall(text: str) -> Reply:
    """`text`, then nothing more, and the connection stays open."""
    return Reply(text=text, fault="stall")


def garbage() -> Reply:
    """Status 200 with a body that is no JSON."""
    return Reply(raw=b"<html>Bad gateway, please try {again}</html>")


def empty() -> Reply:
    """A well-formed reply without a character."""
    return Reply(text="")


def filtered(text: str = "") -> Reply:
    """The provider's content filter stopped the reply."""
    return Reply(text=text, finish="content_filter")


def closed_url() -> str:
    """The address of a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


Scripted = Reply | str | dict[str, Any]
Answer = Scripted | Callable[[Request], Scripted]


class OpenAIServer:
    """The server; made by the fixture `openai_server`, fresh for each test."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._queues: dict[str, deque[Answer]] = {CHAT: deque(), EMBEDDINGS: deque()}
        self._always: dict[str | None, Answer] = {}
        self._unknown: set[str] = set()
        self._lock = threading.Lock()
        self.released = threading.Event()  # set when the test ends: lets go of what hangs
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._http.daemon_threads = True
        self._http.block_on_close = False
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """The base URL, for `base_url` of a model."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def settings(self, model: str = "scripted", **others: Any) -> ModelSettings:
        """Settings of a model on this server, impatient by default."""
        defaults = {"timeout_s": 5.0, "first_token_timeout_s": 2.0, "connect_timeout_s": 2.0}
        return ModelSettings(model=model, base_url=self.url, **defaults | others)

    def reply(self, text: str) -> None:
        """Queue a reply."""
        self.script([text])

    def reply_json(self, value: dict[str, Any]) -> None:
        """Queue structured output."""
        self.script([value])

    def fail(self, status: int, headers: dict[str, str] | None = None, message: str = "") -> None:
        """Queue an error status."""
        self.script([fail(status, headers, message)])

    def script(self, answers: Iterable[Answer], path: str = CHAT) -> None:
        """Queue answers, one a request, for `/chat/completions` or `/embeddings`."""
        self._queues[path].extend(answers)

    def always(self, answer: Answer, schema: str | None = None) -> None:
        """Answer requests for `schema` (or for free text) so whenever nothing is queued."""
        self._always[schema] = answer

    def without(self, *parameters: str) -> None:
        """Be a server that does not know these parameters of a chat request."""
        self._unknown.update(parameters)

    def chats(self, schema: str | None = None) -> list[Request]:
        """The chat requests so far; those for one schema, when named."""
        chats = [r for r in self.requests if r.path == CHAT]
        return [r for r in chats if r.schema == schema] if schema else chats

    def close(self) -> None:
        """Stop listening and let go of what hangs."""
        self.released.set()
        self._http.shutdown()
        self._http.server_close()

    def answer_to(self, request: Request) -> Reply:
        """Record the request and choose the answer."""
        with self._lock:
            self.requests.append(request)
            unknown = sorted(self._unknown & request.body.keys())
            if unknown and request.path == CHAT:
                return fail(400, message=f"Unrecognized request argument supplied: {unknown[0]}")
            queue = self._queues.get(request.path)
            if queue:
                answer: Answer = queue.popleft()
            elif request.path == EMBEDDINGS:
                return _embeddings(request)
            else:
                answer = self._always.get(
                    request.schema, fail(500, message="nothing is scripted for this request")
                )
        given = answer(request) if callable(answer) else answer
        if isinstance(given, str):
            return say(given)
        return say(json.dumps(given, ensure_ascii=False)) if isinstance(given, dict) else given


def _embeddings(request: Request) -> Reply:
    texts = request.body["input"]
    texts = [texts] if isinstance(texts, str) else texts
    data = [
        {"object": "embedding", "index": i, "embedding": bag_of_words(text, DIM).tolist()}
        for i, text in reversed(list(enumerate(texts)))  # the order is not promised: `index` tells
    ]
    tokens = sum(len(text.split()) for text in texts)
    body = {
        "object": "list", "model": request.body["model"], "data": data,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }  # fmt: skip
    return Reply(raw=json.dumps(body).encode())


def _handler_for(server: OpenAIServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._whole(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(path=self.path.removeprefix("/v1"), body=json.loads(raw), headers=headers)
            reply = server.answer_to(request)
            with contextlib.suppress(ConnectionError):
                self._act(request, reply)

        def _act(self, request: Request, reply: Reply) -> None:
            if reply.fault in {"refuse", "hang"}:
                if reply.fault == "hang":
                    server.released.wait()
                self.close_connection = True
            elif reply.raw is not None:
                kind = "application/json" if reply.raw.startswith(b"{") else "text/html"
                self._bytes(200, reply.raw, {"Content-Type": kind})
            elif reply.error is not None:
                self._whole(reply.status, {"error": reply.error}, reply.headers)
            elif request.stream:
                self._streamed(request, reply)
            else:
                self._completion(request, reply)

        def _completion(self, request: Request, reply: Reply) -> None:
            content = reply.text if reply.deltas is None else reply.deltas[-1]
            message = {"role": "assistant", "content": content}
            body = _base(request, "chat.completion") | {
                "choices": [{"index": 0, "message": message, "finish_reason": reply.finish}],
                "usage": _usage(reply),
            }
            if reply.fault is None:
                self._whole(200, body)
                return
            self._open("application/json", length=10_000)  # more is promised than comes
            self.wfile.write(json.dumps(body).encode()[:-20])
            self.wfile.flush()
            self._break_off(reply)

        def _streamed(self, request: Request, reply: Reply) -> None:
            self._open("text/event-stream")
            self._part(request, {"role": "assistant", "content": ""})
            if reply.fault == "hang_before_token":
                server.released.wait()
                self.close_connection = True
                return
            words = re.findall(r"\s*\S+|\s+\Z", reply.text)
            for word in words if reply.deltas is None else reply.deltas:
                self._part(request, {"content": word})
            if reply.fault is not None:
                self._break_off(reply)
                return
            self._part(request, {}, reply.finish)
            if reply.tokens and (request.body.get("stream_options") or {}).get("include_usage"):
                self._event(_base(request, "chat.completion.chunk") | {"choices": [], "usage": _usage(reply)})
            self._chunk(b"data: [DONE]\n\n")
            self._chunk(b"")

        def _break_off(self, reply: Reply) -> None:
            if reply.fault == "stall":
                server.released.wait()
            self.close_connection = True

        def _part(self, request: Request, delta: dict[str, Any], finish: str | None = None) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            self._event(_base(request, "chat.completion.chunk") | {"choices": [choice]})

        def _event(self, value: dict[str, Any]) -> None:
            self._chunk(f"data: {json.dumps(value)}\n\n".encode())

        def _chunk(self, data: bytes) -> None:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

        def _open(self, kind: str, length: int | None = None) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            if length is None:
                self.send_header("Transfer-Encoding", "chunked")
            else:
                self.send_header("Content-Length", str(length))
            self.end_headers()

        def _whole(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
            self._bytes(
                status, json.dumps(value).encode(), {"Content-Type": "application/json"} | (headers or {})
            )

        def _bytes(self, status: int, data: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


def _base(request: Request, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": request.body["model"]}


def _usage(reply: Reply) -> dict[str, Any] | None:
    if reply.usage is not None:
        return reply.usage
    if reply.tokens is None:
        return None
    read, written = reply.tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
