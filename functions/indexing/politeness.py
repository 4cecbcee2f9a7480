"""How fast a site is read: turns at even distances, some requests at once, and pauses that the site asks for."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

AT_ONCE = 4  # requests under way at the same time: hides the latency of a site, and no shared host notices
T = TypeVar("T")
R = TypeVar("R")


class Clock:
    """The time that a pace goes by; tests have their own."""

    def now(self) -> float:
        """Seconds since some start."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let this time pass."""
        await asyncio.sleep(seconds)


@dataclass
class Pace:
    """Gives out turns, each at least `interval` seconds after the one before."""

    interval: float
    clock: Clock
    _next: float = float("-inf")

    async def turn(self) -> None:
        """Wait for the next turn."""
        now = self.clock.now()
        at = max(now, self._next)
        self._next = at + self.interval
        if at > now:
            await self.clock.sleep(at - now)

    def slow_to(self, interval: float) -> None:
        """Turns at least this far apart from now on."""
        self.interval = max(self.interval, interval)

    def hold(self, seconds: float) -> None:
        """No new turn before this time has passed."""
        self._next = max(self._next, self.clock.now() + seconds)


async def in_order(
    function: Callable[[T], Awaitable[R]], items: Iterable[T], at_once: int = AT_ONCE
) -> AsyncIterator[R]:
    """The results in the order of the items, some computed ahead. What is under way is cancelled with the iteration."""
    waiting: deque[asyncio.Task[R]] = deque()
    source = iter(items)
    try:
        while True:
            while len(waiting) < at_once and (item := next(source, waiting)) is not waiting:
                waiting.append(asyncio.ensure_future(_call(function, item)))  # type: ignore[arg-type]
            if not waiting:
                return
            yield await waiting[0]
            waiting.popleft()
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _call(function: Callable[[T], Awaitable[R]], item: T) -> R:
    return await function(item)
