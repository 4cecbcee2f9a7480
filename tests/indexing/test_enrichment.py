"""Chunks described by rules, and by a model that does not always do as told."""

from __future__ import annotations

from typing import Any

import pytest

from functions.indexing.enrichment import ModelEnricher, RuleEnricher, reuse_key
from functions.indexing.rules import key_phrases
from shared.cost import Ledger
from shared.language_model import LanguageModel
from shared.records import Chunk, EnrichedChunk, Page
from shared.settings import ModelSettings, Product, Settings
from tests.fakes.openai_server import OpenAIServer, closed_url, fail, filtered

PRODUCTS = (
    Product(id="shop", name="Acme Shop", aliases=("tienda", "e-shop")),
    Product(id="crm", name="Acme CRM"),
)
GOOD = {
    "summary": "How to  return\na product.", "keywords": ["Returns", "refund", "RETURNS"],
    "questions": ["How do I return it?", "When?"], "product": "shop", "content_type": "faq",
}  # fmt: skip


def settings(**others: Any) -> Settings:
    return Settings(**{"products": PRODUCTS, "indexing": {"batch_pause_ms": 0}} | others)


def pair(text: str = "You can return it.", section: str = "", **page: Any) -> tuple[Page, Chunk]:
    fields = {
        "id": "pages/a.md",
        "source": "pages",
        "url": "",
        "title": "T",
        "text": text,
        "language": "en",
    } | page
    return Page(**fields), Chunk(id="c", ordinal=0, section=section, text=text)


async def by_rules(*pairs: tuple[Page, Chunk], **others: Any) -> list[EnrichedChunk]:
    return await RuleEnricher(settings(**others)).enrich(pairs, Ledger())


def model_enricher(server: OpenAIServer, **others: Any) -> ModelEnricher:
    return ModelEnricher(LanguageModel(server.settings("tiny", price_input=1.0)), settings(**others))


# --- rules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "product"),
    [
        ({"text": "In the ACME SHOP you can pay."}, "shop"),
        ({"text": "La Tienda está abierta."}, "shop"),
        ({"text": "Workshops and eshops are others."}, "general"),
        ({"title": "Acme CRM", "text": "Unlike the tienda, it stores contacts."}, "crm"),
        ({"id": "pages/crm/start.md", "text": "Start here."}, "crm"),
        ({"text": "Nothing is named."}, "general"),
        ({"text": "Nothing is named.", "product": "crm"}, "crm"),
        ({"text": "The Acme Shop.", "product": "general"}, "general"),
    ],
)
async def test_the_product_is_the_one_named_most_unless_pinned(page: dict[str, Any], product: str) -> None:
    (enriched,) = await by_rules(pair(**page))
    assert enriched.enrichment.product == product


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ({"id": "pages/precios/a.md"}, "pricing"),
        ({"id": "pages/faq.md", "title": "Pricing"}, "faq"),
        ({"title": "API reference"}, "reference"),
        ({"section": "Install › Tutorial"}, "tutorial"),
        ({"title": "About us"}, "overview"),
        ({}, "guide"),
        ({"id": "pages/faq.md", "content_type": "demo"}, "demo"),
    ],
)
async def test_the_content_type_is_named_by_path_title_or_heading_unless_pinned(
    page: dict[str, Any], kind: str
) -> None:
    (enriched,) = await by_rules(pair(**page))
    assert enriched.enrichment.content_type == kind


async def test_content_types_are_the_sites_own() -> None:
    named, other = await by_rules(pair(id="pages/recipe.md"), pair(), content_types=("recipe", "story"))
    assert (named.enrichment.content_type, other.enrichment.content_type) == ("recipe", "story")


async def test_rules_say_that_they_are_rules_and_cost_nothing() -> None:
    ledger = Ledger()
    (enriched,) = await RuleEnricher(settings()).enrich([pair()], ledger)
    assert enriched.enrichment.enriched_by == "rules"
    assert enriched.enrichment.summary == ""
    assert enriched.enrichment.questions == ()
    assert ledger.by_role == {}


@pytest.mark.parametrize("language", ["en", "es", "zh", "xx", ""])
@pytest.mark.parametrize(
    "text", ["", "Ok.", "```\ncode\n```", "| a |\n|---|", "🙂", "Acme Island Builder makes Acme Island Maps."]
)
def test_key_phrases_are_lower_case_and_few_in_any_language(text: str, language: str) -> None:
    phrases = key_phrases(text, language)
    assert len(phrases) <= 8
    assert phrases == [p.casefold() for p in phrases]
    assert len(set(phrases)) == len(phrases)


def test_key_phrases_come_from_prose_not_from_code() -> None:
    assert key_phrases("```\nsecret_function()\n```\nReturn the lamp to the warehouse.", "en")
    assert not any("secret" in p for p in key_phrases("```\nsecret_function()\n```\nReturn the lamp.", "en"))


def test_the_reuse_key_depends_on_everything_that_the_enrichment_does() -> None:
    page, chunk = pair()
    key = reuse_key(chunk, page, "1")
    assert key == reuse_key(
        chunk.model_copy(update={"id": "x", "ordinal": 7}), page.model_copy(update={"url": "u"}), "1"
    )
    others = {
        reuse_key(chunk.model_copy(update={"text": "other"}), page, "1"),
        reuse_key(chunk.model_copy(update={"section": "other"}), page, "1"),
        reuse_key(chunk, page.model_copy(update={"language": "es"}), "1"),
        reuse_key(chunk, page.model_copy(update={"product": "crm"}), "1"),
        reuse_key(chunk, page.model_copy(update={"content_type": "faq"}), "1"),
        reuse_key(chunk, page, "2"),
    }
    assert len(others | {key}) == 7


def test_the_version_changes_with_products_types_and_model(openai_server: OpenAIServer) -> None:
    rules, model = RuleEnricher(settings()), model_enricher(openai_server)
    versions = {
        rules.version, model.version,
        RuleEnricher(settings(products=PRODUCTS[:1])).version,
        RuleEnricher(settings(content_types=("guide",))).version,
        ModelEnricher(LanguageModel(openai_server.settings("other")), settings()).version,
    }  # fmt: skip
    assert len(versions) == 5
    assert RuleEnricher(settings()).version == rules.version


# --- model ---------------------------------------------------------------------------------------


async def test_the_model_fills_in_the_schema_and_its_words_are_tidied(openai_server: OpenAIServer) -> None:
    openai_server.reply_json(GOOD)
    ledger = Ledger()
    (enriched,) = await model_enricher(openai_server).enrich([pair()], ledger)
    made = enriched.enrichment
    assert made.summary == "How to return a product."
    assert made.keywords == ("returns", "refund")
    assert made.questions == ("How do I return it?", "When?")
    assert (made.product, made.content_type, made.enriched_by) == ("shop", "faq", "tiny")
    assert ledger.calls("enrichment") == 1
    assert ledger.usd > 0


async def test_the_model_may_choose_only_among_the_sites_products_and_types(
    openai_server: OpenAIServer,
) -> None:
    openai_server.reply_json(GOOD)
    await model_enricher(openai_server).enrich([pair()], Ledger())
    (request,) = openai_server.requests
    properties = request.body["response_format"]["json_schema"]["schema"]["properties"]
    assert properties["product"]["enum"] == ["shop", "crm", "general"]
    assert "faq" in properties["content_type"]["enum"]
    assert "Acme Shop" in request.messages[0]["content"]
    assert "tienda" in request.messages[0]["content"]
    assert request.body["temperature"] == 0.2


async def test_at_most_eight_keywords_and_three_questions_are_kept(openai_server: OpenAIServer) -> None:
    openai_server.reply_json(GOOD | {"keywords": [f"K{n}" for n in range(12)], "questions": list("abcde")})
    (enriched,) = await model_enricher(openai_server).enrich([pair()], Ledger())
    assert enriched.enrichment.keywords == tuple(f"k{n}" for n in range(8))
    assert enriched.enrichment.questions == ("a", "b", "c")


async def test_a_pinned_product_and_type_win_over_the_model(openai_server: OpenAIServer) -> None:
    openai_server.reply_json(GOOD)
    (enriched,) = await model_enricher(openai_server).enrich(
        [pair(product="crm", content_type="demo")], Ledger()
    )
    assert (enriched.enrichment.product, enriched.enrichment.content_type) == ("crm", "demo")


async def test_an_invented_product_or_type_is_put_right_without_asking_again(
    openai_server: OpenAIServer,
) -> None:
    openai_server.script([GOOD | {"product": "rocket", "content_type": "poem"}])
    (enriched,) = await model_enricher(openai_server).enrich([pair("The Acme CRM costs.")], Ledger())
    assert (enriched.enrichment.product, enriched.enrichment.content_type) == ("crm", "guide")
    assert enriched.enrichment.enriched_by == "tiny"
    assert len(openai_server.requests) == 1


async def test_keywords_that_are_missing_come_from_the_rules(openai_server: OpenAIServer) -> None:
    openai_server.script([GOOD | {"keywords": []}])
    (enriched,) = await model_enricher(openai_server).enrich([pair("Refund vouchers expire.")], Ledger())
    assert enriched.enrichment.keywords
    assert enriched.enrichment.enriched_by == "tiny"


SPANISH = GOOD | {
    "summary": "Explica cómo devolver un producto en la tienda y cuánto tarda el reembolso.",
    "questions": ["¿Cómo devuelvo un producto?", "¿Cuánto tarda el reembolso?"],
}


async def test_a_description_in_another_language_is_sent_back_once(openai_server: OpenAIServer) -> None:
    english = {"summary": "How to return a product to the shop and when the money is paid back to you."}
    openai_server.script([SPANISH, GOOD | english])
    (enriched,) = await model_enricher(openai_server).enrich([pair()], Ledger())
    assert enriched.enrichment.summary == english["summary"]
    openai_server.script([SPANISH, SPANISH])
    (enriched,) = await model_enricher(openai_server).enrich([pair()], Ledger())
    assert enriched.enrichment.enriched_by == "rules"


async def test_the_fallback_enriches_where_the_model_is_out_of_reach(openai_server: OpenAIServer) -> None:
    gone = LanguageModel(ModelSettings(model="gone", base_url=closed_url(), api_key_env=""))
    enricher = ModelEnricher(gone, settings(), LanguageModel(openai_server.settings("second")))
    openai_server.script([GOOD])
    page, chunk = pair()
    (enriched,) = await enricher.enrich([(page, chunk)], Ledger())
    assert enriched.enrichment.enriched_by == "second"
    assert enriched.reuse_key == reuse_key(chunk, page, enricher.version)  # paid, and not paid again


@pytest.mark.parametrize("replies", [["no", {"summary": ""}]], ids=["no structure"])
async def test_what_is_invalid_twice_goes_to_the_rules_for_good(openai_server: OpenAIServer, replies) -> None:
    openai_server.script(replies)
    enricher = model_enricher(openai_server)
    page, chunk = pair("The Acme CRM.")
    (enriched,) = await enricher.enrich([(page, chunk)], Ledger())
    assert (enriched.enrichment.enriched_by, enriched.enrichment.product) == ("rules", "crm")
    assert enriched.reuse_key == reuse_key(chunk, page, enricher.version)  # not asked again
    assert len(openai_server.requests) == 2


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_may_pass_is_tried_again_after_the_wait_asked_for(
    openai_server: OpenAIServer, status: int
) -> None:
    openai_server.script([fail(status, {"Retry-After": "0.01"}), fail(status, {"Retry-After": "0.01"}), GOOD])
    (enriched,) = await model_enricher(openai_server).enrich([pair()], Ledger())
    assert enriched.enrichment.enriched_by == "tiny"
    assert len(openai_server.requests) == 3


async def test_a_long_outage_goes_to_the_rules_until_the_next_run(openai_server: OpenAIServer) -> None:
    openai_server.always(fail(429, {"Retry-After": "0.01"}), schema="Enrichment")
    enricher = model_enricher(openai_server)
    page, chunk = pair()
    (enriched,) = await enricher.enrich([(page, chunk)], Ledger())
    assert enriched.enrichment.enriched_by == "rules"
    assert enriched.reuse_key != reuse_key(chunk, page, enricher.version)  # asked again by the next run
    assert len(openai_server.requests) == 4


async def test_a_wrong_key_is_not_tried_again(openai_server: OpenAIServer) -> None:
    openai_server.always(fail(401), schema="Enrichment")
    (enriched,) = await model_enricher(openai_server).enrich([pair()], Ledger())
    assert enriched.enrichment.enriched_by == "rules"
    assert len(openai_server.requests) == 1


async def test_a_filtered_reply_goes_to_the_rules_for_good(openai_server: OpenAIServer) -> None:
    openai_server.always(filtered(), schema="Enrichment")
    enricher = model_enricher(openai_server)
    page, chunk = pair()
    (enriched,) = await enricher.enrich([(page, chunk)], Ledger())
    assert enriched.reuse_key == reuse_key(chunk, page, enricher.version)
    assert len(openai_server.requests) == 1


async def test_chunks_come_back_in_their_order_and_one_failure_harms_no_other(
    openai_server: OpenAIServer,
) -> None:
    def answer(request):
        return fail(401) if "Text 3" in request.last else GOOD | {"summary": request.last.split("\n")[-1]}

    openai_server.always(answer, schema="Enrichment")
    pairs = [pair(f"Text {n}") for n in range(8)]
    enriched = await model_enricher(
        openai_server, indexing={"batch_pause_ms": 0, "enrichment_parallel": 3}
    ).enrich(pairs, Ledger())
    assert [e.chunk.text for e in enriched] == [f"Text {n}" for n in range(8)]
    assert [e.enrichment.summary for e in enriched] == [f"Text {n}" if n != 3 else "" for n in range(8)]
