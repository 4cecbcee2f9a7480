"""Chunk → enriched chunk: by a model with structured output, or by rules where there is none or it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal, Protocol, cast

import stamina
from pydantic import BaseModel, ConfigDict, Field, create_model

from functions.indexing.chunking import digest
from functions.indexing.rules import enrich_by_rules
from shared.cost import Ledger
from shared.errors import ModelOutputInvalid, ModelUnavailable
from shared.language_model import LanguageModel
from shared.prompts import ENRICHMENT, ENRICHMENT_VERSION
from shared.records import GENERAL, Chunk, EnrichedChunk, Enrichment, Page
from shared.settings import RULES, IndexingSettings, Settings

ATTEMPTS = (
    4  # waits of about 1, 2 and 4 s bridge a rate limit of some seconds; longer outages go to the rules
)
MOST_KEYWORDS, MOST_QUESTIONS = 8, 3  # contract: 5–8 keywords, 2–3 questions


class Enricher(Protocol):
    """Enriches chunks; `version` is part of the reuse key, `calls_model` tells whether it costs."""

    version: str
    calls_model: bool

    async def enrich(self, chunks: Sequence[tuple[Page, Chunk]], ledger: Ledger) -> list[EnrichedChunk]:
        """The chunks in the same order; never fewer."""
        ...


def reuse_key(chunk: Chunk, page: Page, version: str) -> str:
    """Equal for chunks whose enrichment is the same: text, headings, language, pins, prompt and model."""
    return digest(
        chunk.text,
        chunk.section,
        chunk.language or page.language,
        page.product or "",
        page.content_type or "",
        version,
    )


def pinned(enrichment: Enrichment, page: Page) -> Enrichment:
    """What the source or the page says of product and content type stands above what was found."""
    return enrichment.model_copy(
        update={
            "product": page.product or enrichment.product,
            "content_type": page.content_type or enrichment.content_type,
        }
    )


class RuleEnricher:
    """Deterministic enrichment, no model: key phrases, product by alias, content type by path and title."""

    calls_model = False

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        names = [f"{p.id}={p.name}={p.aliases}" for p in settings.products]
        self.version = digest(RULES, *names, *settings.content_types)

    async def enrich(self, chunks: Sequence[tuple[Page, Chunk]], ledger: Ledger) -> list[EnrichedChunk]:
        """Enrich by rules."""
        return [
            EnrichedChunk(
                page=page,
                chunk=chunk,
                enrichment=pinned(enrich_by_rules(page, chunk, self._settings), page),
                reuse_key=reuse_key(chunk, page, self.version),
            )
            for page, chunk in chunks
        ]


class ModelEnricher:
    """Enrichment by a language model, `enrichment_parallel` at a time and `batch_pause_ms` apart."""

    calls_model = True

    def __init__(self, model: LanguageModel, settings: Settings) -> None:
        self._model = model
        self._settings = settings
        self._rules = RuleEnricher(settings)
        self._draft = _draft_schema(settings)
        self.version = digest(model.name, ENRICHMENT_VERSION, self._rules.version)

    async def enrich(self, chunks: Sequence[tuple[Page, Chunk]], ledger: Ledger) -> list[EnrichedChunk]:
        """Enrich by the model; a chunk whose enrichment fails for good is enriched by rules."""
        pace: IndexingSettings = self._settings.indexing
        done: list[EnrichedChunk] = []
        for start in range(0, len(chunks), pace.enrichment_parallel):
            if start:
                await asyncio.sleep(pace.batch_pause_ms / 1000)
            batch = chunks[start : start + pace.enrichment_parallel]
            done += await asyncio.gather(*(self._one(page, chunk, ledger) for page, chunk in batch))
        return done

    async def _one(self, page: Page, chunk: Chunk, ledger: Ledger) -> EnrichedChunk:
        """Rules stand in where the model fails; the row says so (`enriched_by`) and the report counts it."""
        key = reuse_key(chunk, page, self.version)
        try:
            enrichment = await self._ask(page, chunk, ledger)
        except ModelOutputInvalid:  # asking again would cost again and give the same
            enrichment = enrich_by_rules(page, chunk, self._settings)
        except ModelUnavailable:  # the key of the rules tells the next run to ask the model
            enrichment = enrich_by_rules(page, chunk, self._settings)
            key = reuse_key(chunk, page, self._rules.version)
        return EnrichedChunk(page=page, chunk=chunk, enrichment=pinned(enrichment, page), reuse_key=key)

    async def _ask(self, page: Page, chunk: Chunk, ledger: Ledger) -> Enrichment:
        products = "; ".join(f"{p.id} ({', '.join((p.name, *p.aliases))})" for p in self._settings.products)
        rules = ENRICHMENT.format(
            language=chunk.language or page.language, general=GENERAL, products=products or "none"
        )
        passage = f"Title: {page.title}\nSection: {chunk.section}\n\n{chunk.text}"
        prompt = [{"role": "system", "content": rules}, {"role": "user", "content": passage}]
        async for attempt in stamina.retry_context(
            on=_wait_before_retry, attempts=ATTEMPTS, wait_initial=1.0
        ):
            with attempt:
                draft = cast(Any, await self._model.structured(
                    prompt, self._draft, role="enrichment", ledger=ledger, temperature=0.2
                ))  # fmt: skip
        return Enrichment(
            summary=" ".join(draft.summary.split()),
            keywords=_distinct((k.casefold() for k in draft.keywords), MOST_KEYWORDS),
            questions=_distinct(draft.questions, MOST_QUESTIONS),
            product=draft.product,
            content_type=draft.content_type,
            enriched_by=self._model.name,
        )


def _wait_before_retry(error: Exception) -> bool | float:
    """Retry what may pass, after what the server asked for."""
    if not isinstance(error, ModelUnavailable) or error.permanent:
        return False
    if error.reason in {"bad_structure", "content_filter"}:  # the same again
        return False
    return error.retry_after or True


def _distinct(texts: Any, most: int) -> tuple[str, ...]:
    kept = dict.fromkeys(" ".join(str(t).split()) for t in texts)
    return tuple(text for text in kept if text)[:most]


def _draft_schema(settings: Settings) -> type[BaseModel]:
    """What the model fills in; product and content type are the site's, so that none is invented."""
    products = (*(p.id for p in settings.products), GENERAL)
    return create_model(
        "Enrichment",
        __config__=ConfigDict(extra="forbid"),
        summary=(str, Field(min_length=1, max_length=600)),
        keywords=(list[str], Field(min_length=1, max_length=12)),
        questions=(list[str], Field(min_length=1, max_length=5)),
        product=(cast(Any, Literal[products]), ...),
        content_type=(cast(Any, Literal[settings.content_types]), ...),
    )
