"""One retrieval: verdicts, pre-filters, limits, and what is said of requests that cannot be answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from functions.indexing.enrichment import RuleEnricher
from functions.indexing.index import Indexer
from functions.retrieval.queries import request_from
from functions.retrieval.search import Retriever
from shared.errors import InvalidRequest
from shared.records import Filters, RetrieveRequest
from shared.settings import Settings
from shared.table import KnowledgeTable
from tests.fakes.embedder import FakeEmbedder

PAGES: dict[str, str | bytes | None] = {
    "en/price.md": "---\nlang: en\nproduct: shop\n---\n# Price\n\nThe premium plan costs nine euros a month.",
    "en/refund.md": "---\nlang: en\n---\n# Refunds\n\nRefunds take five working days after the return arrives.",
    "es/precio.md": "---\nlang: es\nproduct: shop\n---\n# Precio\n\nEl plan premium cuesta nueve euros al mes.",
}


@pytest.fixture
async def retriever(site: Callable[..., Settings], embedder: FakeEmbedder) -> Retriever:
    settings = site(PAGES, products=({"id": "shop", "name": "Shop"},))
    table = await KnowledgeTable.open(settings.store, embedder.identity, create=True)
    await Indexer(table, embedder, RuleEnricher(settings), settings).run(settings.sources)
    return Retriever(table, embedder, settings)


async def test_each_query_has_its_own_result_in_the_order_asked(retriever: Retriever) -> None:
    wanted = RetrieveRequest(queries=("refunds five working days", "zebra quagga", "premium plan costs"))
    found = await retriever.retrieve(wanted)
    assert [r.query for r in found.results] == list(wanted.queries)
    assert [bool(r.chunks) for r in found.results] == [True, False, True]
    assert found.results[0].chunks[0].page_id == "pages/en/refund.md"


async def test_a_query_that_matches_nothing_says_so(retriever: Retriever) -> None:
    (result,) = (await retriever.retrieve(RetrieveRequest(queries=("zebra quagga",)))).results
    assert result.verdict == "nothing_matched"
    assert result.chunks == ()
    assert "No chunk reached the relevance threshold" in (result.message or "")


async def test_chunks_at_the_threshold_are_dropped(retriever: Retriever) -> None:
    wanted = RetrieveRequest(queries=("premium plan costs",), threshold=1.0)
    assert (await retriever.retrieve(wanted)).results[0].verdict == "nothing_matched"


async def test_the_filter_is_applied_before_the_search(retriever: Retriever) -> None:
    """One page is left by the filter: it is found however little the query has to do with it."""
    only = Filters(page_id=("pages/es/precio.md",))
    wanted = RetrieveRequest(queries=("refunds wrking dayz",), filters=only, threshold=-1, limit=1)
    (result,) = (await retriever.retrieve(wanted)).results
    assert [chunk.page_id for chunk in result.chunks] == ["pages/es/precio.md"]
    assert result.filters_applied == {"page_id": ["pages/es/precio.md"]}


@pytest.mark.parametrize(
    ("filters", "pages"),
    [
        ({"language": "es"}, {"pages/es/precio.md"}),
        ({"product": ["shop"]}, {"pages/es/precio.md", "pages/en/price.md"}),
        ({"source": 'it\'s "another" 🦓'}, set()),
        ({"page_id": []}, set()),
    ],
)
async def test_filters_hold(retriever: Retriever, filters: dict[str, Any], pages: set[str]) -> None:
    wanted = request_from({"queries": "plan", "filters": filters, "threshold": -1, "limit": 50})
    (result,) = (await retriever.retrieve(wanted)).results
    assert {chunk.page_id for chunk in result.chunks} == pages


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"queries": ["a", "b", "c", "d", "e", "f"]}, "at most 5"),
        ({"queries": "x" * 10_000}, "10000 characters"),
        ({"queries": ["  ?! "]}, "empty"),
        ({"queries": []}, "1 to 5"),
        ({"queries": [1]}, "not a string"),
        ({}, "1 to 5"),
        ([], "JSON object"),
        ({"queries": "a", "limit": 0}, "limit"),
        ({"queries": "a", "filters": {"colour": "red"}}, "colour"),
    ],
)
def test_a_bad_request_is_told_what_to_send(data: Any, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        request_from(data)


def test_a_lone_string_counts_as_one_query() -> None:
    assert request_from({"queries": "how much?"}).queries == ("how much?",)
