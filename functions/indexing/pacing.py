"""How fast a model server is asked: so many at a time, so far apart, slower when it says that it is too much."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

RECOVERY = (
    10  # replies without a refusal before one more request may be in flight: half a minute at 2 s a reply
)


class Pace:
    """Turns for requests: at most `parallel` at a time, starts `pause_s / parallel` apart.

    A full window of `parallel` requests thus takes `pause_s` to start, as batches that far apart would. A refusal
    halves the window and holds all starts as long as the server asked; then it grows by one again
    (additive increase, multiplicative decrease: Chiu, Jain, 1989).
    """

    def __init__(
        self,
        parallel: int,
        pause_s: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.window = parallel
        self._parallel = parallel
        self._spacing = pause_s / parallel
        self._clock, self._sleep = clock, sleep
        self._running = 0
        self._next = 0.0
        self._good = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a place in the window and for the time to start; the place is given back at the end."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._running < self.window)
            self._running += 1
        try:
            while (wait := self._next - self._clock()) > 0:  # a refusal meanwhile may have moved it
                await self._sleep(wait)
            self._next = self._clock() + self._spacing
            yield
        finally:
            async with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def refused(self, wait_s: float) -> None:
        """The server said that it is too much: half the window, and nothing starts for `wait_s` seconds."""
        self.window = max(1, self.window // 2)
        self._good = 0
        self._next = max(self._next, self._clock() + wait_s)

    async def replied(self) -> None:
        """The server answered; after `RECOVERY` answers in a row the window grows by one."""
        self._good += 1
        if self._good >= RECOVERY and self.window < self._parallel:
            self._good = 0
            async with self._changed:
                self.window += 1
                self._changed.notify_all()
