"""What is known while one message is answered, and until when it must be."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

from functions.chat.plan import Plan
from shared.cost import Ledger
from shared.errors import ModelUnavailable
from shared.records import ChatRequest, Passage

T = TypeVar("T")
KEPT_BACK = 0.1  # of the time, at most `KEPT_BACK_S`: to quote the passages where no model answered
KEPT_BACK_S = 5.0  # comparing 30 statements takes 0.6 s with the embedded model


@dataclass(frozen=True)
class Deadline:
    """Two times of `time.monotonic`: the end of the turn, and before it the one of the models."""

    ends: float = math.inf
    models: float = math.inf

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """From now; 0 means none."""
        if not seconds:
            return cls()
        ends = time.monotonic() + seconds
        return cls(ends, ends - min(seconds * KEPT_BACK, KEPT_BACK_S))

    async def within(self, call: Awaitable[T]) -> T:
        """What `call` gives.

        Raises:
            ModelUnavailable: the turn is over before.
        """
        try:
            async with asyncio.timeout(
                None if self.ends == math.inf else max(0.0, self.ends - time.monotonic())
            ) as limit:
                return await call
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise ModelUnavailable("the time for this answer is over", reason="timeout") from error


@dataclass
class Turn:
    """What is known so far."""

    request: ChatRequest
    question: str
    history: list[dict[str, str]]
    deadline: Deadline = Deadline()
    ledger: Ledger = field(default_factory=Ledger)
    plan: Plan = field(init=False)
    passages: tuple[Passage, ...] = ()
    asked: list[str] = field(default_factory=list)
    matched: bool = False
    retrievals: int = 0
