"""What a run would cost, without calling a model: for `--dry-run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions.indexing.enrichment import reuse_key
from functions.indexing.report import Estimate, last_tokens_per_char
from functions.indexing.rows import PageChunks, embedded_text, stored_enrichments
from functions.indexing.rules import enrich_by_rules
from shared.records import EnrichedChunk

if TYPE_CHECKING:
    from functions.indexing.index import Indexer

REPLY_TOKENS = (
    160  # of one enrichment: two sentences, eight keywords, three questions and the JSON around them
)
DESCRIBED_CHARS = 600  # that an enrichment adds to the embedded text: the same in characters
LOOKED_UP = 1000  # keys in one query


class Estimator:
    """Gathers the chunks that a run would enrich and embed."""

    def __init__(self, indexer: Indexer, *, anew: bool) -> None:
        self._indexer = indexer
        same_model = indexer.table.identity == indexer.embedder.identity
        self._pays_again = (
            anew and same_model
        )  # a full run takes enrichments over only to another embedding model
        self._prompts: dict[str, int] = {}  # reuse key → characters of the prompt
        self._embedded: dict[str, int] = {}

    def add(self, entry: PageChunks) -> None:
        """Count a page that changed."""
        enricher = self._indexer.enricher
        for chunk in entry.chunks:
            key = reuse_key(chunk, entry.page, enricher.version)
            rules = enrich_by_rules(entry.page, chunk, self._indexer.settings)
            one = EnrichedChunk(page=entry.page, chunk=chunk, enrichment=rules, reuse_key=key)
            described = DESCRIBED_CHARS if enricher.calls_model else 0
            self._embedded[key] = len(embedded_text(one)) + described
            if enricher.calls_model:
                self._prompts[key] = sum(len(m["content"]) for m in enricher.prompt(entry.page, chunk))

    async def result(self) -> Estimate:
        """Calls, tokens and price. Tokens per character are those of earlier runs with the same models, if any."""
        keys = list(self._prompts)
        for start in range(0, 0 if self._pays_again else len(keys), LOOKED_UP):
            for known in await stored_enrichments(self._indexer.table, keys[start : start + LOOKED_UP]):
                self._prompts.pop(known, None)
        rates = await last_tokens_per_char(self._indexer.journal, self._indexer.enricher.model_name)
        calls = len(self._prompts)
        read = round(sum(self._prompts.values()) * rates.enrichment)
        written = round(calls * (rates.reply_tokens or REPLY_TOKENS))
        embedded = round(sum(self._embedded.values()) * rates.embedding)
        price = self._indexer.enricher.price
        usd = (
            read * price.input + written * price.output + embedded * self._indexer.embedder.price.input
        ) / 1e6
        return Estimate(
            chunks=len(self._embedded), model_calls=calls, input_tokens=read, output_tokens=written,
            embedding_tokens=embedded, cost_usd=round(usd, 6),
        )  # fmt: skip
