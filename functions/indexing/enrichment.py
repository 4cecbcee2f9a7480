"""Chunk → enriched chunk: by a model with structured output, or by rules where there is none or it fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Protocol, cast

import stamina
from pydantic import BaseModel, ConfigDict, Field, create_model

from functions.indexing.chunking import digest
from functions.indexing.pacing import Pace
from functions.indexing.rules import enrich_by_rules
from shared.cost import Ledger, Price
from shared.errors import ModelOutputInvalid, ModelUnavailable
from shared.language import detect_language
from shared.language_model import LanguageModel
from shared.prompts import ENRICHMENT, ENRICHMENT_VERSION
from shared.records import GENERAL, Chunk, EnrichedChunk, Enrichment, Page
from shared.settings import RULES, Settings

ATTEMPTS = (
    4  # waits of about 1, 2 and 4 s bridge a rate limit of some seconds; longer outages go to the rules
)
CERTAIN_WORDS, CERTAIN = 8, 0.95  # fewer words are often names; below, the classifier guesses
MOST_KEYWORDS, MOST_QUESTIONS = 8, 3  # contract: 5–8 keywords, 2–3 questions


class Enricher(Protocol):
    """Enriches chunks; `version` is part of the reuse key, `calls_model` tells whether it costs."""

    version: str
    calls_model: bool
    model_name: str
    price: Price
    batch_chunks: int  # chunks per commit

    async def enrich(self, chunks: Sequence[tuple[Page, Chunk]], ledger: Ledger) -> list[EnrichedChunk]:
        """The chunks in the same order; never fewer."""
        ...

    def prompt(self, page: Page, chunk: Chunk) -> list[dict[str, str]]:
        """What a model is sent for a chunk; nothing without a model."""
        ...

    def start(self) -> None:
        """A run begins: what was wrong with a model in the last one may be put right."""
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
    model_name = RULES
    price = Price()
    batch_chunks = 100  # what a kill loses: 10 s of the embedded model

    def prompt(self, page: Page, chunk: Chunk) -> list[dict[str, str]]:
        """Nothing."""
        return []

    def start(self) -> None:
        """Nothing to do."""

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
    """Enrichment by a language model, at a pace that its server bears; by `fallback` where it is out of reach."""

    calls_model = True

    def __init__(
        self, model: LanguageModel, settings: Settings, fallback: LanguageModel | None = None
    ) -> None:
        pace = settings.indexing
        self.model_name, self.price = model.name, model.price
        self.batch_chunks = 4 * pace.enrichment_parallel  # what a kill loses: four replies of each place
        self._models = [m for m in (model, fallback) if m is not None]
        self._out: set[str] = set()  # models whose key or name is wrong: not asked again in this run
        self._pace = Pace(pace.enrichment_parallel, pace.batch_pause_ms / 1000)
        self._settings = settings
        self._rules = RuleEnricher(settings)
        self._draft = _draft_schema(settings)
        self.version = digest(model.name, ENRICHMENT_VERSION, self._rules.version)

    async def enrich(self, chunks: Sequence[tuple[Page, Chunk]], ledger: Ledger) -> list[EnrichedChunk]:
        """Enrich by the model; a chunk whose enrichment fails for good is enriched by rules."""
        return list(await asyncio.gather(*(self._one(page, chunk, ledger) for page, chunk in chunks)))

    def start(self) -> None:
        """All models are asked again."""
        self._out.clear()

    def prompt(self, page: Page, chunk: Chunk) -> list[dict[str, str]]:
        """The rules, and the chunk below its title and headings."""
        products = "; ".join(f"{p.id} ({', '.join((p.name, *p.aliases))})" for p in self._settings.products)
        rules = ENRICHMENT.format(
            language=chunk.language or page.language, general=GENERAL, products=products or "none"
        )
        passage = f"Title: {page.title}\nSection: {chunk.section}\n\n{chunk.text}"
        return [{"role": "system", "content": rules}, {"role": "user", "content": passage}]

    async def _one(self, page: Page, chunk: Chunk, ledger: Ledger) -> EnrichedChunk:
        """Rules stand in where the models fail; the row says so (`enriched_by`) and the report counts it."""
        key = reuse_key(chunk, page, self.version)
        enrichment: Enrichment | None = None
        for model in self._models:
            if model.name in self._out:
                continue
            try:
                enrichment = await self._ask(model, page, chunk, ledger)
                break
            except ModelOutputInvalid:  # asking again would cost again and give the same
                enrichment = enrich_by_rules(page, chunk, self._settings)
                break
            except ModelUnavailable as error:
                if error.permanent and model.name not in self._out:
                    self._out.add(model.name)
                    logging.getLogger("portavoz").error(
                        "%s enriches nothing in this run: %s", model.name, error
                    )
        if enrichment is None:  # the key of the rules tells the next run to ask the model
            enrichment = enrich_by_rules(page, chunk, self._settings)
            key = reuse_key(chunk, page, self._rules.version)
        return EnrichedChunk(page=page, chunk=chunk, enrichment=pinned(enrichment, page), reuse_key=key)

    async def _ask(self, model: LanguageModel, page: Page, chunk: Chunk, ledger: Ledger) -> Enrichment:
        """A reply in the language of the page; the first one in another language is sent back once.

        Raises:
            ModelUnavailable, ModelOutputInvalid: as the model, after retries.
        """
        prompt, language = self.prompt(page, chunk), chunk.language or page.language
        draft = await self._reply(model, prompt, ledger)
        if _in_another_language(draft, language, self._settings):
            prompt += [
                {"role": "assistant", "content": draft.model_dump_json()},
                {
                    "role": "user",
                    "content": f"Write summary, keywords and questions in {language}. JSON only.",
                },
            ]
            draft = await self._reply(model, prompt, ledger)
            if _in_another_language(draft, language, self._settings):
                raise ModelOutputInvalid(f"{model.name} writes in another language", reason="bad_language")
        by_rules = enrich_by_rules(page, chunk, self._settings)
        products = {GENERAL, *(p.id for p in self._settings.products)}
        return Enrichment(
            summary=" ".join(draft.summary.split()),
            keywords=_distinct((k.casefold() for k in draft.keywords), MOST_KEYWORDS) or by_rules.keywords,
            questions=_distinct(draft.questions, MOST_QUESTIONS),
            product=draft.product if draft.product in products else by_rules.product,
            content_type=draft.content_type
            if draft.content_type in self._settings.content_types
            else by_rules.content_type,
            enriched_by=model.name,
        )

    async def _reply(self, model: LanguageModel, prompt: list[dict[str, str]], ledger: Ledger) -> Any:
        """One structured reply; what may pass is tried again, and a refusal slows all requests down."""
        async for attempt in stamina.retry_context(
            on=_wait_before_retry, attempts=ATTEMPTS, wait_initial=1.0
        ):
            with attempt:
                async with self._pace.turn():
                    try:
                        draft = await model.structured(
                            prompt, self._draft, role="enrichment", ledger=ledger, temperature=0.2
                        )
                    except ModelUnavailable as error:
                        if error.reason in {"http_429", "http_503"}:
                            self._pace.refused(error.retry_after or 1.0)
                        raise
                await self._pace.replied()
        return draft


def _in_another_language(draft: Any, language: str, settings: Settings) -> bool:
    """Whether the reply is surely in another language of the site than the page."""
    text = f"{draft.summary} {' '.join(draft.questions)}"
    among = [*dict.fromkeys((language, "en", *settings.site.languages))]  # models fall back to English
    if len(text.split()) < CERTAIN_WORDS or len(among) < 2:
        return False
    code, probability = detect_language(text, among)
    return code not in {language, ""} and probability > CERTAIN


def _wait_before_retry(error: Exception) -> bool | float:
    """Retry what may pass, after what the server asked for."""
    if not isinstance(error, ModelUnavailable) or error.permanent:
        return False
    if error.reason in {"bad_structure", "content_filter", "bad_language"}:  # the same again
        return False
    return error.retry_after or True


def _distinct(texts: Any, most: int) -> tuple[str, ...]:
    kept = dict.fromkeys(" ".join(str(t).split()) for t in texts)
    return tuple(text for text in kept if text)[:most]


def _draft_schema(settings: Settings) -> type[BaseModel]:
    """What the model fills in. A value outside of an enumeration is put right afterwards, not asked for again."""
    products = [*(p.id for p in settings.products), GENERAL]
    return create_model(
        "Enrichment",
        __config__=ConfigDict(extra="forbid"),
        summary=(str, Field(min_length=1, max_length=600)),
        keywords=(list[str], Field(max_length=12)),
        questions=(list[str], Field(min_length=1, max_length=5)),
        product=(str, Field(json_schema_extra={"enum": cast(Any, products)})),
        content_type=(str, Field(json_schema_extra={"enum": cast(Any, list(settings.content_types))})),
    )
