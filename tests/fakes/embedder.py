"""An embedding model that takes no time: hashed bags of words, so that texts with common words are near."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from shared.analysis import analyse
from shared.cost import Ledger, Price
from shared.embedding import ScoreScale
from shared.records import Usage
from shared.schema import EmbeddingIdentity


def bag_of_words(text: str, dim: int) -> Any:
    """The unit vector of a text: each folded word counts in one of `dim` places."""
    vector = np.zeros(dim, dtype=np.float32)
    for term in analyse(text, "en") or [""]:
        vector[zlib.crc32(term.encode()) % dim] += 1
    return vector / np.linalg.norm(vector)


class FakeEmbedder:
    """Implements `shared.embedding.Embedder`; `embedded` lists every passage that it was given."""

    scale = ScoreScale(matched=0.4, weak=0.2, floor=0.0, alike=0.6, dense_weight=0.7)
    price = Price()

    def __init__(self, dim: int = 64, name: str = "fake/bag-of-words") -> None:
        self.identity = EmbeddingIdentity(model=name, dim=dim)
        self.embedded: list[str] = []

    def _vectors(self, texts: Sequence[str], ledger: Ledger) -> Any:
        ledger.add("embedding", Usage(input_tokens=len(texts)), self.price)
        return np.asarray([bag_of_words(text, self.identity.dim) for text in texts], dtype=np.float32)

    async def passages(self, texts: Sequence[str], ledger: Ledger) -> Any:
        self.embedded.extend(texts)
        return self._vectors(texts, ledger)

    async def queries(self, texts: Sequence[str], ledger: Ledger) -> Any:
        return self._vectors(texts, ledger)
