"""Filters on metadata: each says what a reader of the request would take it to say, whatever the values hold."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from functions.retrieval.filters import applied, to_expression
from functions.retrieval.queries import request_from
from functions.retrieval.where import metadata_filter
from shared.errors import InvalidRequest
from shared.metadata import SEPARATOR, Kind
from shared.records import Filters
from shared.schema import EmbeddingIdentity
from shared.settings import StoreSettings
from shared.table import KnowledgeTable
from tests.fakes.rows import row

FAKE = EmbeddingIdentity(model="fake/bag-of-words", dim=64)
KINDS: dict[str, Kind] = {
    "author": "text", "views": "whole number", "price": "number", "free": "yes/no", "day": "date",
    "tags": "list of texts",
}  # fmt: skip
NASTY = [
    "",
    "'",
    "''",
    "\\",
    "\\'",
    "' OR 1=1 --",
    "%",
    "_",
    "null",
    "NULL",
    "a,b",
    "[a]",
    "ñ",
    "n\u0303",
    "😀",
    "\x00",
    "\n",
    '"',
]
DAYS = [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 31, 23, 59, 59, 999999, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC)]  # fmt: skip
RECORDS: list[dict[str, Any]] = [
    {},
    *({"author": text, "tags": (text, "common")} for text in NASTY),
    {"tags": ()},
    {"tags": ("",)},
    {"tags": ("a", "b"), "views": 0, "price": 0.0, "free": False},
    *({"views": n, "price": n / 2, "free": n > 2} for n in (-(2**63) + 1, -1, 1, 2, 3, 2**53 + 1, 2**63 - 1)),
    *({"day": day} for day in DAYS),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Filters], set[int]]]:
    """Which of `RECORDS` a filter lets pass, by the real table."""
    store = StoreSettings(uri=str(tmp_path_factory.mktemp("store")))
    with asyncio.Runner() as runner:

        async def opened() -> KnowledgeTable:
            table = await KnowledgeTable.open(store, FAKE, create=True)
            rows = [row(f"db/{n}", metadata=record) for n, record in enumerate(RECORDS)]
            # two commits: rows that an index knows and rows that are newer
            await table.replace_pages([r.page_id for r in rows[::2]], rows[::2])
            await table.maintain()
            await table.replace_pages([r.page_id for r in rows[1::2]], rows[1::2])
            return table

        table = runner.run(opened())

        async def passing(filters: Filters) -> set[int]:
            where = to_expression(filters, await table.metadata())
            return {int(r["page_id"].split("/")[1]) for r in await table.columns(["page_id"], where)}

        yield lambda filters: runner.run(passing(filters))


def expected(name: str, asked: Any) -> set[int]:
    """The oracle, in plain Python."""
    return {n for n, record in enumerate(RECORDS) if holds(name, record.get(name), asked)}


def holds(name: str, value: Any, asked: Any) -> bool:
    if isinstance(asked, dict):
        first, last = asked.get("from"), asked.get("to")
        if value is None:
            return False
        return (first is None or value >= moment(name, first)) and (
            last is None or value <= moment(name, last, end=True)
        )
    if isinstance(asked, list):
        return any(holds(name, value, one) for one in asked)
    if asked is None or value is None:
        return asked is None and value is None
    if name == "tags":
        return asked.replace(SEPARATOR, " ") in value
    if name == "day":
        return moment(name, asked) <= value <= moment(name, asked, end=True)
    return bool(value == asked)


def moment(name: str, value: Any, *, end: bool = False) -> Any:
    if name != "day":
        return value
    instant = datetime.fromisoformat(value).replace(tzinfo=UTC)
    day = timedelta(days=1) - timedelta(microseconds=1)
    return instant + day if end and len(value) == 10 else instant


def values_of(name: str) -> st.SearchStrategy[Any]:
    known = sorted({r[name] for r in RECORDS if name in r and name not in {"tags", "day"}})
    others: dict[str, st.SearchStrategy[Any]] = {
        "author": st.text(max_size=5),
        "tags": st.sampled_from(NASTY) | st.text(max_size=5) | st.just("common"),
        "views": st.integers(-(2**63) + 1, 2**63 - 1),
        "price": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-10, 10),
        "free": st.booleans(),
        "day": st.sampled_from(["2024-01-01", "2024-01-31", "2024-02-01", "2024-01-31T23:59:59.999999", "1969-12-31", "2024-01-01 00:00"]),
    }  # fmt: skip
    return (st.sampled_from(known) | others[name]) if known else others[name]


conditions = st.sampled_from(sorted(KINDS)).flatmap(
    lambda name: st.tuples(
        st.just(name),
        values_of(name)
        | st.none()
        | st.lists(values_of(name) | st.none(), max_size=4)
        | (
            st.dictionaries(st.sampled_from(["from", "to"]), values_of(name), min_size=1)
            if name not in {"tags", "free"}
            else st.none()
        ),
    )
)


@given(conditions)
def test_a_condition_holds_where_python_says_so(
    world: Callable[[Filters], set[int]], asked: tuple[str, Any]
) -> None:
    name, value = asked
    assert world(Filters(metadata={name: value})) == expected(name, value)


@given(conditions, conditions)
def test_all_conditions_must_hold(
    world: Callable[[Filters], set[int]], one: tuple[str, Any], other: tuple[str, Any]
) -> None:
    assume(one[0] != other[0])
    assert world(Filters(metadata=dict([one, other]))) == expected(*one) & expected(*other)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_null_is_no_value_and_none_of_several_values_is_nothing(
    world: Callable[[Filters], set[int]], name: str
) -> None:
    assert world(Filters(metadata={name: None})) == expected(name, None)
    assert world(Filters(metadata={name: []})) == set()


def test_an_end_between_two_whole_numbers_is_exact(world: Callable[[Filters], set[int]]) -> None:
    assert world(Filters(metadata={"views": {"from": 1.5, "to": 2.5}})) == expected("views", 2)
    assert world(Filters(metadata={"views": 2.0})) == expected("views", 2)
    assert world(Filters(metadata={"views": 2**53 + 1})) == expected("views", 2**53 + 1)


def test_other_filters_hold_as_well(world: Callable[[Filters], set[int]]) -> None:
    assert world(Filters(page_id=("db/0",), metadata={"author": None})) == {0}
    assert world(Filters(source=("other",), metadata={"author": None})) == set()


# --- what cannot be asked ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"nope": 1}, r"there is no 'nope'; there is: author \(text\), day \(date\), free \(yes/no\), price"),
        ({"author": 5}, "author is a text: send a string, not 5"),
        ({"views": "10"}, "views is a whole number"),
        ({"views": 2.5}, "views is a whole number"),
        ({"views": True}, "views is a whole number"),
        ({"views": 2**70}, "a whole number of 64 bits"),
        ({"price": "1"}, "price is a number"),
        ({"price": 10**400}, "price is a number"),
        ({"free": 1}, "free is a yes/no: send true or false"),
        ({"free": {"from": False}}, "no ranges"),
        ({"tags": {"from": "a"}}, "no ranges"),
        ({"tags": [["a"]]}, "filters.metadata"),
        ({"day": "yesterday"}, 'send a string such as "2024-12-31"'),
        ({"day": 5}, "day is a date"),
        ({"day": "9999-12-31T23:00:00-14:00"}, "day is a date"),
        ({"author": {}}, 'needs "from" or "to"'),
        ({"author": {"form": 1}}, "filters.metadata"),
        ({"author": ["x"] * 101}, "filters.metadata.author"),
        ({str(n): 1 for n in range(21)}, "filters.metadata"),
        ({"price": math.nan}, "filters.metadata"),
    ],
)
def test_what_cannot_be_asked_is_said(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        to_expression(request_from({"queries": ["x"], "filters": {"metadata": asked}}).filters, KINDS)


def test_the_last_day_of_the_calendar_is_a_day() -> None:
    to_expression(Filters(metadata={"day": "9999-12-31"}), KINDS)


def test_without_metadata_the_message_says_none() -> None:
    with pytest.raises(InvalidRequest, match="there is: none"):
        to_expression(Filters(metadata={"a": 1}), {})


def test_the_response_repeats_the_filter() -> None:
    asked = {"author": None, "views": {"from": 1, "to": None}, "tags": ("a", None)}
    assert applied(Filters(metadata=asked, source="x")) == {
        "source": ["x"],
        "metadata": {"author": None, "views": {"from": 1, "to": None}, "tags": ["a", None]},
    }
    assert applied(Filters()) == {}


def test_filters_read_their_own_json() -> None:
    filters = Filters(metadata={"views": {"from": 1}, "tags": ["a", None], "free": True})
    assert Filters.model_validate_json(filters.model_dump_json()) == filters
    with pytest.raises(ValidationError):
        Filters(metadata={"views": {"start": 1}})


# --- on the command line -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "asked"),
    [
        (["author=Ann"], {"author": "Ann"}),
        (["author=Ann", "author=O'Neil = x"], {"author": ["Ann", "O'Neil = x"]}),
        (["author="], {"author": None}),
        (["author=10"], {"author": "10"}),
        (["views>=10", "views <= 20"], {"views": {"from": 10, "to": 20}}),
        (["views=10"], {"views": 10}),
        (["price>=2.5"], {"price": 2.5, "_": 0}),
        (["free=yes"], {"free": True}),
        (["day>=2024-01-01"], {"day": {"from": "2024-01-01"}}),
    ],
)
def test_conditions_as_they_are_typed(texts: list[str], asked: dict[str, Any]) -> None:
    if "_" in asked:
        asked = {"price": {"from": asked["price"]}}
    wanted = {n: [v] if not isinstance(v, list | dict) else v for n, v in asked.items()}
    assert Filters(metadata=metadata_filter(texts, KINDS)) == Filters(metadata=wanted)


@pytest.mark.parametrize(
    "texts", [["author"], ["views>10"], ["=x"], ["a b=c"], ["views=1", "views>=2"], ["views!=3"]]
)
def test_other_conditions_are_refused(texts: list[str]) -> None:
    with pytest.raises(InvalidRequest, match="--where"):
        metadata_filter(texts, KINDS)


@pytest.mark.parametrize("text", ["views=many", "price=nan", "free=maybe", "day=soon"])
def test_a_value_of_another_kind_is_refused_by_the_filter(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"filters\.metadata"):
        to_expression(Filters(metadata=metadata_filter([text], KINDS)), KINDS)
