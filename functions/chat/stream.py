"""The events of `/chat`, one function for each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

from shared.records import Answer, Event, Source


def status(stage: Literal["planning", "retrieving", "checking", "writing"], **detail: Any) -> Event:
    """What is being done now."""
    return Event(event="status", data={"stage": stage, "detail": detail})


def sources(found: Sequence[Source]) -> Event:
    """The passages that the answer may use."""
    return Event(event="sources", data={"sources": [s.model_dump(mode="json") for s in found]})


def token(text: str) -> Event:
    """The next piece of the answer."""
    return Event(event="token", data={"text": text})


def restart(reason: str) -> Event:
    """The text so far is void."""
    return Event(event="restart", data={"reason": reason})


def done(answer: Answer) -> Event:
    """The checked answer; it stands above the pieces streamed before."""
    return Event(event="done", data=answer.model_dump(mode="json"))


def error(code: str, message: str) -> Event:
    """Nothing could be answered."""
    return Event(event="error", data={"code": code, "message": message})


async def last_event(events: AsyncIterator[Event]) -> Event:
    """The terminal event of a stream."""
    last = None
    async for event in events:
        last = event
    if last is None:
        raise RuntimeError("the stream of events was empty")
    return last
