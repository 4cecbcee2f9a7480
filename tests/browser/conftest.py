"""A scripted API on one loopback port, a visitor's site on another, and real Chromium in between."""

from __future__ import annotations

import json
import mimetypes
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

WIDGET = Path(__file__).parents[2] / "functions" / "widget"
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
NONCE = "c3RyaWN0"
STRICT_CSP = (
    "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic'; style-src 'nonce-{nonce}'; "
    "connect-src {api}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
)
PAGE_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

# The product asks for a closed root. The tests note that, and open it, so that Playwright and axe can look inside.
OPEN_ROOTS = """
const attach = Element.prototype.attachShadow;
window.modes = [];
Element.prototype.attachShadow = function (options) {
  window.modes.push(options.mode);
  return attach.call(this, { ...options, mode: 'open' });
};
"""
WATCH = """
window.violations = [];
document.addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective + ' ' + event.blockedURI));
"""


def sse(event: str, data: Any) -> bytes:
    """One event as the server writes it."""
    return f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


@dataclass
class Reply:
    """A scripted answer of the API: the steps are bytes to write, or gates to wait for."""

    steps: list[bytes | threading.Event] = field(default_factory=list)
    status: int = 200
    content_type: str = "text/event-stream"


def refusal(status: int, code: str, message: str = "refused") -> Reply:
    body = json.dumps({"error": {"code": code, "message": message}}).encode()
    return Reply([body], status, "application/json")


class Api:
    """What the tests script, and what they look at afterwards."""

    def __init__(self) -> None:
        self.replies: dict[str, list[Reply]] = {}
        self.requests: list[tuple[str, Any]] = []
        self.fetched: list[str] = []
        self.page = ""
        self.headers: dict[str, str] = {}
        self.origin = ""
        self.site = ""

    def will(self, path: str, *replies: Reply) -> None:
        """Queues replies; the last one is repeated."""
        self.replies[path] = list(replies)

    def next_reply(self, path: str) -> Reply:
        queue = self.replies.get(path)
        if not queue:
            return refusal(404, "not_found")
        return queue.pop(0) if len(queue) > 1 else queue[0]

    def stream(self, *steps: bytes | threading.Event) -> None:
        """Queues one streamed answer of `/chat`."""
        self.will("/chat", Reply(list(steps)))

    def answer(self, text: str, **result: Any) -> None:
        """Queues a plain answer: status, one token, done."""
        self.stream(
            sse("status", {"stage": "planning", "detail": None}),
            sse("token", {"text": text}),
            self.done(text, **result),
        )

    @staticmethod
    def done(text: str, **result: Any) -> bytes:
        payload: dict[str, Any] = {
            "answer_id": "a1", "answer": text, "citations": [], "verdict": "answered", "model": "fake", "fallback_used": False,
            "retrievals": 1, "usage": {}, "cost_usd": 0, "trace_id": "t1", "follow_ups": [],
        }  # fmt: skip
        return sse("done", payload | result)

    def bodies(self, path: str) -> list[Any]:
        return [body for asked, body in self.requests if asked == path]


def handler(api: Api) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def send(self, status: int, content_type: str, body: bytes, **headers: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Access-Control-Allow-Origin", "*")
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def do_OPTIONS(self) -> None:
            self.send(
                204,
                "text/plain",
                b"",
                Access_Control_Allow_Headers="content-type",
                Access_Control_Allow_Methods="POST, GET",
            )

        def do_GET(self) -> None:
            path = self.path.split("?")[0]
            api.fetched.append(self.path)
            file = WIDGET / ("page.html" if path == "/" else path.removeprefix("/widget/").lstrip("/"))
            if path.startswith("/site"):
                self.send(200, "text/html; charset=utf-8", api.page.encode(), **api.headers)
            elif file.is_file() and file.parent == WIDGET:
                kind = mimetypes.guess_type(file.name)[0] or "text/plain"
                self.send(
                    200,
                    f"{kind}; charset=utf-8",
                    file.read_bytes(),
                    **({"Content_Security_Policy": PAGE_CSP} if path == "/" else {}),
                )
            else:
                self.send(404, "text/plain", b"not found")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            api.requests.append((self.path, body))
            reply = api.next_reply(self.path)
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                for step in reply.steps:
                    if isinstance(step, threading.Event):
                        step.wait(10)
                    else:
                        self.wfile.write(step)
                        self.wfile.flush()
            except ConnectionError:  # the visitor stopped the answer
                pass

    return Handler


@pytest.fixture
def api() -> Iterator[Api]:
    """The API's server and, at another port (another origin), the site that embeds the widget."""
    state = Api()
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), handler(state)) for _ in range(2)]
    for server in servers:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    state.origin, state.site = (f"http://127.0.0.1:{server.server_port}" for server in servers)
    yield state
    for server in servers:
        server.shutdown()
        server.server_close()


# Not for the whole session: while sync Playwright runs, no asyncio test can.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not Path(CHROMIUM).exists():
        pytest.skip("no chromium here: `.ci/run` installs it")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


class Tab:
    """A page in a context of its own, and what its scripts threw."""

    def __init__(self, browser: Any, *, peek: bool = True, **options: Any) -> None:
        defaults = {"viewport": {"width": 1100, "height": 800}, "reduced_motion": "reduce"}
        self.context = browser.new_context(**(defaults | options))
        self.context.set_default_timeout(5000)
        for script in [OPEN_ROOTS, WATCH] if peek else [WATCH]:
            self.context.add_init_script(script)
        self.page = self.context.new_page()
        self.crashes: list[str] = []
        self.page.on("pageerror", lambda error: self.crashes.append(str(error)))

    def reset(self) -> None:
        """Makes it as good as new; what the pages stored is another origin's in the next test."""
        self.page.goto("about:blank")
        self.context.set_offline(False)
        self.context.clear_permissions()
        self.page.emulate_media(color_scheme="light", reduced_motion="reduce")


@pytest.fixture(scope="module")
def everyday(browser: Any) -> Tab:
    """The tab of all the tests that ask for nothing special: a new one takes a quarter of a second."""
    return Tab(browser)


@pytest.fixture
def new_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page in a fresh context; the test fails when a script of the page throws."""
    tabs: list[Tab] = []

    def build(**options: Any) -> Any:
        tabs.append(Tab(browser, **options))
        return tabs[-1].page

    yield build
    for tab in tabs:
        tab.context.close()
    assert [crash for tab in tabs for crash in tab.crashes] == []


@pytest.fixture
def everyday_page(everyday: Tab) -> Iterator[Any]:
    yield everyday.page
    everyday.reset()
    crashes, everyday.crashes = everyday.crashes, []
    assert crashes == []


@pytest.fixture
def visit(api: Api, new_page: Callable[..., Any], everyday_page: Any) -> Callable[..., Any]:
    """Opens the visitor's site with the widget on it."""

    def go(
        *, lang: str = "en", html_attributes: str = "", head: str = "", body: str = "<h1>Shop</h1>", csp: bool = True,
        data: dict[str, str] | None = None, page: Any = None, **options: Any,
    ) -> Any:  # fmt: skip
        attributes = " ".join(f'data-{name}="{value}"' for name, value in (data or {}).items())
        api.page = (
            f"<!doctype html><html lang='{lang}' {html_attributes}><head><title>Shop</title>"
            f"<meta name='viewport' content='width=device-width'>{head}</head><body><main>{body}</main>"
            f"<script src='{api.origin}/widget.js' nonce='{NONCE}' {attributes} defer></script></body></html>"
        )
        api.headers = (
            {"Content_Security_Policy": STRICT_CSP.format(nonce=NONCE, api=api.origin)} if csp else {}
        )
        page = page or (new_page(**options) if options else everyday_page)
        page.goto(f"{api.site}/site/page?x=1")
        return page

    return go


@pytest.fixture
def chat(visit: Callable[..., Any]) -> Callable[..., Any]:
    """Opens the site and the dialog on it."""

    def go(**options: Any) -> Any:
        page = visit(**options)
        page.locator(".launcher").click()
        page.get_by_role("dialog").wait_for()
        return page

    return go


@pytest.fixture
def ask() -> Callable[[Any, str], None]:
    """Types a question and sends it."""

    def type_and_send(page: Any, question: str) -> None:
        page.locator(".composer textarea").fill(question)
        page.keyboard.press("Enter")

    return type_and_send


@pytest.fixture(scope="session")
def event() -> Callable[[str, Any], bytes]:
    return sse


@pytest.fixture(scope="session")
def refuse() -> Callable[..., Reply]:
    return refusal


@pytest.fixture(scope="session")
def reply() -> type[Reply]:
    return Reply


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Holds a stream until the test lets it go on."""
    opened = threading.Event()
    yield opened
    opened.set()
