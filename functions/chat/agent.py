"""The bounded loop: plan → retrieve → check whether that suffices → answer, as a stream of events."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from functions.chat import stream as events
from functions.chat.answer import Draft, write_answer
from functions.chat.context import as_sources, choose
from functions.chat.ladder import Ladder
from functions.chat.memory import question_of, remembered, size
from functions.chat.phrases import phrase
from functions.chat.plan import make_plan
from functions.chat.sufficiency import enough
from functions.chat.support import Similar
from functions.chat.turn import Deadline, Turn
from shared.cost import Ledger
from shared.errors import PortavozError
from shared.language_model import LanguageModel
from shared.records import (
    Answer,
    AnswerVerdict,
    ChatRequest,
    Citation,
    Event,
    QueryResult,
    RetrieveRequest,
    RetrieveResponse,
)
from shared.settings import EXTRACTIVE, Settings
from shared.trace import current_trace

Retrieve = Callable[[RetrieveRequest, Ledger], Awaitable[RetrieveResponse]]


@dataclass(frozen=True)
class Agent:
    """Answers visitors. It reaches the site only through `retrieve`; nothing retrieved can call anything."""

    retrieve: Retrieve
    ladder: Ladder
    judge: LanguageModel | None
    similar: Similar
    alike: float  # similarity from which two sentences say the same
    settings: Settings

    async def chat(self, request: ChatRequest) -> AsyncIterator[Event]:
        """The events of one answer, the last of which is `done`.

        Raises:
            InvalidRequest: before the first event, for a conversation that does not end with a question.
        """
        chat = self.settings.chat
        history = remembered(request.messages, chat.memory_turns, chat.budgets.context_words)
        turn = Turn(request, question_of(request), history, Deadline.after(chat.budgets.answer_seconds))
        yield events.status("planning")
        turn.plan = await make_plan(
            turn.question, turn.history, self.ladder, self.settings, turn.ledger, turn.deadline.models
        )
        try:
            async for event in self._look_up(turn):
                yield event
        except PortavozError as error:  # the table or the embedding model is out of reach
            current_trace().note("retrieval failed", error=str(error))
            yield self._done(turn, self._say(turn, "unavailable"), "unavailable")
            return
        if turn.passages:
            async for event in self._answer(turn):
                yield event
        elif turn.plan.route == "nothing":  # a fixed sentence: nothing is claimed, no model is paid
            yield self._done(
                turn, phrase("hello", turn.plan.language, site=self.settings.site.name), "answered"
            )
        elif turn.plan.route == "out_of_scope":
            yield self._done(turn, self._say(turn, "out_of_scope"), "out_of_scope")
        else:
            yield self._done(turn, self._not_in_site(turn), "not_in_site")

    async def _look_up(self, turn: Turn) -> AsyncIterator[Event]:
        """Retrieve until it suffices, at most `max_retrievals` times.

        A message that the plan calls out of scope is looked up once as well: the index knows better than a model
        what the site is about.
        """
        if turn.plan.route == "nothing":
            return
        queries: Sequence[str] = turn.plan.queries
        while queries and turn.retrievals < self.settings.chat.max_retrievals:
            yield events.status("retrieving", queries=list(queries))
            results = await self._retrieve(turn, queries)
            if turn.plan.route == "out_of_scope" and not any(r.verdict == "matched" for r in results):
                turn.passages = ()
                return
            if not self._judged(turn):
                break
            yield events.status("checking")
            queries = await enough(
                turn.question, turn.passages, turn.asked, self.judge, turn.ledger, turn.deadline.models
            )
        if turn.passages:
            yield events.sources(as_sources(turn.passages))

    async def _retrieve(self, turn: Turn, queries: Sequence[str]) -> tuple[QueryResult, ...]:
        request = RetrieveRequest(queries=tuple(queries), filters=turn.request.filters)
        with current_trace().step("retrieve", queries=list(queries)) as facts:
            response = await turn.deadline.within(self.retrieve(request, turn.ledger))
            facts["found"] = [(r.query, r.verdict, len(r.chunks)) for r in response.results]
        turn.retrievals += 1
        turn.asked += queries
        turn.matched = turn.matched or any(r.verdict == "matched" for r in response.results)
        budget = self.settings.chat.budgets.context_words - sum(size(m["content"]) for m in turn.history)
        turn.passages = choose(response.results, turn.passages, budget)
        return response.results

    def _judged(self, turn: Turn) -> bool:
        """Whether a judge looks at what was found; with nothing found there is nothing to judge."""
        return bool(self.settings.chat.sufficiency_check and self.judge and turn.passages)

    async def _answer(self, turn: Turn) -> AsyncIterator[Event]:
        yield events.status("writing")
        async for part in write_answer(
            turn,
            self.ladder,
            lambda texts: turn.deadline.within(self.similar(texts)),
            self.alike,
            self.settings,
        ):
            if isinstance(part, Event):
                yield part
            elif part.verdict == "not_in_site":
                yield self._done(turn, self._not_in_site(turn), "not_in_site", draft=part)
            else:
                certain = part.model != EXTRACTIVE or turn.matched
                yield self._done(turn, part.text, part.verdict if certain else "partial", draft=part)

    def _say(self, turn: Turn, key: str, **values: str) -> str:
        language, site = turn.plan.language, self.settings.site
        contact = "\n\n" + phrase("contact", language, contact=site.contact_url) if site.contact_url else ""
        return phrase(key, language, site=site.name, **values) + contact

    def _not_in_site(self, turn: Turn) -> str:
        return self._say(
            turn, "not_in_site", queries="; ".join(f"“{query}”" for query in dict.fromkeys(turn.asked))
        )

    def _done(self, turn: Turn, text: str, verdict: AnswerVerdict, draft: Draft | None = None) -> Event:
        citations: tuple[Citation, ...] = (
            draft.citations if draft and verdict in {"answered", "partial"} else ()
        )
        answer = Answer(
            answer_id=uuid.uuid4().hex,
            answer=text,
            citations=citations,
            verdict=verdict,
            model=draft.model if draft else "",
            fallback_used=draft.fallback_used if draft else False,
            retrievals=turn.retrievals,
            usage=turn.ledger.usage,
            cost_usd=round(turn.ledger.usd, 6),
            trace_id=current_trace().id,
        )
        return events.done(answer)
