"""The world that the functions run in, built from the settings. The only place that chooses implementations.

Which model serves a role that the settings leave open: with `OPENAI_API_KEY` the OpenAI models below, else the
built-in ones (embedded e5, enrichment by rules, extractive answers).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from shared.embedding import Embedder, build_embedder
from shared.journal import Journal
from shared.settings import EMBEDDED, EXTRACTIVE, RULES, ModelSettings, Settings, secret
from shared.table import KnowledgeTable

if TYPE_CHECKING:
    from functions.chat.agent import Agent
    from functions.indexing.enrichment import Enricher
    from functions.indexing.index import Indexer
    from functions.retrieval.search import Retriever

# model, USD per million tokens read and written (OpenAI's list prices)
OPENAI_DEFAULTS = {
    "chat": ("gpt-4.1-mini", 0.40, 1.60),
    "fallback": ("gpt-4o-mini", 0.15, 0.60),
    "enrichment": ("gpt-4.1-nano", 0.10, 0.40),
    "judge": ("gpt-4.1-nano", 0.10, 0.40),
    "embedding": ("text-embedding-3-small", 0.02, 0.0),
}
BUILT_IN = {
    "chat": EXTRACTIVE,
    "fallback": EXTRACTIVE,
    "enrichment": RULES,
    "judge": "",
    "embedding": EMBEDDED,
}


def model_for(role: str, settings: Settings) -> ModelSettings:
    """The model of a role: as configured, else OpenAI's default with a key, else the built-in one."""
    configured: ModelSettings = getattr(settings.models, role)
    if configured.model:
        return configured
    if not secret("OPENAI_API_KEY"):
        return configured.model_copy(update={"model": BUILT_IN[role]})
    model, price_input, price_output = OPENAI_DEFAULTS[role]
    prices = {"price_input": price_input, "price_output": price_output}
    unset = {name: price for name, price in prices.items() if name not in configured.model_fields_set}
    return configured.model_copy(update={"model": model, **unset})


@dataclass(frozen=True)
class Services:
    """What the commands and the web functions use. Parts are built once, when asked for."""

    settings: Settings
    embedder: Embedder
    table: KnowledgeTable

    @cached_property
    def journal(self) -> Journal:
        """What is kept beside the table."""
        return Journal(self.settings.store)

    @cached_property
    def enricher(self) -> Enricher:
        """Enrichment by the configured model, or by rules."""
        from functions.indexing.enrichment import ModelEnricher, RuleEnricher
        from shared.language_model import LanguageModel

        chosen = model_for("enrichment", self.settings)
        if chosen.model == RULES:
            return RuleEnricher(self.settings)
        other = model_for("fallback", self.settings)
        fallback = LanguageModel(other) if other.model not in {EXTRACTIVE, chosen.model} else None
        return ModelEnricher(LanguageModel(chosen), self.settings, fallback)

    @cached_property
    def indexer(self) -> Indexer:
        """What keeps the table equal to the sources."""
        from functions.indexing.index import Indexer

        return Indexer(self.table, self.embedder, self.enricher, self.settings)

    @cached_property
    def retriever(self) -> Retriever:
        """Retrieval over the table."""
        from functions.retrieval.search import Retriever

        return Retriever(self.table, self.embedder, self.settings)

    @cached_property
    def agent(self) -> Agent:
        """Chat, with retrieval in process: a hop to another function costs more than the search."""
        from functions.chat.agent import Agent
        from functions.chat.ladder import Ladder
        from shared.cost import Ledger
        from shared.language_model import LanguageModel

        chosen = {role: model_for(role, self.settings) for role in ("chat", "fallback", "judge")}
        models = {
            role: None if m.model in {EXTRACTIVE, ""} else LanguageModel(m) for role, m in chosen.items()
        }
        rungs = tuple(model for model in (models["chat"], models["fallback"]) if model)
        return Agent(
            retrieve=self.retriever.retrieve,
            ladder=Ladder(rungs),
            judge=models["judge"],
            similar=lambda texts: self.embedder.passages(texts, Ledger()),
            alike=self.embedder.scale.alike,
            settings=self.settings,
        )


async def build_services(
    settings: Settings, *, embedder: Embedder | None = None, writes: bool = False, any_model: bool = False
) -> Services:
    """Open the table with the configured embedding model; `writes` creates it where it is missing.

    `embedder` is one that is loaded already; `any_model` opens a table of another embedding model, for a full run.

    Raises:
        TableUnavailable, EmbeddingMismatch: as `KnowledgeTable.open`.
        ModelUnavailable: the embedding model's dimension has to be asked for, and the server does not answer.
    """
    embedder = embedder or await build_embedder(model_for("embedding", settings))
    table = await KnowledgeTable.open(settings.store, embedder.identity, create=writes, any_model=any_model)
    return Services(settings, embedder, table)
