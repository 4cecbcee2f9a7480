"""A chat model behind a real HTTP server that misbehaves as servers do."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from pydantic import BaseModel

from shared.cost import Ledger
from shared.errors import ModelOutputInvalid, ModelUnavailable, SettingsError
from shared.language_model import LanguageModel, client_for
from shared.records import Usage
from shared.settings import ModelSettings
from tests.fakes import openai_server as scripted
from tests.fakes.openai_server import OpenAIServer, closed_url, fail, pieces

PROMPT = [{"role": "user", "content": "How do I start?"}]


class Colour(BaseModel):
    name: str
    bright: bool


async def streamed(model: LanguageModel, ledger: Ledger | None = None, into: list[str] | None = None) -> str:
    pieces = [] if into is None else into
    async for piece in model.stream(PROMPT, role="chat", ledger=ledger or Ledger()):
        pieces.append(piece)  # kept also when the stream breaks
    return "".join(pieces)


async def structured(model: LanguageModel, ledger: Ledger | None = None) -> Colour:
    return await model.structured(PROMPT, Colour, role="judge", ledger=ledger or Ledger())


async def test_a_stream_comes_in_pieces_and_its_tokens_are_counted(openai_server: OpenAIServer) -> None:
    openai_server.reply("Run the installer [1].\nThen é, 日本 and 🙂.")
    model = LanguageModel(openai_server.settings(price_input=1.0, price_output=2.0))
    ledger = Ledger()
    pieces = [piece async for piece in model.stream(PROMPT, role="chat", ledger=ledger)]
    assert "".join(pieces) == "Run the installer [1].\nThen é, 日本 and 🙂."
    assert len(pieces) > 3
    assert ledger.usage == Usage(input_tokens=100, output_tokens=20)
    assert ledger.usd == pytest.approx((100 * 1 + 20 * 2) / 1e6)
    assert openai_server.requests[0].stream
    assert openai_server.requests[0].messages == PROMPT


async def test_tokens_are_estimated_where_the_server_does_not_report_them(
    openai_server: OpenAIServer,
) -> None:
    openai_server.script([scripted.say("x" * 40, tokens=None)])
    ledger = Ledger()
    await streamed(LanguageModel(openai_server.settings()), ledger)
    assert ledger.usage == Usage(input_tokens=len(PROMPT[0]["content"]) // 4, output_tokens=10)


async def test_a_server_of_ones_own_needs_no_key(openai_server: OpenAIServer) -> None:
    openai_server.reply("yes")
    assert await streamed(LanguageModel(openai_server.settings())) == "yes"


async def test_the_key_is_read_from_the_variable_that_is_named(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "s3cret")
    openai_server.reply("yes")
    await streamed(LanguageModel(openai_server.settings(api_key_env="MY_KEY")))
    assert openai_server.requests[0].headers["authorization"] == "Bearer s3cret"


@pytest.mark.parametrize(
    ("settings", "variable"),
    [
        (ModelSettings(model="gpt-x"), "OPENAI_API_KEY"),
        (ModelSettings(model="m", api_key_env="MY_KEY"), "MY_KEY"),
    ],
)
def test_a_missing_key_names_the_variable(settings: ModelSettings, variable: str) -> None:
    with pytest.raises(SettingsError, match=variable):
        client_for(settings)


@pytest.mark.parametrize(
    ("reply", "reason", "permanent"),
    [
        (fail(401), "http_401", True),
        (fail(403), "http_403", True),
        (fail(404), "http_404", True),
        (fail(408), "http_408", False),
        (fail(409), "http_409", False),
        (fail(429), "http_429", False),
        (fail(500), "http_500", False),
        (fail(503), "http_503", False),
        (scripted.refuse(), "connection", False),
    ],
    ids=lambda value: str(getattr(value, "status", value)),
)
@pytest.mark.parametrize("call", [streamed, structured])
async def test_a_failure_before_the_reply_says_why(openai_server, call, reply, reason, permanent) -> None:
    openai_server.script([reply])
    with pytest.raises(ModelUnavailable) as caught:
        await call(LanguageModel(openai_server.settings()))
    assert (caught.value.reason, caught.value.permanent) == (reason, permanent)
    assert len(openai_server.requests) == 1  # the model never retries by itself


@pytest.mark.parametrize("call", [streamed, structured])
async def test_a_port_that_nobody_listens_on_is_a_lost_connection(call) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        await call(LanguageModel(ModelSettings(model="m", base_url=closed_url())))
    assert caught.value.reason == "connection"


@pytest.mark.parametrize("call", [streamed, structured])
async def test_retry_after_is_passed_on_in_seconds(openai_server: OpenAIServer, call) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    waits = []
    for header in ("7", "0.5", later, "soon"):
        openai_server.fail(429, {"Retry-After": header})
        with pytest.raises(ModelUnavailable) as caught:
            await call(LanguageModel(openai_server.settings()))
        waits.append(caught.value.retry_after)
    assert waits[:2] == [7.0, 0.5]
    assert waits[2] is not None
    assert 20 < waits[2] <= 30
    assert waits[3] is None


@pytest.mark.parametrize(
    "reply", [scripted.hang(), scripted.hang_before_token()], ids=["before headers", "before the first token"]
)
async def test_no_first_token_in_time_is_a_timeout(openai_server: OpenAIServer, reply) -> None:
    openai_server.script([reply])
    began = time.monotonic()
    with pytest.raises(ModelUnavailable) as caught:
        await streamed(LanguageModel(openai_server.settings(first_token_timeout_s=0.2, timeout_s=30)))
    assert caught.value.reason == "timeout"
    assert time.monotonic() - began < 10


async def test_no_end_in_time_is_a_timeout_after_the_pieces(openai_server: OpenAIServer) -> None:
    openai_server.script([scripted.stall("Half an answer")])
    got: list[str] = []
    with pytest.raises(ModelUnavailable) as caught:
        await streamed(LanguageModel(openai_server.settings(timeout_s=0.5)), into=got)
    assert caught.value.reason == "timeout"
    assert "".join(got) == "Half an answer"


async def test_structured_output_that_hangs_is_a_timeout(openai_server: OpenAIServer) -> None:
    openai_server.script([scripted.hang()])
    with pytest.raises(ModelUnavailable) as caught:
        await structured(LanguageModel(openai_server.settings(timeout_s=0.2)))
    assert caught.value.reason == "timeout"


async def test_a_cut_stream_gives_its_pieces_and_then_fails(openai_server: OpenAIServer) -> None:
    openai_server.script([scripted.cut("Half an answer")])
    got: list[str] = []
    with pytest.raises(ModelUnavailable) as caught:
        await streamed(LanguageModel(openai_server.settings()), into=got)
    assert caught.value.reason in {"connection", "cut_stream"}
    assert "".join(got) == "Half an answer"


async def test_structured_output_that_is_cut_off_is_unavailable(openai_server: OpenAIServer) -> None:
    openai_server.script([scripted.cut('{"name": "red"')])
    with pytest.raises(ModelUnavailable):
        await structured(LanguageModel(openai_server.settings()))


@pytest.mark.parametrize("call", [streamed, structured])
@pytest.mark.parametrize(
    ("reply", "reason"), [(scripted.filtered(), "content_filter"), (scripted.empty(), "empty")]
)
async def test_a_reply_with_nothing_usable_is_invalid(openai_server, call, reply, reason) -> None:
    openai_server.script([reply])
    with pytest.raises(ModelOutputInvalid) as caught:
        await call(LanguageModel(openai_server.settings()))
    assert caught.value.reason == reason


@pytest.mark.parametrize("call", [streamed, structured])
async def test_a_reply_that_is_no_json_is_a_model_failure(openai_server: OpenAIServer, call) -> None:
    openai_server.script([scripted.garbage()])
    with pytest.raises(ModelUnavailable):
        await call(LanguageModel(openai_server.settings()))


async def test_structured_output_asks_for_the_schema(openai_server: OpenAIServer) -> None:
    openai_server.reply_json({"name": "red", "bright": True})
    assert await structured(LanguageModel(openai_server.settings())) == Colour(name="red", bright=True)
    assert openai_server.requests[0].schema == "Colour"


async def test_json_within_a_fence_or_a_sentence_is_read(openai_server: OpenAIServer) -> None:
    openai_server.reply('Sure:\n```json\n{"name": "red", "bright": false}\n```\nAnything else?')
    assert await structured(LanguageModel(openai_server.settings())) == Colour(name="red", bright=False)


async def test_an_unfit_structure_is_sent_back_once_with_what_is_wrong(openai_server: OpenAIServer) -> None:
    openai_server.script([{"name": "red"}, {"name": "red", "bright": True}])
    ledger = Ledger()
    assert await structured(LanguageModel(openai_server.settings()), ledger) == Colour(
        name="red", bright=True
    )
    assert "bright" in openai_server.requests[1].last
    assert openai_server.requests[1].messages[1] == {"role": "assistant", "content": '{"name": "red"}'}
    assert ledger.calls("judge") == 2  # the repair is paid too


async def test_an_unfit_structure_twice_is_invalid(openai_server: OpenAIServer) -> None:
    openai_server.script([{"name": "red"}, "no"])
    with pytest.raises(ModelOutputInvalid) as caught:
        await structured(LanguageModel(openai_server.settings()))
    assert caught.value.reason == "bad_structure"
    assert len(openai_server.requests) == 2


async def test_a_server_without_structured_output_is_told_the_schema_in_words(
    openai_server: OpenAIServer,
) -> None:
    openai_server.without("response_format", "stream_options")
    openai_server.always('{"name": "red", "bright": true}')
    model = LanguageModel(openai_server.settings())
    assert await structured(model) == Colour(name="red", bright=True)
    assert '"bright"' in openai_server.requests[-1].last
    before = len(openai_server.requests)
    await structured(model)
    assert len(openai_server.requests) == before + 1  # what the server refused is remembered
    assert await streamed(model) == '{"name": "red", "bright": true}'


async def test_a_bad_request_that_names_no_parameter_is_a_permanent_failure(
    openai_server: OpenAIServer,
) -> None:
    openai_server.fail(400, message="the context is too long")
    with pytest.raises(ModelUnavailable) as caught:
        await streamed(LanguageModel(openai_server.settings()))
    assert (caught.value.reason, caught.value.permanent) == ("http_400", True)


async def test_a_pair_of_surrogates_in_two_deltas_is_one_character(openai_server: OpenAIServer) -> None:
    openai_server.script([pieces("Hello \ud83d", "\ude00", " and \ud83d alone", "\ud83d")])
    assert await streamed(LanguageModel(openai_server.settings())) == "Hello 😀 and \ufffd alone\ufffd"


async def test_lone_surrogates_in_structured_output_are_replaced(openai_server: OpenAIServer) -> None:
    openai_server.script([pieces('{"name": "re\ud83d", "bright": true}')])
    assert (await structured(LanguageModel(openai_server.settings()))).name == "re\ufffd"


async def test_lone_surrogates_written_as_escapes_are_sent_back(openai_server: OpenAIServer) -> None:
    openai_server.script([pieces(r'{"name": "re\ud83d", "bright": true}'), {"name": "red", "bright": True}])
    assert (await structured(LanguageModel(openai_server.settings()))).name == "red"


@pytest.mark.parametrize("content", [{"a": 1}, 7, [1, 2], [{"type": "text", "text": 3}]])
@pytest.mark.parametrize("call", [streamed, structured])
async def test_content_of_another_type_is_a_model_failure(
    openai_server: OpenAIServer, call, content: Any
) -> None:
    openai_server.script([pieces(content)])
    with pytest.raises(ModelOutputInvalid) as caught:
        await call(LanguageModel(openai_server.settings()))
    assert caught.value.reason == "garbage"


async def test_content_in_parts_is_read(openai_server: OpenAIServer) -> None:
    openai_server.script([pieces([{"type": "text", "text": "Hello"}], None, " you")])
    assert await streamed(LanguageModel(openai_server.settings())) == "Hello you"


@pytest.mark.parametrize("call", [streamed, structured])
@pytest.mark.parametrize(
    ("told", "read"), [("12", 12), (12.7, 12), (None, 0), ("many", 0), ([1], 0), (-5, 0), ("9" * 400, 0)]
)
async def test_usage_of_any_type_is_read_as_far_as_it_goes(
    openai_server: OpenAIServer, call, told: Any, read: int
) -> None:
    text = '{"name": "red", "bright": true}'
    openai_server.script(
        [pieces(text, usage={"prompt_tokens": told, "completion_tokens": 1, "total_tokens": 1})]
    )
    ledger = Ledger()
    await call(LanguageModel(openai_server.settings()), ledger)
    assert ledger.usage.input_tokens == read


@pytest.mark.parametrize(
    "raw",
    [
        b'{"choices": ' + b"[" * 100_000,
        b'{"choices": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        b'{"choices": 3}',
    ],
)
@pytest.mark.parametrize("call", [streamed, structured])
async def test_a_body_of_another_shape_is_a_model_failure(
    openai_server: OpenAIServer, call, raw: bytes
) -> None:
    openai_server.script([scripted.Reply(raw=raw)])
    with pytest.raises(ModelUnavailable):
        await call(LanguageModel(openai_server.settings()))


async def test_deeply_nested_structured_output_is_a_model_failure(openai_server: OpenAIServer) -> None:
    openai_server.script(['{"name": ' + "[" * 30_000 + "]" * 30_000 + "}"] * 2)
    with pytest.raises(ModelOutputInvalid):
        await structured(LanguageModel(openai_server.settings()))


def test_a_base_url_that_is_none_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match="base_url"):
        client_for(
            ModelSettings.model_construct(**dict(ModelSettings(model="m")) | {"base_url": "http://[::1"})
        )


async def test_thoughts_are_neither_streamed_nor_parsed(openai_server: OpenAIServer) -> None:
    openai_server.script(
        [
            pieces("<thi", "nk>{hm}</th", "ink>\n\nHello", " you"),
            '<think>{"a": 1}</think>{"name": "red", "bright": true}',
        ]
    )
    assert await streamed(LanguageModel(openai_server.settings())) == "Hello you"
    assert (await structured(LanguageModel(openai_server.settings()))).name == "red"


async def test_a_server_that_does_not_stop_is_stopped(openai_server: OpenAIServer) -> None:
    openai_server.script([pieces(*["word " * 20] * 50)])
    got: list[str] = []
    with pytest.raises(ModelOutputInvalid) as caught:
        await streamed(LanguageModel(openai_server.settings(max_output_tokens=10)), into=got)
    assert (caught.value.reason, len("".join(got))) == ("length", 160)


async def test_thoughts_alone_are_an_empty_reply(openai_server: OpenAIServer) -> None:
    openai_server.script([pieces("<think>hm, hm")])
    with pytest.raises(ModelOutputInvalid) as caught:
        await streamed(LanguageModel(openai_server.settings()))
    assert caught.value.reason == "empty"


async def test_a_reply_that_the_limit_of_tokens_ended_is_told_after_its_pieces(
    openai_server: OpenAIServer,
) -> None:
    openai_server.script([scripted.say("Half an", finish="length")])
    got: list[str] = []
    with pytest.raises(ModelOutputInvalid) as caught:
        await streamed(LanguageModel(openai_server.settings()), into=got)
    assert (caught.value.reason, "".join(got)) == ("length", "Half an")


@pytest.mark.parametrize("reply", [scripted.hang(), scripted.hang_before_token(), scripted.stall("Half")])
async def test_a_deadline_ends_a_stream_and_both_tries_of_a_structure(
    openai_server: OpenAIServer, reply
) -> None:
    model = LanguageModel(openai_server.settings(first_token_timeout_s=30, timeout_s=30))
    began = time.monotonic()
    openai_server.script([reply, reply])
    with pytest.raises(ModelUnavailable):
        [_ async for _ in model.stream(PROMPT, role="chat", ledger=Ledger(), ends=began + 0.3)]
    with pytest.raises(ModelUnavailable):
        await model.structured(PROMPT, Colour, role="plan", ledger=Ledger(), ends=began + 0.6)
    assert time.monotonic() - began < 5
