"""How fast a model server is asked. The clock is the test's."""

from __future__ import annotations

import asyncio

from functions.indexing.pacing import RECOVERY, Pace


class Clock:
    """Time that passes only where somebody waits for it."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


def pace(parallel: int = 5, pause_s: float = 0.3) -> tuple[Pace, Clock]:
    clock = Clock()
    return Pace(parallel, pause_s, clock, clock.sleep), clock


async def test_no_more_than_the_window_are_under_way() -> None:
    turns, _ = pace()
    running = most = 0

    async def one() -> None:
        nonlocal running, most
        async with turns.turn():
            running += 1
            most = max(most, running)
            for _ in range(10):
                await asyncio.sleep(0)
            running -= 1

    await asyncio.gather(*(one() for _ in range(20)))
    assert most == 5


async def test_a_window_takes_the_pause_to_start() -> None:
    turns, clock = pace()
    starts = []
    for _ in range(11):
        async with turns.turn():
            starts.append(clock.now)
    assert round(starts[5] - starts[0], 6) == 0.3
    assert round(starts[10] - starts[5], 6) == 0.3


async def test_a_refusal_halves_the_window_and_holds_the_next_start_as_long_as_asked() -> None:
    turns, clock = pace()
    async with turns.turn():
        turns.refused(7.0)
    asked = clock.now
    async with turns.turn():
        assert clock.now - asked >= 7.0
    assert turns.window == 2
    for _ in range(3 * RECOVERY):
        await turns.replied()
    assert turns.window == 5
    for _ in range(5):
        turns.refused(0)
    assert turns.window == 1


async def test_a_place_is_given_back_when_the_request_fails_or_is_cancelled() -> None:
    turns, _ = pace(1)
    for _ in range(2):
        try:
            async with turns.turn():
                raise ValueError
        except ValueError:
            pass

    async def hold() -> None:
        async with turns.turn():
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with asyncio.timeout(1), turns.turn():
        pass
