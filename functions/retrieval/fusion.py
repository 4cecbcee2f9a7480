"""Two rankings of one query to one: a weighted sum of normalised scores."""

from __future__ import annotations

from collections.abc import Sequence

from shared.table import Hit


def fuse(dense: Sequence[Hit], text: Sequence[Hit], dense_weight: float, floor: float) -> list[Hit]:
    """All hits, best first by `dense_weight` × similarity + (1 - `dense_weight`) × BM25, both on 0 to 1.

    Convex combination keeps the distances that reciprocal rank fusion throws away (Bruch, Gai, Ingber: "An Analysis
    of Fusion Functions for Hybrid Retrieval", TOIS 2023). Similarity runs from `floor`, the least of the model's
    scale that still means something, to 1; BM25 from 0 to the query's best. Ties keep the order of ids, so that
    the same question gives the same list.
    """
    best_text = max((hit.text_score for hit in text), default=0.0)
    merged: dict[str, Hit] = {hit.passage.id: hit for hit in dense}
    for hit in text:
        known = merged.get(hit.passage.id)
        merged[hit.passage.id] = known.model_copy(update={"text_score": hit.text_score}) if known else hit

    def score(hit: Hit) -> float:
        similarity = max(0.0, hit.similarity - floor) / (1.0 - floor)
        lexical = hit.text_score / best_text if best_text > 0 else 0.0
        return dense_weight * similarity + (1 - dense_weight) * lexical

    return sorted(merged.values(), key=lambda hit: (-score(hit), hit.passage.id))
