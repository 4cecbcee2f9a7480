"""The HTTP surface: routes, CORS, limits and errors around the services; no logic of its own."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import FileResponse, JSONResponse, Response
from pydantic import ValidationError
from sse_starlette import EventSourceResponse
from starlette.exceptions import HTTPException

from functions.chat import stream as events
from functions.chat.memory import question_of
from functions.limits import BodyLimit, Contained, Traced
from functions.retrieval.queries import explain, request_from
from functions.services import Services
from shared.errors import InvalidRequest, NotAuthorized, PortavozError
from shared.journal import FEEDBACK
from shared.records import ChatRequest, Event, Feedback
from shared.settings import Settings, secret
from shared.trace import current_trace

WIDGET = Path(__file__).parent / "widget"
KEEP_ALIVE_S = 15  # contract: proxies close silent streams after 30 to 60 s
READ = ["GET", "HEAD"]  # HEAD: what monitors and link checkers send
PARTS = frozenset({"indexing", "retrieval", "chat"})
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
OUT_OF_ORDER = "this cannot be answered right now; please try again in a moment (the log says why)"
log = logging.getLogger("portavoz")

Connect = Callable[[], Awaitable[Services]]
Reindex = Callable[[], Awaitable[dict[str, Any]]]


def create_app(
    settings: Settings, connect: Connect, reindex: Reindex | None = None, parts: frozenset[str] = PARTS
) -> FastAPI:
    """The ASGI app of the named functions. `connect` opens the table; it is called until it succeeds once."""
    app = FastAPI(title="Portavoz", docs_url=None, redoc_url=None, openapi_url=None)
    services = _once(connect)
    app.add_middleware(Contained)
    app.add_middleware(BodyLimit)
    app.add_middleware(
        CORSMiddleware,
        allow_origins=list(settings.web.allowed_origins),
        allow_methods=["GET", "HEAD", "POST"],
        allow_headers=["content-type", "authorization"],
        expose_headers=["x-trace-id"],
    )
    app.add_middleware(Traced)
    _handle_errors(app)
    _health(app, services)
    if "retrieval" in parts:
        _retrieval(app, services)
    if "chat" in parts:
        _chat(app, services)
        _feedback(app, services)
        _widget(app, settings)
    if "indexing" in parts and reindex is not None:
        _indexing(app, settings, reindex)
    return app


def _once(connect: Connect) -> Connect:
    """`connect`, whose first success is kept; callers at the same time wait for one."""
    lock = asyncio.Lock()
    kept: list[Services] = []

    async def services() -> Services:
        async with lock:
            if not kept:
                kept.append(await connect())
            return kept[0]

    return services


def _handle_errors(app: FastAPI) -> None:
    def reply(status: int, code: str, message: str) -> JSONResponse:
        return JSONResponse({"error": {"code": code, "message": message}}, status_code=status)

    @app.exception_handler(PortavozError)
    async def expected(request: Request, error: PortavozError) -> JSONResponse:
        if error.status >= 500:
            log.error("%s %s: %s", request.method, request.url.path, error)
            return reply(error.status, error.code, OUT_OF_ORDER)  # the reason names the owner's places
        return reply(error.status, error.code, str(error))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        return reply(
            error.status_code, "not_found" if error.status_code == 404 else "http_error", str(error.detail)
        )


def _health(app: FastAPI, services: Connect) -> None:
    @app.api_route("/health", methods=READ)
    async def health() -> dict[str, Any]:
        """503 where the table cannot be read."""
        table = (await services()).table
        return {
            "status": "ok",
            "index_version": await table.version(),
            "rows": await table.rows(),
            "embedding_model": table.identity.model,
        }


def _retrieval(app: FastAPI, services: Connect) -> None:
    @app.post("/retrieve")
    async def retrieve(request: Request) -> dict[str, Any]:
        wanted = request_from(await _json(request))
        return (await (await services()).retriever.retrieve(wanted)).model_dump(mode="json")


def _chat(app: FastAPI, services: Connect) -> None:
    @app.post("/chat", response_model=None)
    async def chat(request: Request) -> Response:
        try:
            wanted = ChatRequest.model_validate(await _json(request))
        except ValidationError as error:
            raise InvalidRequest(explain(error)) from None
        question_of(wanted)
        ready = await services()
        await ready.retriever.where(wanted.filters)  # a bad filter is a 400, not an error within the stream
        stream = guarded(ready.agent.chat(wanted))
        if wanted.stream:
            return EventSourceResponse(_encoded(stream), ping=KEEP_ALIVE_S)
        last = await events.last_event(stream)
        if last.event == "error":
            return JSONResponse({"error": last.data}, status_code=503)
        return JSONResponse(last.data)


def _feedback(app: FastAPI, services: Connect) -> None:
    @app.post("/feedback", status_code=201)
    async def feedback(request: Request) -> dict[str, Any]:
        """Keep a vote on an answer."""
        try:
            vote = Feedback.model_validate(await _json(request))
        except ValidationError as error:
            raise InvalidRequest(explain(error)) from None
        await (await services()).journal.put(FEEDBACK, {uuid.uuid4().hex: vote})
        return {"stored": True}


def _indexing(app: FastAPI, settings: Settings, reindex: Reindex) -> None:
    @app.post("/reindex", status_code=202)
    async def start(request: Request) -> dict[str, Any]:
        """Start what the schedule starts; answers at once."""
        name = settings.web.admin_token_env
        token = secret(name)
        if token is None:
            raise NotAuthorized(
                f"reindexing over HTTP is off; set the environment variable {name} to switch it on"
            )
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), token.encode()):
            raise NotAuthorized("send the admin token as `Authorization: Bearer …`")
        return await reindex()


def _widget(app: FastAPI, settings: Settings) -> None:
    files = {file.name: file for file in WIDGET.iterdir() if file.is_file()}
    anywhere = {"access-control-allow-origin": "*", "cache-control": "public, max-age=300"}

    @app.api_route("/", methods=READ)
    async def page() -> FileResponse:
        return FileResponse(files["page.html"], headers={"content-security-policy": PAGE_POLICY})

    site = settings.site
    shown = {
        "title": site.name if "name" in site.model_fields_set else None,
        "contactUrl": site.contact_url or None,
        "starters": settings.web.starters,
    }
    script = files["widget.js"].read_text("utf-8").replace("SITE = {}", f"SITE = {json.dumps(shown)}")

    @app.api_route("/widget.js", methods=READ)
    async def loader() -> Response:
        """The loader, told what the settings say of the site; attributes of the page's script tag win."""
        return Response(script, media_type="text/javascript", headers=anywhere)

    @app.api_route("/widget/{name}", methods=READ)
    async def file(name: str) -> FileResponse:
        if name not in files:
            raise HTTPException(404, "there is no such file")
        return FileResponse(files[name], headers=anywhere)


async def guarded(stream: AsyncIterator[Event]) -> AsyncIterator[Event]:
    """The stream with exactly one terminal event, whatever fails; details go to the log, not to the visitor."""
    try:
        async for event in stream:
            _encode(event)  # what cannot be sent fails here, where it still ends with an event
            yield event
    except PortavozError as error:
        log.error("chat failed: %s", error)
        yield events.error(error.code, "the answer could not be made; please try again")
    except Exception:
        log.exception("chat failed, trace %s", current_trace().id)
        yield events.error("internal_error", "something went wrong; please try again")


async def _encoded(stream: AsyncIterator[Event]) -> AsyncIterator[dict[str, str]]:
    async for event in stream:
        yield {"event": event.event, "data": _encode(event)}


def _encode(event: Event) -> str:
    """The data of an event.

    Raises:
        ValueError: it holds what JSON or UTF-8 cannot, such as half of a surrogate pair.
    """
    data = json.dumps(event.data, ensure_ascii=False, allow_nan=False)
    data.encode()
    return data


async def _json(request: Request) -> Any:
    """The body as JSON.

    Raises:
        InvalidRequest: it is none.
    """
    try:
        value = json.loads(await request.body(), parse_constant=_no_number)
        json.dumps(
            value, ensure_ascii=False
        ).encode()  # halves of surrogate pairs, which nothing below can take
        return value
    except (ValueError, RecursionError) as error:
        raise InvalidRequest("the body is not valid JSON; send a JSON object as UTF-8") from error


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
