"""Enrichment without a model: deterministic, free, and said to be so (`enriched_by = "rules"`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from functions.indexing.chunking import SEPARATOR
from shared.analysis import fold
from shared.records import GENERAL, Chunk, Enrichment, Page
from shared.settings import RULES, Product, Settings

KEYWORDS = (
    8  # the upper end of the contract's 5–8: key phrases overlap each other more than a model's keywords do
)
# What paths and titles call the content types, in the languages of the settings' examples; matched as whole words.
CONTENT_TYPE_WORDS = {
    "tutorial": "tutorial tutorials tutoriel tutoriels tutoriales getting-started quickstart first-steps",
    "reference": "reference references referencia referencias api errors config configuration",
    "feature": "feature features funcionalidades caracteristicas fonctionnalites",
    "pricing": "pricing prices price plans precios precio planes tarifas tarifs prix preise",
    "faq": "faq faqs questions preguntas troubleshooting",
    "demo": "demo demos example examples ejemplo ejemplos exemple exemples recipes",
    "overview": "overview introduction intro about concepts concept vision-general presentation",
    "guide": "guide guides guia guias how-to howto",
}


def enrich_by_rules(page: Page, chunk: Chunk, settings: Settings) -> Enrichment:
    """The heading path speaks for the chunk; key phrases, product and content type are looked up in the text."""
    return Enrichment(
        summary="",
        keywords=tuple(key_phrases(chunk.text, chunk.language or page.language)),
        questions=(),
        product=_product(page, chunk, settings.products),
        content_type=_content_type(page, chunk, settings.content_types),
        enriched_by=RULES,
    )


def key_phrases(text: str, language: str) -> list[str]:
    """The key phrases of a text, lower case, best first (YAKE: Campos et al., Information Sciences 509, 2020)."""
    prose = re.sub(r"```.*?```|`|\*\*|^\|.*\|$", " ", text, flags=re.DOTALL | re.MULTILINE)
    found: list[str] = []
    for phrase, _ in _extractor(language).extract_keywords(prose):
        lower = phrase.casefold()
        if not any(lower in other for other in found):  # "island" says nothing beside "astro island"
            found.append(lower)
    return found[:KEYWORDS]


@lru_cache(maxsize=32)
def _extractor(language: str) -> Any:
    import yake

    return yake.KeywordExtractor(lan=language or "en", n=2, top=2 * KEYWORDS)


def _product(page: Page, chunk: Chunk, products: Sequence[Product]) -> str:
    """The product named most; a name in the title, path or headings counts more than one in the text."""
    places = (
        (page.title, 5),
        (page.id, 3),
        (chunk.section, 3),
        (chunk.text, 1),
    )  # weights: a title names one thing
    scores = {
        product.id: sum(
            weight * _count(place, (product.id, product.name, *product.aliases)) for place, weight in places
        )
        for product in products
    }
    best = max(scores, key=lambda name: scores[name], default=GENERAL)
    return best if scores.get(best, 0) > 0 else GENERAL


def _count(text: str, names: Sequence[str]) -> int:
    alternatives = "|".join(sorted({re.escape(fold(n)) for n in names if n}, key=len, reverse=True))
    return len(re.findall(rf"(?<!\w)(?:{alternatives})(?!\w)", fold(text)))


def _content_type(page: Page, chunk: Chunk, content_types: Sequence[str]) -> str:
    """The content type that the path names, else the title, else the headings; a guide where none does."""
    below = page.id.removeprefix(f"{page.source}/")
    for place in (below, page.title, chunk.section.replace(SEPARATOR, " ")):
        names = re.split(r"[^\w-]+", fold(place))
        for name in names:
            for kind in content_types:
                if name in CONTENT_TYPE_WORDS.get(kind, "").split() or name in {kind, f"{kind}s"}:
                    return kind
    return "guide" if "guide" in content_types else content_types[-1]
