"""Answers without a model: the closest statements, whole, with what they stand under."""

from __future__ import annotations

import numpy as np

from functions.chat.extractive import extractive_answer
from shared.cost import Ledger
from shared.errors import ModelUnavailable
from shared.records import Passage
from tests.fakes.embedder import FakeEmbedder

LAMP = Passage(
    id="lamp#0", page_id="lamp", title="Lumen desk lamp", section="", summary="", url="https://example.com/lamp",
    product="general", content_type="guide", language="en", source="s", score=0.9,
    text="The Lumen has a warranty of three years.\n\n**Price**\n\nThe Lumen costs 49.90 EUR.\n\n"
    "| Model | Price |\n| --- | --- |\n| Lumen XL | 89 EUR |\n\n**Can I return it?**\n\nYes, within 30 days.\n\n"
    "Run `./deploy.sh local` and wait:\n\n```bash\n./deploy.sh local\n```",
)  # fmt: skip


async def similar(texts: list[str]) -> np.ndarray:
    return await FakeEmbedder().passages(texts, Ledger())


async def answer(question: str, *passages: Passage, by: object = similar) -> tuple[str, list[str]]:
    text, citations = await extractive_answer([question], passages or (LAMP,), "Acme", "en", by)  # type: ignore[arg-type]
    return text, [c.quote for c in citations]


async def test_the_statement_that_answers_is_quoted_first() -> None:
    _, quotes = await answer("How much does the Lumen cost?")
    assert quotes[0] == "The Lumen costs 49.90 EUR."


async def test_neither_headings_nor_column_names_nor_questions_are_quoted() -> None:
    text, _ = await answer("price model return")
    quoted = [line for line in text.splitlines() if line.startswith("> ")]
    assert quoted
    for line in quoted:
        assert not line.startswith(("> **Price** [", "> Model | Price", "> **Can I return it?** ["))


async def test_inline_code_stays_whole_and_the_block_below_comes_with_its_sentence() -> None:
    text, quotes = await answer("How do I run deploy.sh local?")
    assert quotes[0] == "Run `./deploy.sh local` and wait:"
    assert "```bash\n./deploy.sh local\n```" in text


async def test_a_short_row_is_shown_with_its_heading() -> None:
    text, _ = await answer("What is the price of the Lumen XL?")
    assert "> **Price** — Lumen XL | 89 EUR [1]" in text


async def test_each_part_of_a_question_has_its_statement() -> None:
    parts = ["How much does the Lumen cost?", "How long is the warranty of the Lumen?"]
    _, citations = await extractive_answer(parts, (LAMP, LAMP), "Acme", "en", similar)  # type: ignore[arg-type]
    text, _ = await extractive_answer(parts, (LAMP,), "Acme", "en", similar)  # type: ignore[arg-type]
    assert citations
    assert "49.90 EUR" in text
    assert "three years" in text


async def test_without_the_embedding_model_words_decide() -> None:
    async def down(texts: list[str]) -> np.ndarray:
        raise ModelUnavailable("down", reason="connection")

    _, quotes = await answer("How long is the warranty of the Lumen?", by=down)
    assert quotes[0] == "The Lumen has a warranty of three years."


async def test_a_passage_of_code_alone_is_quoted_as_it_is() -> None:
    _, quotes = await answer("deploy", LAMP.model_copy(update={"text": "```bash\n./deploy.sh\n```"}))
    assert quotes
