"""A chat model behind any OpenAI-compatible server: streamed text, and structured output with one repair."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from shared.characters import whole
from shared.cost import Ledger, Price
from shared.errors import ModelOutputInvalid, ModelUnavailable, SettingsError
from shared.replies import (
    MOST_CHARS_PER_TOKEN,
    Prompt,
    Reading,
    json_within,
    reported_usage,
    seconds,
    text_of,
)
from shared.settings import ModelSettings, secret
from shared.thoughts import spoken

if TYPE_CHECKING:
    from openai import AsyncOpenAI

S = TypeVar("S", bound=BaseModel)
TRANSIENT = {408, 409, 429}


def client_for(settings: ModelSettings, retries: int = 0) -> AsyncOpenAI:
    """An OpenAI client for the model's server; retries wait as Retry-After says."""
    import httpx2
    from openai import AsyncOpenAI, Timeout

    name = settings.api_key_env or ("" if settings.base_url else "OPENAI_API_KEY")
    key = secret(name) if name else "none"
    if key is None:
        raise SettingsError(
            f"the model {settings.model!r} needs the environment variable {name}, which is not set"
        )
    try:
        return AsyncOpenAI(
            api_key=key,
            base_url=settings.base_url or None,
            max_retries=retries,
            timeout=Timeout(settings.timeout_s, connect=settings.connect_timeout_s),
        )
    except httpx2.InvalidURL as error:
        raise SettingsError(
            f"base_url of the model {settings.model!r}: {settings.base_url!r} is no address: {error}"
        ) from error


@contextmanager
def translated(model: str) -> Iterator[None]:
    """Turn whatever the SDK and the connection raise into `ModelUnavailable`."""
    import httpx2
    import openai

    try:
        yield
    except (openai.APITimeoutError, TimeoutError, httpx2.TimeoutException) as error:
        raise ModelUnavailable(f"{model} took too long", reason="timeout") from error
    except openai.APIStatusError as error:
        status = error.status_code
        permanent = 400 <= status < 500 and status not in TRANSIENT
        raise ModelUnavailable(
            f"{model} answered {status}: {error.message}",
            reason=f"http_{status}",
            permanent=permanent,
            retry_after=seconds(error.response.headers.get("retry-after")),
        ) from error
    except (openai.APIError, httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise ModelUnavailable(f"{model} cannot be reached: {error}", reason="connection") from error
    except (
        ValueError,
        AttributeError,
        TypeError,
        LookupError,
        ArithmeticError,
        RecursionError,
    ) as error:  # no JSON, or not of the API's shape
        raise ModelOutputInvalid(f"{model} sent garbage: {error}", reason="garbage") from error


class LanguageModel:
    """One model in one role. It never retries by itself: the ladder and the enrichment decide that."""

    def __init__(self, settings: ModelSettings) -> None:
        self.name = settings.model
        self.price = Price(input=settings.price_input, output=settings.price_output)
        self.first_token_timeout_s = settings.first_token_timeout_s
        self._settings = settings
        self._client: AsyncOpenAI | None = None
        self._refused: set[str] = set()  # optional parameters that this server does not take

    async def stream(
        self,
        prompt: Prompt,
        *,
        role: str,
        ledger: Ledger,
        temperature: float = 0.2,
        ends: float = math.inf,
    ) -> AsyncIterator[str]:
        """The reply, piece by piece, until `ends` at the latest (a time of `time.monotonic`).

        Raises:
            ModelUnavailable: no connection, no first token or no end in time, an error status, a cut stream.
            ModelOutputInvalid: an empty or filtered reply; with the reason "length", after the last piece, one that
                the limit of tokens ended.
        """
        now = time.monotonic()
        ends = min(ends, now + self._settings.timeout_s)
        most = self._settings.max_output_tokens * MOST_CHARS_PER_TOKEN
        state = Reading(first=min(ends, now + self._settings.first_token_timeout_s), ends=ends, most=most)
        with translated(self.name):
            reply = await asyncio.wait_for(
                self._create(prompt, temperature, stream=True, stream_options={"include_usage": True}),
                _left(state.first),
            )
            try:
                while True:
                    try:
                        part = await asyncio.wait_for(anext(reply), _left(state.deadline))
                    except StopAsyncIteration:
                        break
                    if said := state.take(part):
                        yield said
                    if state.full:
                        state.finish = "length"
                        break
                if not state.full and (said := state.rest()):
                    yield said
            finally:
                await reply.close()
        ledger.add(role, reported_usage(state.usage, prompt, state.characters), self.price)
        self._check_finish(state.finish, state.characters)
        if state.finish == "length":
            raise ModelOutputInvalid(f"{self.name}: the reply reached max_output_tokens", reason="length")

    def _check_finish(self, finish: str | None, characters: int) -> None:
        if finish == "content_filter":
            raise ModelOutputInvalid(f"{self.name}: the provider filtered the reply", reason="content_filter")
        if finish is None:
            raise ModelUnavailable(f"{self.name}: the reply was cut off", reason="cut_stream")
        if not characters:
            raise ModelOutputInvalid(f"{self.name}: the reply was empty", reason="empty")

    async def structured(
        self,
        prompt: Prompt,
        schema: type[S],
        *,
        role: str,
        ledger: Ledger,
        temperature: float = 0.0,
        timeout_s: float | None = None,
        ends: float = math.inf,
    ) -> S:
        """A reply that fits `schema`; an unfit one is sent back once with what is wrong.

        Each try has `timeout_s`, both together have until `ends`.

        Raises:
            ModelUnavailable: as for `stream`.
            ModelOutputInvalid: unfit twice.
        """
        messages = list(prompt)
        problem = ""
        for _ in range(2):
            limit = min(timeout_s or self._settings.timeout_s, _left(ends))
            text = await self._whole(messages, schema, role, ledger, temperature, limit)
            try:
                return schema.model_validate_json(json_within(text))
            except ValidationError as error:
                problem = whole(
                    "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:5])
                )
            messages += [
                {"role": "assistant", "content": text},
                {
                    "role": "user",
                    "content": f"That does not fit the schema ({problem}). Reply with the JSON only.",
                },
            ]
        raise ModelOutputInvalid(
            f"{self.name}: no valid {schema.__name__} in two tries: {problem}", reason="bad_structure"
        )

    async def _whole(
        self,
        messages: list[dict[str, str]],
        schema: type[S],
        role: str,
        ledger: Ledger,
        temperature: float,
        timeout_s: float,
    ) -> str:
        form = {"name": schema.__name__, "schema": schema.model_json_schema(), "strict": True}
        with translated(self.name):
            reply = await asyncio.wait_for(
                self._create(
                    messages, temperature, response_format={"type": "json_schema", "json_schema": form}
                ),
                timeout_s,
            )
            choice = reply.choices[0] if reply.choices else None
            text = spoken(whole(text_of(choice.message.content))) if choice else ""
            finish = (choice.finish_reason or "stop") if choice else "stop"
        sent = sum(len(m["content"]) for m in messages)
        ledger.add(role, reported_usage(reply.usage, messages, len(text)), self.price, sent)
        self._check_finish(finish, len(text))
        return text

    async def _create(self, messages: Prompt, temperature: float, **options: Any) -> Any:
        """One request; optional parameters that the server refuses are left out from then on."""
        import openai

        self._client = self._client or client_for(self._settings)
        limit = (
            "max_tokens" if self._settings.base_url else "max_completion_tokens"
        )  # the old name is known to all
        options |= {"temperature": temperature, limit: self._settings.max_output_tokens}
        while True:
            chosen = {k: v for k, v in options.items() if k not in self._refused}
            sent = list(messages)
            if "response_format" in options and "response_format" in self._refused:
                sent.append({"role": "system", "content": _as_text(options["response_format"])})
            try:
                create: Any = self._client.chat.completions.create  # the SDK types each role on its own
                return await create(model=self._settings.model, messages=sent, **chosen)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                refused = [k for k in chosen if k != "stream" and (k == error.param or k in error.message)]
                if not refused:
                    raise
                self._refused.update(refused)


def _as_text(response_format: dict[str, Any]) -> str:
    """The schema as an instruction, for servers without structured output."""
    import json

    schema = json.dumps(response_format["json_schema"]["schema"], ensure_ascii=False)
    return f"Reply with one JSON object of this schema and nothing else: {schema}"


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())
