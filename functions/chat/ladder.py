"""The ladder of models: the first that answers is taken; one that keeps failing is left out for a while."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel

from shared.cost import Ledger
from shared.errors import ModelUnavailable, SettingsError
from shared.language_model import LanguageModel
from shared.records import Record
from shared.replies import Prompt
from shared.trace import current_trace

S = TypeVar("S", bound=BaseModel)
FAILURES = 3  # in a row before a model is left out: two may be one bad moment
COOL_OFF_S = 30.0  # then one call may try again; a provider's hiccup lasts minutes, visitors pay one probe a half minute


class Piece(Record):
    """A piece of a streamed reply, by whom."""

    text: str
    model: str
    is_fallback: bool


class CutShort(Record):
    """The limit of tokens ended the reply; its last sentence may be unfinished."""


class Restarted(Record):
    """The text so far is void: the model that wrote it failed."""

    reason: str


@dataclass
class Breaker:
    """Circuit breaker of one model (Nygard: "Release It!", 2007): closed, open for a while, then one probe."""

    failures: int = 0
    opened: float = 0.0

    def allows(self, now: float) -> bool:
        """Whether a call may be made; a probe starts the next cool-off at once, so that it stays alone."""
        if self.failures < FAILURES:
            return True
        if now - self.opened < COOL_OFF_S:
            return False
        self.opened = now
        return True

    def failed(self, now: float, *, at_once: bool) -> None:
        """Count a failure; a wrong key or model name opens the breaker at once."""
        self.failures = FAILURES if at_once else self.failures + 1
        self.opened = now

    def succeeded(self) -> None:
        """Close."""
        self.failures = 0


class Ladder:
    """Primary and fallback model, in that order."""

    def __init__(
        self, models: tuple[LanguageModel, ...], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.models = models
        self._breakers = [Breaker() for _ in models]
        self._clock = clock

    async def structured(
        self, prompt: Prompt, schema: type[S], *, role: str, ledger: Ledger, ends: float = math.inf
    ) -> S:
        """A structured reply of the first model that gives one, until `ends` (of `time.monotonic`).

        Raises:
            ModelUnavailable: none did.
        """
        for index, model in self._usable():
            if time.monotonic() >= ends:
                break
            try:
                reply = await model.structured(
                    prompt, schema, role=role, ledger=ledger, timeout_s=model.first_token_timeout_s, ends=ends
                )  # a plan has some 60 tokens; a visitor waits for it
            except (ModelUnavailable, SettingsError) as error:
                self._failed(index, error)
            else:
                self._breakers[index].succeeded()
                return reply
        raise ModelUnavailable("no model answered", reason="all_failed")

    async def stream(
        self, prompt: Prompt, *, role: str, ledger: Ledger, ends: float = math.inf
    ) -> AsyncIterator[Piece | CutShort | Restarted]:
        """A streamed reply; `Restarted` when a model fails after its first piece. Nothing is waited for after `ends`.

        Raises:
            ModelUnavailable: none answered to the end.
        """
        for index, model in self._usable():
            if time.monotonic() >= ends:
                break
            begun = False
            try:
                async for text in model.stream(prompt, role=role, ledger=ledger, ends=ends):
                    begun = True
                    yield Piece(text=text, model=model.name, is_fallback=index > 0)
            except (ModelUnavailable, SettingsError) as error:
                if begun and isinstance(error, ModelUnavailable) and error.reason == "length":
                    self._breakers[index].succeeded()
                    yield CutShort()
                    return
                self._failed(index, error)
                if begun:
                    yield Restarted(reason="the model failed while answering")
            else:
                self._breakers[index].succeeded()
                return
        raise ModelUnavailable("no model answered", reason="all_failed")

    def _usable(self) -> list[tuple[int, LanguageModel]]:
        now = self._clock()
        return [(i, m) for i, m in enumerate(self.models) if self._breakers[i].allows(now)]

    def _failed(self, index: int, error: ModelUnavailable | SettingsError) -> None:
        permanent = isinstance(error, SettingsError) or error.permanent
        self._breakers[index].failed(self._clock(), at_once=permanent)
        current_trace().note("model failed", model=self.models[index].name, error=str(error))
        if permanent:  # the owner has to act: a wrong key or model name does not pass
            import logging

            logging.getLogger("portavoz").error("%s is left out: %s", self.models[index].name, error)
