"""One retrieval: queries → vectors → dense and full-text search behind the pre-filter → fusion → verdicts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from functions.retrieval.filters import applied, to_expression
from functions.retrieval.fusion import fuse
from functions.retrieval.queries import normalise
from shared.analysis import analyse_query
from shared.cost import Ledger
from shared.embedding import Embedder
from shared.language import detect_language
from shared.records import Filters, QueryResult, RetrieveRequest, RetrieveResponse, Verdict
from shared.settings import Settings
from shared.table import Hit, KnowledgeTable
from shared.trace import current_trace

if TYPE_CHECKING:
    import numpy as np
    from lancedb.expr import Expr
    from numpy.typing import NDArray

CANDIDATES = 5  # times the limit from each ranking: a passage that is 20th in one may be first in both
PER_PAGE = 3  # passages of one page in a list, so that a long page leaves room for others
NOTHING = "No chunk reached the relevance threshold; the knowledge base could not provide information for this query."


@dataclass(frozen=True)
class Retriever:
    """Retrieval over one table with one embedding model."""

    table: KnowledgeTable
    embedder: Embedder
    settings: Settings

    async def retrieve(self, request: RetrieveRequest, ledger: Ledger | None = None) -> RetrieveResponse:
        """A result for each query, in the order asked; one embedding call and one vector search for all.

        Raises:
            InvalidRequest: the filters name metadata that the index has not, or a value of another kind.
            TableUnavailable: the table cannot be read.
            ModelUnavailable: the embedding model does not answer.
        """
        trace = current_trace()
        queries = [normalise(query) for query in request.queries]
        limit = request.limit or self.settings.retrieval.limit
        matched, weak = self.thresholds(request.threshold)
        version = await self.table.check()
        where = await self.where(request.filters)
        with trace.step("embed", queries=queries):
            vectors = await self.embedder.queries(queries, ledger or Ledger())
        with trace.step("search", filters=applied(request.filters), threshold=weak) as facts:
            dense, texts = await asyncio.gather(
                self.table.nearest(vectors, where, limit * CANDIDATES),
                asyncio.gather(
                    *(self._full_text(q, v, where, limit) for q, v in zip(queries, vectors, strict=True))
                ),
            )
            weight = self.settings.retrieval.dense_weight
            weight = self.embedder.scale.dense_weight if weight is None else weight
            ranked = [
                fuse(d, t, weight, self.embedder.scale.floor) for d, t in zip(dense, texts, strict=True)
            ]
            facts["scores"] = [
                [(h.passage.id, round(h.similarity, 3)) for h in hits[:limit]] for hits in ranked
            ]
        return RetrieveResponse(
            results=tuple(
                _result(query, hits, request, limit, matched, weak)
                for query, hits in zip(request.queries, ranked, strict=True)
            ),
            threshold=round(weak, 3),
            index_version=version,
            trace_id=trace.id,
        )

    async def where(self, filters: Filters) -> Expr | None:
        """The pre-filter, checked against the metadata that the table has.

        Raises:
            InvalidRequest: it names metadata that is not there, or a value of another kind.
        """
        return to_expression(filters, await self.table.metadata() if filters.metadata else None)

    def thresholds(self, asked: float | None) -> tuple[float, float]:
        """Similarities from which a passage is `matched`, and from which it is shown at all (`weak`)."""
        configured = self.settings.retrieval.threshold
        fixed = asked if asked is not None else None if configured == "auto" else configured
        if fixed is not None:
            return fixed, fixed
        return self.embedder.scale.matched, self.embedder.scale.weak

    async def _full_text(
        self, query: str, vector: NDArray[np.float32], where: Expr | None, limit: int
    ) -> list[Hit]:
        """Pages may be in any language of the site: the question's words are stemmed as all of them would be."""
        languages = self.settings.site.languages
        asked, _ = detect_language(query, languages)
        terms = analyse_query(query, dict.fromkeys([asked, *languages]))
        return await self.table.full_text(" ".join(terms), vector, where, limit * CANDIDATES)


def _result(
    query: str, hits: Sequence[Hit], request: RetrieveRequest, limit: int, matched: float, weak: float
) -> QueryResult:
    """The passages over the threshold, best first, and what the best similarity among them means."""
    over = [hit for hit in hits if hit.similarity > weak]  # at or under: dropped
    shown = _spread(over, limit)
    best = max((hit.similarity for hit in shown), default=-1.0)
    verdict: Verdict = "matched" if shown and best >= matched else "weak" if shown else "nothing_matched"
    return QueryResult(
        query=query,
        verdict=verdict,
        message=None if shown else NOTHING,
        filters_applied=applied(request.filters),
        chunks=tuple(hit.passage for hit in shown),
    )


def _spread(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """The first `limit` hits with at most `PER_PAGE` of one page; the others of it follow where room is left."""
    count: Counter[str] = Counter()
    first: list[Hit] = []
    rest: list[Hit] = []
    for hit in hits:
        count[hit.passage.page_id] += 1
        (first if count[hit.passage.page_id] <= PER_PAGE else rest).append(hit)
    return [*first, *rest][:limit]
