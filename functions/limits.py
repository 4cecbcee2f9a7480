"""ASGI middleware: the limit of a body's size, and the trace of a request."""

from __future__ import annotations

import json
import logging
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shared.trace import current_trace, start_trace

MAX_BODY = 256 * 1024  # bytes; contract 1.3


class BodyLimit:
    """Refuses bodies over the limit with 413, by their stated length or as they arrive."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body up to the limit, then hand it on whole."""
        if scope["type"] != "http" or scope["method"] not in {"POST", "PUT", "PATCH"}:
            return await self._app(scope, receive, send)
        stated = dict(scope["headers"]).get(b"content-length", b"0")
        if stated.isdigit() and int(stated) > MAX_BODY:
            return await _refuse(send)
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > MAX_BODY:
                return await _refuse(send)
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        return await self._app(scope, replay, send)


class Contained:
    """Turns what nobody expected into a 500 that has the headers of every other response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve; log the failure, say nothing of it."""
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:
            logging.getLogger("portavoz").exception(
                "%s failed, trace %s", scope.get("path"), current_trace().id
            )
            if begun:  # the connection is closed instead
                raise
            await _reply(
                send, 500, "internal_error", "something went wrong; the trace id names it in the log"
            )


class Traced:
    """Begins a trace for each request and names it in the header `x-trace-id`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve with a trace of its own."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        trace = start_trace()

        async def with_header(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), (b"x-trace-id", trace.id.encode())]
            await send(message)

        return await self._app(scope, receive, with_header)


async def _refuse(send: Send) -> None:
    await _reply(send, 413, "body_too_large", f"the body is larger than {MAX_BODY // 1024} KiB")


async def _reply(send: Send, status: int, code: str, message: str) -> None:
    body = json.dumps({"error": {"code": code, "message": message}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
