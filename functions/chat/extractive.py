"""The last rung: the passages themselves, quoted, with links. No model."""

from __future__ import annotations

from collections.abc import Sequence

from functions.chat.citations import best_sentence, content_words, text_fragment
from functions.chat.phrases import phrase
from shared.records import Citation, Passage

MOST = 3  # quotes: what is read without scrolling in a chat panel


def extractive_answer(
    question: str, passages: Sequence[Passage], site: str, language: str
) -> tuple[str, tuple[Citation, ...]]:
    """The closest passages' closest sentences, said to be quotes."""
    lines = [phrase("extractive", language, site=site)]
    citations = []
    quoted: set[str] = set()
    for number, passage in enumerate(passages, start=1):
        quote = best_sentence(passage.text, content_words(question, language), passage.language)
        if quote in quoted:
            continue
        quoted.add(quote)
        lines.append(f"> {quote} [{number}]")
        citations.append(
            Citation(
                n=number,
                url=text_fragment(passage.url, quote),
                title=passage.title,
                quote=quote,
                supported=True,
            )
        )
        if len(citations) == MOST:
            break
    return "\n\n".join(lines), tuple(citations)
