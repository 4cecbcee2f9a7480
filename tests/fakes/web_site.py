"""A web site on loopback whose answers a test writes down beforehand.

    web_site.page("/a", "Title", "<p>Text</p>", links=["/b"])    # an article; with an ETag, so that 304 works
    web_site.put("/robots.txt", "User-agent: *\n", type="text/plain")
    web_site.put("/x", status=301, headers={"Location": "/y"})
    web_site.script("/x", [status(503), status(200)])            # one a request, before what is put there
    web_site.remove("/a")
    web_site.missing = Answer(status=200, body=b"…")             # for paths that nothing is put at
    web_site.asked, web_site.statuses, web_site.url

Headers may hold `{url}`, the address of the site; so may texts.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROSE = (
    "It explains with many words how {title} works, what it costs, who may use it and where help is found. "
)


@dataclass(frozen=True)
class Answer:
    """What the site answers with."""

    body: bytes = b""
    status: int = 200
    type: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    etag: bool = True  # of the body; conditional requests are answered by 304
    cut: bool = False  # the connection ends in the middle


@dataclass(frozen=True)
class Asked:
    """One request as it came in, and the status that it got."""

    path: str  # with the query
    headers: dict[str, str]  # names in lower case
    status: int


def status(code: int, **headers: str) -> Answer:
    """An answer without a text; `Retry_After` stands for `Retry-After`."""
    return Answer(status=code, headers={name.replace("_", "-"): value for name, value in headers.items()})


class WebSite:
    """The site; made by the fixture `web_site`, fresh for each test."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.requests: list[Asked] = []
        self.missing = Answer(status=404, body=b"<h1>Not found</h1>")
        self._scripts: dict[str, deque[Answer]] = {}
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._http.daemon_threads = True
        self._http.block_on_close = False
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """The address of the site, without a slash."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def asked(self) -> list[str]:
        """The paths asked for, in order."""
        return [request.path for request in self.requests]

    @property
    def statuses(self) -> dict[str, int]:
        """The status that each path got at last."""
        return {request.path: request.status for request in self.requests}

    def put(
        self,
        path: str,
        body: str | bytes = b"",
        *,
        status: int = 200,
        type: str = "text/html; charset=utf-8",
        headers: dict[str, str] | None = None,
        etag: bool = True,
    ) -> None:
        """Answer requests for a path so from now on."""
        raw = body.replace("{url}", self.url).encode() if isinstance(body, str) else body
        told = {name: value.replace("{url}", self.url) for name, value in (headers or {}).items()}
        self.answers[path] = Answer(body=raw, status=status, type=type, headers=told, etag=etag)

    def page(
        self,
        path: str,
        title: str,
        body: str = "",
        *,
        links: Iterable[str] = (),
        head: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        """An article of some hundred words, with links to other pages."""
        text = body or "".join(f"<p>{PROSE.format(title=escape(title))} Part {n}.</p>" for n in range(12))
        menu = "".join(f'<li><a href="{escape(link)}">{escape(link)}</a></li>' for link in links)
        self.put(
            path,
            f'<!doctype html><html lang="en"><head><title>{escape(title)}</title>{head}</head><body>'
            f"<nav><ul>{menu}</ul></nav><main><article><h1>{escape(title)}</h1>{text}</article></main></body></html>",
            headers=headers,
        )

    def sitemap(self, *paths: str, at: str = "/sitemap.xml") -> None:
        """A sitemap of these paths."""
        items = "".join(f"<url><loc>{self.url}{escape(path)}</loc></url>" for path in paths)
        self.put(
            at,
            f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{items}</urlset>',
            type="application/xml",
        )

    def script(self, path: str, answers: Iterable[Answer]) -> None:
        """Queue answers, one a request."""
        self._scripts.setdefault(path, deque()).extend(answers)

    def remove(self, path: str) -> None:
        """The page is gone."""
        del self.answers[path]

    def forget(self) -> None:
        """Begin to count the requests anew."""
        self.requests.clear()

    def close(self) -> None:
        """Stop listening."""
        self._http.shutdown()
        self._http.server_close()

    def answer_to(self, path: str, headers: dict[str, str]) -> Answer:
        """Choose the answer and record the request."""
        with self._lock:
            queue = self._scripts.get(path)
            answer = queue.popleft() if queue else self.answers.get(path, self.missing)
            if answer.etag and answer.status == 200 and headers.get("if-none-match") == etag_of(answer):
                answer = Answer(status=304, headers={"ETag": etag_of(answer)})
            self.requests.append(Asked(path, headers, answer.status))
            return answer


def etag_of(answer: Answer) -> str:
    """The ETag of an answer: a hash of its body."""
    return f'"{hashlib.sha256(answer.body).hexdigest()[:16]}"'


def _handler_for(site: WebSite) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle(self) -> None:
            with contextlib.suppress(ConnectionError):  # the reader had enough
                super().handle()

        def do_GET(self) -> None:
            answer = site.answer_to(self.path, {k.lower(): v for k, v in self.headers.items()})
            if answer.cut:
                self.wfile.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<p>"
                )
                self.close_connection = True
                return
            self.send_response(answer.status)
            if answer.etag and answer.status == 200:
                self.send_header("ETag", etag_of(answer))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if answer.status != 304:
                if answer.type:
                    self.send_header("Content-Type", answer.type)
                self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            if answer.status != 304:
                self.wfile.write(answer.body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler
