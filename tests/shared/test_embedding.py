"""Texts to unit vectors, in process and over HTTP."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from shared.cost import Ledger
from shared.embedding import EmbeddedE5, ServedEmbedder, build_embedder
from shared.errors import ModelOutputInvalid, ModelUnavailable
from shared.settings import ModelSettings
from tests.fakes.openai_server import DIM, EMBEDDINGS, OpenAIServer, fail, garbage


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
