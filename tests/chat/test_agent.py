"""One answer: plan, retrieval, writing down the ladder, and the check of what was written."""

from __future__ import annotations

from typing import Any

import pytest

from functions.chat.agent import Agent
from functions.chat.ladder import COOL_OFF_S, FAILURES, Ladder
from shared.cost import Ledger
from shared.errors import InvalidRequest, ModelUnavailable, TableUnavailable
from shared.language_model import LanguageModel
from shared.records import (
    ChatRequest,
    Event,
    Message,
    Passage,
    QueryResult,
    RetrieveRequest,
    RetrieveResponse,
)
from shared.settings import Settings
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.openai_server import OpenAIServer, closed_url, cut, empty, fail, filtered, garbage, hang

PRICE = Passage(
    id="p#0", page_id="p", text="The premium plan costs nine euros a month.", summary="", title="Price", section="",
    url="https://example.com/price", product="general", content_type="pricing", language="en", source="s", score=0.9,
)  # fmt: skip
REFUND = PRICE.model_copy(
    update={"id": "r#0", "page_id": "r", "text": "Refunds take five working days.", "title": "Refunds",
            "url": "https://example.com/refunds"}
)  # fmt: skip
PLAN = {"route": "documents", "queries": ["premium price", "refund time"], "language": "en"}
TEXT = "The premium plan costs nine euros a month [1]. Refunds take five working days [2]."
QUESTION = "How much is the premium plan, and how long do refunds take?"


async def retrieve(request: RetrieveRequest, ledger: Ledger) -> RetrieveResponse:
    found = {"premium price": (PRICE,), "refund time": (REFUND,), QUESTION: (PRICE, REFUND)}
    results = tuple(
        QueryResult(query=q, verdict="matched" if q in found else "nothing_matched", chunks=found.get(q, ()))
        for q in request.queries
    )
    return RetrieveResponse(results=results, threshold=0.5, index_version=1, trace_id="t")


def agent(*models: Any, find: Any = retrieve) -> Agent:
    embedder = FakeEmbedder()
    settings = Settings(site={"name": "Acme", "contact_url": "https://example.com/contact"})
    return Agent(
        retrieve=find, ladder=Ladder(tuple(LanguageModel(m) for m in models)), judge=None,
        similar=lambda texts: embedder.passages(texts, Ledger()), alike=0.8, settings=settings,
    )  # fmt: skip


async def ask(by: Agent, question: str = QUESTION) -> list[Event]:
    request = ChatRequest(messages=(Message(role="user", content=question),))
    return [event async for event in by.chat(request)]


async def test_a_question_of_two_parts_is_answered_from_two_queries_in_one_retrieval(
    openai_server: OpenAIServer,
) -> None:
    openai_server.script([PLAN, TEXT])
    events = await ask(agent(openai_server.settings()))
    retrieving = next(e for e in events if e.data.get("stage") == "retrieving")
    assert retrieving.data["detail"]["queries"] == PLAN["queries"]
    done = events[-1].data
    assert done["answer"] == TEXT
    assert [c["url"].split("#")[0] for c in done["citations"]] == [PRICE.url, REFUND.url]
    assert done["citations"][0]["quote"] in PRICE.text
    assert (done["verdict"], done["retrievals"], done["fallback_used"]) == ("answered", 1, False)
    assert "".join(e.data["text"] for e in events if e.event == "token") == TEXT


async def test_the_model_reads_numbered_sources(openai_server: OpenAIServer) -> None:
    openai_server.script([PLAN, TEXT])
    await ask(agent(openai_server.settings()))
    assert "[Source 1: Price (general) — https://example.com/price]" in openai_server.requests[-1].last


async def test_sentences_without_support_are_removed(openai_server: OpenAIServer) -> None:
    openai_server.script(
        [PLAN, TEXT + " The founder lives happily on the moon [2]. The plan costs 12 euros [1]."]
    )
    done = (await ask(agent(openai_server.settings())))[-1].data
    assert done["answer"] == TEXT


async def test_numbers_of_sources_that_do_not_exist_never_reach_the_visitor(
    openai_server: OpenAIServer,
) -> None:
    openai_server.script([PLAN, "The premium plan costs nine euros a month [7]."])
    done = (await ask(agent(openai_server.settings())))[-1].data
    assert "[7]" not in done["answer"]
    assert [c["n"] for c in done["citations"]] == [1]


async def test_an_answer_of_nothing_but_inventions_gives_way_to_the_passages(
    openai_server: OpenAIServer,
) -> None:
    openai_server.script([PLAN, "Our mascot is a purple walrus named Gerald [1]."])
    done = (await ask(agent(openai_server.settings())))[-1].data
    assert "walrus" not in done["answer"]
    assert done["model"] == "extractive"
    assert done["citations"][0]["quote"] == PRICE.text


async def test_a_refusal_is_not_in_site_and_is_not_streamed(openai_server: OpenAIServer) -> None:
    openai_server.script([PLAN, "NOT_IN_SITE"])
    events = await ask(agent(openai_server.settings()))
    assert not [e for e in events if e.event == "token"]
    done = events[-1].data
    assert (done["verdict"], done["citations"]) == ("not_in_site", [])
    assert "https://example.com/contact" in done["answer"]


async def test_a_missing_part_makes_the_answer_partial(openai_server: OpenAIServer) -> None:
    openai_server.script(
        [PLAN, "The premium plan costs nine euros a month [1].\nMISSING: how long refunds take"]
    )
    done = (await ask(agent(openai_server.settings())))[-1].data
    assert done["verdict"] == "partial"
    assert "Acme does not say: how long refunds take" in done["answer"]


async def test_nothing_found_is_said_without_asking_a_model(openai_server: OpenAIServer) -> None:
    openai_server.reply_json({"route": "documents", "queries": ["dinner"], "language": "en"})
    events = await ask(agent(openai_server.settings()), "when are we having dinner tonight?")
    assert events[-1].data["verdict"] == "not_in_site"
    assert not [e for e in events if e.event == "sources"]
    assert len(openai_server.requests) == 1


@pytest.mark.parametrize(
    "fault", [fail(401), fail(429), fail(500), cut("The premium"), garbage(), empty(), filtered(), hang()],
    ids=["401", "429", "500", "cut", "garbage", "empty", "filtered", "hang"],
)  # fmt: skip
async def test_whatever_the_primary_does_the_fallback_answers(
    openai_server: OpenAIServer, fault: Any
) -> None:
    def by_model(request: Any) -> Any:
        if request.body["model"] == "primary":
            return fault
        return PLAN if request.schema else TEXT

    openai_server.always(by_model)
    openai_server.always(by_model, schema="PlanDraft")
    impatient = {"first_token_timeout_s": 0.3, "timeout_s": 0.5}
    events = await ask(
        agent(openai_server.settings("primary", **impatient), openai_server.settings("second"))
    )
    done = events[-1].data
    assert (done["answer"], done["model"], done["fallback_used"]) == (TEXT, "second", True)
    assert sum(e.event in {"done", "error"} for e in events) == 1


async def test_a_failure_in_mid_answer_restarts_it(openai_server: OpenAIServer) -> None:
    openai_server.script([PLAN, cut("The premium plan is "), TEXT])
    events = await ask(agent(openai_server.settings("a"), openai_server.settings("b")))
    kinds = [e.event for e in events]
    restart = kinds.index("restart")
    assert "".join(e.data["text"] for e in events[restart:] if e.event == "token") == TEXT
    assert events[-1].data["answer"] == TEXT


async def test_with_all_models_dead_the_passages_are_quoted(openai_server: OpenAIServer) -> None:
    dead = openai_server.settings().model_copy(update={"base_url": closed_url()})
    done = (await ask(agent(dead, dead)))[-1].data
    assert (done["model"], done["fallback_used"], done["verdict"]) == ("extractive", True, "answered")
    assert PRICE.text in done["answer"]


async def test_a_table_out_of_reach_is_said_kindly() -> None:
    async def broken(request: RetrieveRequest, ledger: Ledger) -> RetrieveResponse:
        raise TableUnavailable("connection refused at s3://secret-bucket")

    done = (await ask(agent(find=broken)))[-1].data
    assert done["verdict"] == "unavailable"
    assert "secret-bucket" not in done["answer"]


async def test_only_the_last_turns_are_remembered(openai_server: OpenAIServer) -> None:
    openai_server.script([PLAN, TEXT])
    turns = [Message(role=r, content=f"{r} {i}") for i in range(12) for r in ("user", "assistant")]
    request = ChatRequest(messages=(*turns, Message(role="user", content=QUESTION)))
    [_ async for _ in agent(openai_server.settings()).chat(request)]
    said = [m["content"] for m in openai_server.requests[0].messages]
    assert "user 4" in said
    assert "user 3" not in said


async def test_the_last_message_must_be_the_visitors() -> None:
    request = ChatRequest(messages=(Message(role="assistant", content="Hello"),))
    with pytest.raises(InvalidRequest, match="role user"):
        [_ async for _ in agent().chat(request)]


async def test_a_model_that_keeps_failing_is_left_out_and_probed_again(openai_server: OpenAIServer) -> None:
    now = 0.0
    ladder = Ladder((LanguageModel(openai_server.settings()),), clock=lambda: now)
    openai_server.always(fail(500))
    for _ in range(FAILURES + 2):
        with pytest.raises(ModelUnavailable):
            [
                _
                async for _ in ladder.stream(
                    [{"role": "user", "content": "hi"}], role="chat", ledger=Ledger()
                )
            ]
    assert len(openai_server.requests) == FAILURES
    now = COOL_OFF_S + 1
    openai_server.always("hello")
    pieces = [
        p async for p in ladder.stream([{"role": "user", "content": "hi"}], role="chat", ledger=Ledger())
    ]
    assert pieces
