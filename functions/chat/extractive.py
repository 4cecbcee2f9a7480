"""The last rung: the statements of the passages that come closest to the question, quoted, with links. No model."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from functions.chat.citations import QUOTE_WORDS, text_fragment
from functions.chat.phrases import phrase
from functions.chat.support import Similar
from functions.chat.words import content_words
from shared.errors import ModelUnavailable
from shared.language import split_sentences
from shared.records import Citation, Passage, Record
from shared.trace import current_trace

MOST = 3  # quotes: what is read without scrolling in a chat panel
COMPARED = (
    16  # statements whose meaning is compared: 0.5 s with the embedded model, those with most words in common
)
NEAR_BEST = 0.03  # of similarity: e5 sets a second answer about this far below the first, and noise farther
OTHER_LANGUAGE = (
    0.02  # taken off a statement that the visitor may not read, where one in their language says the same
)
SHARED_WORDS = 0.06  # for all words of the question: twice what separates two statements by meaning alone
CODE_LINES = (
    12  # of a code block that belongs to the sentence before it; longer ones are better read on the page
)
_LABEL = re.compile(r"^(?:\*\*(?P<bold>[^*]+)\*\*|#+ (?P<heading>.+))$")
_TABLE_HEAD = re.compile(r"^\|.*\n\|[\s:|-]+\|$", re.MULTILINE)  # names columns and states nothing
_ITEM = re.compile(r"^\s*(?:[-*+] |\d+[.)] |> )+")


class Statement(Record):
    """A sentence, list item or table row of a passage; `under` is the heading above it, `code` what follows it."""

    n: int
    text: str
    under: str
    code: str = ""


async def extractive_answer(
    questions: Sequence[str], passages: Sequence[Passage], site: str, language: str, similar: Similar
) -> tuple[str, tuple[Citation, ...]]:
    """The statements closest to the question, or to each of its parts in turn; at least one, said to be quotes."""
    ranked = [await _ranked(question, passages, language, similar) for question in questions]
    turns = [s for rank in itertools.zip_longest(*ranked) for s in rank if s is not None]
    return _shown(_distinct(turns)[:MOST], passages, site, language)


async def _ranked(
    question: str, passages: Sequence[Passage], language: str, similar: Similar
) -> list[Statement]:
    """The statements that are about as close to the question as the closest one, best first."""
    statements = [s for n, passage in enumerate(passages, start=1) for s in _statements(n, passage)]
    wanted = content_words(question, language)
    shares = [len(wanted & _words(s, passages)) / max(1, len(wanted)) for s in statements]
    order = sorted(range(len(statements)), key=lambda i: (-shares[i], i))[:COMPARED]
    compared = [statements[i] for i in order]
    scores = [SHARED_WORDS * shares[i] for i in order]
    for place, near in enumerate(await _similarities(question, compared, passages, similar)):
        foreign = passages[compared[place].n - 1].language != language
        scores[place] += near - OTHER_LANGUAGE * foreign
    best = sorted(range(len(compared)), key=lambda place: -scores[place])
    return [compared[place] for place in best if scores[place] >= scores[best[0]] - NEAR_BEST]


def _statements(n: int, passage: Passage) -> Iterator[Statement]:
    """The statements of a passage in order; headings and questions are what they stand under."""
    under = ""
    found: list[Statement] = []
    parts = re.split(r"^(```.*?^```)$", passage.text, flags=re.MULTILINE | re.DOTALL)
    for part in parts:
        part = _TABLE_HEAD.sub("", part)
        if part.startswith("```"):
            short = part.count("\n") <= CODE_LINES
            if found and short and not found[-1].code:
                found[-1] = found[-1].model_copy(update={"code": part})
            continue
        for line in part.splitlines():
            label = _LABEL.match(line.strip())
            if label:
                under = label["bold"] or label["heading"]
                continue
            for sentence in _sentences(line, passage.language):
                if sentence.rstrip("*").endswith(
                    ("?", "？", "؟")
                ):  # a question is what the next line answers
                    under = sentence
                else:
                    found.append(Statement(n=n, text=sentence, under=under))
    yield from found or [Statement(n=n, text=passage.text, under=passage.section)]


def _sentences(line: str, language: str) -> list[str]:
    """A table row is one statement; its rule is none."""
    if line.lstrip().startswith("|"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        return [] if all(set(cell) <= set(":- ") for cell in cells) else [" | ".join(filter(None, cells))]
    return [s for s in split_sentences(_ITEM.sub("", line), language) if re.search(r"\w", s)]


def _words(statement: Statement, passages: Sequence[Passage]) -> set[str]:
    passage = passages[statement.n - 1]
    return content_words(
        f"{passage.title} {passage.section} {statement.under} {statement.text} {statement.code}",
        passage.language,
    )


async def _similarities(
    question: str, statements: Sequence[Statement], passages: Sequence[Passage], similar: Similar
) -> list[float]:
    """Of the question with each statement below its headings; zeros where the embedding model is out of reach."""
    texts = []
    for statement in statements:
        passage = passages[statement.n - 1]
        above = dict.fromkeys(filter(None, (passage.title, passage.section, statement.under)))
        texts.append(f"{', '.join(above)}: {statement.text}")
    try:
        vectors = await similar([question, *texts])
    except ModelUnavailable as error:
        current_trace().note("statements compared by words only", error=str(error))
        return [0.0] * len(texts)
    return [float(score) for score in vectors[1:] @ vectors[0]]


def _distinct(statements: Sequence[Statement]) -> list[Statement]:
    kept: dict[str, Statement] = {}
    for statement in statements:
        kept.setdefault(" ".join(re.findall(r"\w+", statement.text.casefold())), statement)
    return list(kept.values())


def _shown(
    statements: Sequence[Statement], passages: Sequence[Passage], site: str, language: str
) -> tuple[str, tuple[Citation, ...]]:
    lines = [phrase("extractive", language, site=site)]
    citations: dict[int, Citation] = {}
    for statement in statements:
        passage = passages[statement.n - 1]
        quote = " ".join(statement.text.split()[:QUOTE_WORDS])
        more = " …" if quote != " ".join(statement.text.split()) else ""
        label = f"**{statement.under}** — " if statement.under and len(statement.text.split()) < 6 else ""
        lines.append(
            f"> {label}{quote}{more} [{statement.n}]" + (f"\n\n{statement.code}" if statement.code else "")
        )
        citations.setdefault(
            statement.n,
            Citation(
                n=statement.n,
                url=text_fragment(passage.url, quote),
                title=passage.title,
                quote=quote,
                supported=True,
            ),
        )
    return "\n\n".join(lines), tuple(citations.values())
