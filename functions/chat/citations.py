"""Sentence → source number → quoted words. Checked before the answer is final: what is not supported goes."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import quote as percent

import numpy as np

from shared.analysis import analyse
from shared.errors import ModelUnavailable
from shared.language import split_sentences
from shared.records import Citation, Passage, Record
from shared.trace import current_trace

MARK = re.compile(r"\s?\[(?:Source\s+)?(\d+)(?:\s*,\s*\d+)*\]|【(\d+)】", re.IGNORECASE)
NUMBERS = re.compile(r"\d+")
SHARED = 0.6  # of a sentence's content words in one passage: less is another statement (0.5 lets swapped facts through)
QUOTE_WORDS = 30  # of a quote; longer ones are not read
FRAGMENT_WORDS = 8  # of a text fragment: enough to be unique on a page, short enough to survive edits
Similar = Callable[[Sequence[str]], Awaitable[np.ndarray]]  # unit vectors of texts


class Checked(Record):
    """An answer of which every sentence is supported, with its citations in order of first use."""

    text: str
    citations: tuple[Citation, ...]
    dropped: tuple[str, ...]


async def check(
    answer: str, passages: Sequence[Passage], similar: Similar, alike: float, language: str
) -> Checked:
    """Keep the sentences that a source supports, each with the numbers of those that do.

    A sentence is supported by a passage that holds most of its words and all of its figures, or, for an answer in
    another language than the source, by a sentence of it whose similarity is at least `alike`.
    """
    kept: list[str] = []
    dropped: list[str] = []
    quotes: dict[int, str] = {}
    for line in answer.splitlines():
        shown, bare = [], True
        for sentence in _sentences(line, language):
            plain = MARK.sub("", sentence).strip()
            if not re.search(r"\w", plain):
                continue
            bare = False
            found = await _support(sentence, plain, passages, similar, alike, language)
            if found is None:
                dropped.append(plain)
                continue
            for number, quote in found.items():
                quotes.setdefault(number, quote)
            as_written = set(found) == set(_numbers(sentence))
            marks = "".join(f"[{n}]" for n in found)
            shown.append(sentence if as_written else f"{plain} {marks}")
        if shown or bare:
            kept.append(_marker(line) + " ".join(shown))
    citations = tuple(_citation(n, quote, passages[n - 1]) for n, quote in quotes.items())
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return Checked(text=text if citations else "", citations=citations, dropped=tuple(dropped))


def text_fragment(url: str, quote: str) -> str:
    """The URL with a fragment that shows the quoted words (WICG: "URL Fragment Text Directives")."""
    first = quote.strip("| ").split(" | ")[0]  # browsers do not search across the cells of a table
    words = re.sub(r"[`*|]", "", first).split()[:FRAGMENT_WORDS]
    if not url.startswith(("http://", "https://")) or not words:
        return url
    directive = percent(" ".join(words), safe="").replace("-", "%2D")
    return f"{url}{'' if '#' in url else '#'}:~:text={directive}"


def best_sentence(text: str, wanted: set[str], language: str) -> str:
    """The sentence of a passage that shares most with the words wanted."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    lines = (prose if re.search(r"\w", prose) else text).splitlines()
    candidates = [s.strip() for line in lines for s in _sentences(line, language) if re.search(r"\w", s)]
    statements = [
        s for s in candidates if not s.rstrip("*").endswith(("?", "？", "؟"))
    ]  # a heading echoes the question
    best = max(
        statements or candidates,
        key=lambda s: (len(wanted & content_words(s, language)), -len(s)),
        default=text,
    )
    return " ".join(best.split()[:QUOTE_WORDS])


def content_words(text: str, language: str) -> set[str]:
    """The analysed words that carry meaning; short ones seldom do, figures and CJK pairs always."""
    return {t for t in analyse(text, language) if len(t) > 3 or t.isdigit() or not t.isascii()}


async def _support(
    sentence: str, plain: str, passages: Sequence[Passage], similar: Similar, alike: float, language: str
) -> dict[int, str] | None:
    """Numbers with quotes that support a sentence; empty where it states nothing; None where nothing supports it."""
    cited = _numbers(sentence)
    valid = [n for n in dict.fromkeys(cited) if 1 <= n <= len(passages)]
    wanted = content_words(plain, language)
    if not cited and (plain.endswith(":") or len(wanted) < 2 or plain.startswith("#")):
        return {}
    found = _by_words(plain, wanted, valid, passages) or await _by_meaning(
        plain, valid, passages, similar, alike
    )
    if not found and not valid:  # the model forgot the number, or wrote one that does not exist
        everyone = list(range(1, len(passages) + 1))
        found = dict(list(_by_words(plain, wanted, everyone, passages).items())[:1])
    return found or None


def _numbers(sentence: str) -> list[int]:
    """The source numbers that a sentence names, in order."""
    return [int(n) for mark in MARK.finditer(sentence) for n in NUMBERS.findall(mark.group())]


def _by_words(
    plain: str, wanted: set[str], numbers: Sequence[int], passages: Sequence[Passage]
) -> dict[int, str]:
    figures = set(NUMBERS.findall(plain))
    shares: dict[int, float] = {}
    for number in numbers:
        passage = passages[number - 1]
        read = f"{passage.title} {passage.section} {passage.text}"
        share = len(wanted & content_words(read, passage.language)) / max(1, len(wanted))
        if share >= SHARED and figures <= set(NUMBERS.findall(read)):
            shares[number] = share
    ordered = sorted(shares, key=lambda n: -shares[n])
    return {n: best_sentence(passages[n - 1].text, wanted, passages[n - 1].language) for n in ordered}


async def _by_meaning(
    plain: str, numbers: Sequence[int], passages: Sequence[Passage], similar: Similar, alike: float
) -> dict[int, str]:
    """For sentences in other words or another language; figures must stand in the passage all the same."""
    found: dict[int, str] = {}
    for number in numbers:
        passage = passages[number - 1]
        if not set(NUMBERS.findall(plain)) <= set(NUMBERS.findall(passage.text)):
            continue
        parts = [
            s for line in passage.text.splitlines() for s in _sentences(line, passage.language) if s.strip()
        ]
        try:
            vectors = await similar([plain, *parts])
        except ModelUnavailable as error:  # then words alone decide, and a translation is not recognised
            current_trace().note("meaning not compared", error=str(error))
            return {}
        scores = vectors[1:] @ vectors[0]
        if parts and float(scores.max()) >= alike:
            found[number] = " ".join(parts[int(scores.argmax())].split()[:QUOTE_WORDS])
    return found


def _sentences(line: str, language: str) -> list[str]:
    """Sentences of a line, list and quote marks left out; citation marks stay with the sentence before them."""
    body = line.strip()[len(_marker(line).strip()) :].strip()
    joined: list[str] = []
    for part in split_sentences(body, language):
        rest = re.match(rf"(?:{MARK.pattern})+[.\s]*", part, re.IGNORECASE)
        if joined and rest:
            joined[-1] += rest.group().rstrip(". ")
            part = part[rest.end() :]
        if part.strip():
            joined.append(part.strip())
    return joined


def _marker(line: str) -> str:
    """The Markdown mark that opens a line: bullet, number, quote."""
    found = re.match(r"\s*(?:[-*+] |\d+[.)] |> |#+ )", line)
    return found.group() if found else ""


def _citation(number: int, quote: str, passage: Passage) -> Citation:
    return Citation(
        n=number, url=text_fragment(passage.url, quote), title=passage.title, quote=quote, supported=True
    )
