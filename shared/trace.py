"""What happened while one request was answered: a list of steps, readable afterwards."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from shared.records import Record


class Step(Record):
    """One step: its name, when it began and how long it took (ms since the trace began), and its facts."""

    name: str
    at_ms: float
    took_ms: float
    detail: dict[str, Any]


class Trace:
    """The steps of one request, in the order they ended."""

    def __init__(self, trace_id: str | None = None) -> None:
        self.id = trace_id or uuid.uuid4().hex
        self.steps: list[Step] = []
        self._began = time.perf_counter()

    @contextmanager
    def step(self, name: str, **detail: Any) -> Iterator[dict[str, Any]]:
        """Time a step; facts found on the way are put into the dictionary that it yields."""
        began = time.perf_counter()
        facts = dict(detail)
        try:
            yield facts
        except BaseException as error:
            facts["failed"] = f"{type(error).__name__}: {error}"
            raise
        finally:
            ended = time.perf_counter()
            self.steps.append(
                Step(
                    name=name,
                    at_ms=round((began - self._began) * 1000, 1),
                    took_ms=round((ended - began) * 1000, 1),
                    detail=facts,
                )
            )

    def note(self, name: str, **detail: Any) -> None:
        """Record a fact that takes no time."""
        with self.step(name, **detail):
            return


_current: ContextVar[Trace | None] = ContextVar("trace", default=None)


def current_trace() -> Trace:
    """The trace of the request being served; a new one where there is none."""
    trace = _current.get()
    if trace is None:
        trace = start_trace()
    return trace


def start_trace(trace_id: str | None = None) -> Trace:
    """Begin a trace for this task and the tasks that it starts."""
    trace = Trace(trace_id)
    _current.set(trace)
    return trace
