"""Deciding what a message needs: documents with one to five queries, nothing, or a word that it is out of scope."""

from __future__ import annotations

import math
import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from functions.chat.ladder import Ladder
from shared.analysis import analyse
from shared.cost import Ledger
from shared.errors import ModelUnavailable
from shared.language import detect_language
from shared.prompts import PLAN
from shared.records import MAX_QUERIES, MAX_QUERY_CHARS, Record
from shared.settings import Settings
from shared.trace import current_trace

Route = Literal["documents", "nothing", "out_of_scope"]


class PlanDraft(BaseModel):
    """What the model fills in."""

    model_config = ConfigDict(extra="forbid")

    route: Route
    queries: Annotated[list[str], Field(max_length=MAX_QUERIES)]
    language: str


class Plan(Record):
    """Where to look, for what, and the language to answer in."""

    route: Route
    queries: tuple[str, ...]
    language: str


async def make_plan(
    question: str,
    history: list[dict[str, str]],
    ladder: Ladder,
    settings: Settings,
    ledger: Ledger,
    ends: float = math.inf,
) -> Plan:
    """Ask the models; without one, or when none answers, the question itself is the query."""
    language = question_language(question, settings)
    plain = Plan(route="documents", queries=(question[:MAX_QUERY_CHARS],), language=language)
    if not ladder.models:
        return plain
    products = ", ".join(p.name for p in settings.products) or settings.site.name
    system = PLAN.format(site=settings.site.name, products=products)
    prompt = [{"role": "system", "content": system}, *history, {"role": "user", "content": question}]
    with current_trace().step("plan") as facts:
        try:
            draft = await ladder.structured(prompt, PlanDraft, role="plan", ledger=ledger, ends=ends)
        except ModelUnavailable as error:
            facts["failed"] = str(error)
            return plain
        queries = tuple(
            dict.fromkeys(q.strip()[:MAX_QUERY_CHARS] for q in draft.queries if re.search(r"[^\W_]", q))
        )
        if not history and not _about(question, queries):  # small models have sent the names of the routes
            queries = (*queries, question[:MAX_QUERY_CHARS])[-MAX_QUERIES:]
        facts |= {"route": draft.route, "queries": queries, "language": language}
    return Plan(route=draft.route, queries=queries or plain.queries, language=language)


def _about(question: str, queries: tuple[str, ...]) -> bool:
    """Whether a query shares a word with the question; in a conversation it may stand for "the second one"."""
    asked = set(analyse(question, ""))
    return any(asked & set(analyse(query, "")) for query in queries)


def question_language(question: str, settings: Settings) -> str:
    """The language of a question; the site's languages decide where it is too short to tell."""
    code, probability = detect_language(question)
    if (
        probability > 0.95
    ):  # below, the classifier takes names and single words for any language (measured: hello → it)
        return code
    return detect_language(question, settings.site.languages)[0] or settings.site.languages[0]
