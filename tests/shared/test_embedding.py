"""Texts to unit vectors, in process and over HTTP."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

from shared import embedding
from shared.cost import Ledger
from shared.embedding import EmbeddedE5, ServedEmbedder, build_embedder
from shared.errors import ModelOutputInvalid, ModelUnavailable
from shared.settings import ModelSettings
from tests.fakes.openai_server import DIM, EMBEDDINGS, OpenAIServer, Reply, fail, garbage, hang


@pytest.fixture(scope="module")
def e5() -> EmbeddedE5:
    return EmbeddedE5()


async def test_the_embedded_model_finds_the_passage_that_answers_across_languages(e5: EmbeddedE5) -> None:
    passages = await e5.passages(
        [
            "Returns are accepted within 30 days.",
            "The office is closed on Sundays.",
            "Pizza dough needs yeast.",
        ],
        Ledger(),
    )
    queries = await e5.queries(["¿Puedo devolver un producto?", "When is the office open?"], Ledger())
    assert passages.shape == (3, 384)
    assert np.allclose(np.linalg.norm(passages, axis=1), 1, atol=1e-3)
    assert (queries @ passages.T).argmax(axis=1).tolist() == [0, 1]


async def test_the_embedded_model_is_deterministic_also_when_called_at_once(e5: EmbeddedE5) -> None:
    texts = [f"Sentence number {n} about topic {n % 3}" for n in range(6)]
    alone = await e5.passages(texts, Ledger())
    together = await asyncio.gather(*(e5.passages(texts, Ledger()) for _ in range(3)))
    assert all(np.array_equal(alone, one) for one in together)


@pytest.mark.parametrize("text", ["a\x00b", "", "word " * 600, "🙂" * 300])
async def test_the_embedded_model_takes_any_text(e5: EmbeddedE5, text: str) -> None:
    vectors = await e5.passages([text], Ledger())
    assert vectors.shape == (1, 384)
    assert np.isfinite(vectors).all()


async def test_no_texts_give_no_vectors(e5: EmbeddedE5, openai_server: OpenAIServer) -> None:
    served = await build_embedder(openai_server.settings())
    before = len(openai_server.requests)
    assert (await e5.passages([], Ledger())).shape[0] == 0
    assert (await served.passages([], Ledger())).shape == (0, DIM)
    assert len(openai_server.requests) == before


async def test_an_unknown_served_model_is_asked_for_its_dimension(openai_server: OpenAIServer) -> None:
    embedder = await build_embedder(openai_server.settings("my-embeddings"))
    assert embedder.identity.model == "my-embeddings"
    assert embedder.identity.dim == DIM


async def test_a_known_served_model_is_not_asked(openai_server: OpenAIServer) -> None:
    embedder = await build_embedder(openai_server.settings("text-embedding-3-large"))
    assert embedder.identity.dim == 3072
    assert openai_server.requests == []


async def test_the_built_in_model_is_the_embedded_one() -> None:
    assert isinstance(await build_embedder(ModelSettings(model="embedded")), EmbeddedE5)


async def test_served_vectors_keep_the_order_of_the_texts_whatever_the_servers(
    openai_server: OpenAIServer,
) -> None:
    embedder = await build_embedder(openai_server.settings())
    texts = ["apples and pears", "trains", "the weather of tomorrow"]
    together = await embedder.passages(texts, Ledger())
    alone = [(await embedder.passages([text], Ledger()))[0] for text in texts]
    assert np.allclose(together, alone)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


async def test_served_tokens_cost_what_the_settings_say(openai_server: OpenAIServer) -> None:
    embedder = await build_embedder(openai_server.settings(price_input=10.0))
    ledger = Ledger()
    await embedder.queries(["three little words"], ledger)
    assert ledger.by_role["embedding"].usage.input_tokens == 3
    assert ledger.usd == pytest.approx(30e-6)


async def test_vectors_of_another_length_are_invalid(openai_server: OpenAIServer) -> None:
    known = await build_embedder(openai_server.settings("text-embedding-3-small"))
    with pytest.raises(ModelOutputInvalid) as caught:
        await known.passages(["text"], Ledger())
    assert caught.value.reason == "bad_embedding"


async def test_a_rate_limit_is_waited_out(openai_server: OpenAIServer) -> None:
    embedder = await build_embedder(openai_server.settings())
    openai_server.script([fail(429, {"Retry-After": "0.01"})], EMBEDDINGS)
    assert (await embedder.passages(["text"], Ledger())).shape == (1, DIM)


async def test_a_refused_key_is_told_at_once(openai_server: OpenAIServer) -> None:
    openai_server.script([fail(401)], EMBEDDINGS)
    with pytest.raises(ModelUnavailable) as caught:
        await build_embedder(openai_server.settings())
    assert caught.value.permanent
    assert len(openai_server.requests) == 1


async def test_garbage_is_a_model_failure(openai_server: OpenAIServer) -> None:
    embedder = await build_embedder(openai_server.settings())
    assert isinstance(embedder, ServedEmbedder)
    openai_server.script([garbage()], EMBEDDINGS)
    with pytest.raises(ModelUnavailable):
        await embedder.passages(["text"], Ledger())


def test_a_character_that_grows_does_not_break_the_process() -> None:
    """The engine's buffer overflowed; such damage kills, so it is looked for in a process of its own."""
    code = (
        "import asyncio; from shared.embedding import EmbeddedE5; from shared.cost import Ledger\n"
        "texts = ['\\ufdfa' * n for n in (1, 20, 100)] + ['a\\ud83d', '\\ud83d\\ude00'] + ['\\ufb2c\\u0390\\u1f82' * 40]\n"
        "for _ in range(3): print(asyncio.run(EmbeddedE5().passages(texts, Ledger())).shape)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split("\n")[0] == "(6, 384)"


@pytest.mark.parametrize("unit", ["word ", "ключ", "漢字", "a1!", "x", "🙂 "])
async def test_a_long_text_costs_one_window(e5: EmbeddedE5, unit: str) -> None:
    e5.load()
    cut = e5._window(unit * 60_000, is_query=True)
    assert 400 < e5._model.token_count(cut, True) <= embedding.WINDOW
    began = time.monotonic()
    await e5.queries([unit * 60_000], Ledger())
    assert time.monotonic() - began < 5


async def test_a_text_of_one_window_is_not_cut(e5: EmbeddedE5) -> None:
    e5.load()
    assert (
        e5._window("The office is closed on Sundays. " * 60, is_query=False)
        == "The office is closed on Sundays. " * 60
    )


def vectors(*rows: tuple[Any, list[float]]) -> Reply:
    data = [{"object": "embedding", "index": index, "embedding": row} for index, row in rows]
    return Reply(
        raw=json.dumps(
            {"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": "7"}}
        ).encode()
    )


@pytest.mark.parametrize(
    "reply",
    [
        vectors((0, [1.0] * DIM), (1, [float("nan")] * DIM)),
        vectors((0, [1.0] * DIM), (1, [float("inf")] * DIM)),
        vectors((0, [1.0] * DIM), (1, [0.0] * DIM)),
        vectors((0, [1.0] * DIM), (0, [1.0] * DIM)),
        vectors((1, [1.0] * DIM), (2, [1.0] * DIM)),
        vectors((0, [1.0] * DIM)),
        vectors((0, [1.0] * DIM), (None, [1.0] * DIM)),
        vectors((0, [1.0] * DIM), (1, [1.0])),
    ],
    ids=["nan", "inf", "zero", "twice", "from one", "one lacks", "no number", "ragged"],
)
async def test_vectors_that_cannot_be_used_are_a_model_failure(
    openai_server: OpenAIServer, reply: Reply
) -> None:
    embedder = await build_embedder(openai_server.settings())
    openai_server.script([reply], EMBEDDINGS)
    with pytest.raises(ModelOutputInvalid):
        await embedder.passages(["a", "b"], Ledger())


async def test_very_large_vectors_are_scaled(openai_server: OpenAIServer) -> None:
    embedder = await build_embedder(openai_server.settings())
    openai_server.script([vectors((0, [3e38] * DIM))], EMBEDDINGS)
    assert np.allclose(np.linalg.norm(await embedder.passages(["a"], Ledger()), axis=1), 1)


async def test_a_question_does_not_wait_long_for_a_hanging_server(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "QUERY_S", 0.3)
    embedder = await build_embedder(openai_server.settings(timeout_s=60))
    openai_server.script([hang(), hang()], EMBEDDINGS)
    began = time.monotonic()
    with pytest.raises(ModelUnavailable) as caught:
        await embedder.queries(["a"], Ledger())
    assert caught.value.reason == "timeout"
    assert time.monotonic() - began < 3


async def test_a_question_is_tried_twice_and_a_passage_five_times(openai_server: OpenAIServer) -> None:
    embedder = await build_embedder(openai_server.settings())
    for ask, tries in ((embedder.queries, 2), (embedder.passages, 5)):
        before = len(openai_server.requests)
        openai_server.script([fail(500, {"Retry-After": "0.01"})] * tries, EMBEDDINGS)
        with pytest.raises(ModelUnavailable):
            await ask(["a"], Ledger())
        assert len(openai_server.requests) - before == tries
