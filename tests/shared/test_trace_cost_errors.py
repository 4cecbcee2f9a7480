"""What happened, what it cost, and what failed."""

from __future__ import annotations

import asyncio

import pytest

from shared import errors
from shared.cost import Ledger, Price
from shared.errors import ModelOutputInvalid, ModelUnavailable, PortavozError
from shared.records import Usage
from shared.trace import Trace, current_trace, start_trace


def test_a_step_keeps_its_facts_and_times() -> None:
    trace = Trace("t1")
    with trace.step("retrieve", queries=2) as facts:
        facts["found"] = 7
    trace.note("think", note="enough")
    first, second = trace.steps
    assert (trace.id, first.name, first.detail) == ("t1", "retrieve", {"queries": 2, "found": 7})
    assert (second.name, second.detail) == ("think", {"note": "enough"})
    assert 0 <= first.at_ms <= second.at_ms
    assert first.took_ms >= 0


def test_a_step_that_fails_is_kept_with_its_error() -> None:
    trace = Trace()
    with pytest.raises(KeyError), trace.step("plan"):
        raise KeyError("x")
    assert trace.steps[0].detail["failed"] == "KeyError: 'x'"


def test_steps_stand_in_the_order_they_ended() -> None:
    trace = Trace()
    with trace.step("outer"), trace.step("inner"):
        pass
    assert [s.name for s in trace.steps] == ["inner", "outer"]


def test_traces_have_ids_of_their_own() -> None:
    assert Trace().id != Trace().id


async def test_tasks_share_the_trace_of_their_request_and_no_others() -> None:
    async def note(name: str) -> None:
        current_trace().note(name)

    async def request(name: str) -> Trace:
        trace = start_trace(name)
        await asyncio.gather(note(f"{name}1"), note(f"{name}2"))
        assert current_trace() is trace
        return trace

    a, b = await asyncio.gather(asyncio.create_task(request("a")), asyncio.create_task(request("b")))
    assert sorted(s.name for s in a.steps) == ["a1", "a2"]
    assert sorted(s.name for s in b.steps) == ["b1", "b2"]


def test_a_price_is_per_million_tokens() -> None:
    assert Price(input=0.4, output=1.6).of(
        Usage(input_tokens=1_000_000, output_tokens=500_000)
    ) == pytest.approx(1.2)


def test_a_ledger_adds_up_by_role() -> None:
    ledger = Ledger()
    ledger.add("chat", Usage(input_tokens=1000, output_tokens=10), Price(input=1, output=2))
    ledger.add("chat", Usage(input_tokens=1000, output_tokens=10), Price(input=1, output=2))
    ledger.add("embedding", Usage(input_tokens=500), Price(input=10))
    assert ledger.usage == Usage(input_tokens=2500, output_tokens=20)
    assert ledger.usd == pytest.approx(2 * 0.00102 + 0.005)
    assert (ledger.calls("chat"), ledger.calls("embedding"), ledger.calls("judge")) == (2, 1, 0)
    assert ledger.by_role["chat"].usd == pytest.approx(0.00204)


def test_an_empty_ledger_costs_nothing() -> None:
    assert (Ledger().usage, Ledger().usd) == (Usage(), 0)


def _subclasses(kind: type) -> list[type]:
    return [s for direct in kind.__subclasses__() for s in (direct, *_subclasses(direct))]


def test_every_error_has_a_code_and_a_status() -> None:
    kinds = [kind for kind in _subclasses(PortavozError) if kind.__module__ == errors.__name__]
    assert len(kinds) >= 8
    for kind in kinds:
        assert kind.code != PortavozError.code
        assert 400 <= kind.status < 600


def test_a_model_failure_tells_whether_a_retry_makes_sense() -> None:
    error = ModelOutputInvalid("no", reason="empty")
    assert isinstance(error, ModelUnavailable)
    assert (error.reason, error.permanent, error.retry_after, str(error)) == ("empty", False, None, "no")
