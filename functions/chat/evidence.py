"""A passage as statements that a sentence of an answer can be held against. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from functions.chat.figures import Figure, beside, figures
from functions.chat.words import content_words, denials, is_denial
from shared.analysis import analyse
from shared.language import split_sentences
from shared.records import Passage

_LABEL = re.compile(r"^(?:\*\*(?P<bold>[^*]+)\*\*|#+ (?P<heading>.+))$")
_ITEM = re.compile(r"^\s*(?:[-*+] |\d+[.)] |> |#+ )+")
_RULE = re.compile(r"^[|\s:-]+$")
_QUESTION = ("?", "？", "؟")
_BREAK = re.compile(r"[;—–]|,(?!\d)|\s-\s|(?<=[a-z])\.\s")
_CONJUNCTIONS = {  # what begins another clause; of "se" and "si" some are pronouns, which cuts too often and does no harm
    "en": "but|while|whereas|although|though|however|if|unless|when|because|so that",
    "es": "pero|sino|mientras|aunque|si|cuando|porque",
    "fr": "mais|tandis que|alors que|si|quand|lorsque|car",
    "de": "aber|sondern|während|obwohl|wenn|falls|sofern|weil",
    "it": "ma|mentre|sebbene|se|quando|perché",
    "pt": "mas|enquanto|embora|se|quando|porque",
}
LONGEST = 600  # characters of a sentence that is cut into clauses; longer ones are lists without an end
_AND = r"\s(?:and|or|y|o|et|ou|und|oder|e)\s|\s?:\s"


@dataclass(frozen=True)
class Clause:
    """The smallest part that states something: of a sentence, or a cell of a table with its row and column."""

    text: str
    language: str
    context: str = ""  # heading or question above it, row and column of a cell
    before: str = ""  # the clauses before it in the sentence, where its subject may stand

    @cached_property
    def words(self) -> set[str]:
        """Its content words, and those above it; numbers are figures."""
        return _words(f"{self.context} {self.text}", self.language)

    @cached_property
    def own(self) -> set[str]:
        """The content words of its text alone."""
        return _words(self.text, self.language)

    @cached_property
    def inherited(self) -> set[str]:
        """The content words of the clauses before it."""
        return _words(self.before, self.language) - self.words

    @cached_property
    def figures(self) -> list[Figure]:
        """The figures that it states."""
        return figures(self.text, self.language, articles=True)

    @cached_property
    def denied(self) -> list[set[str]]:
        """For each negation the words that follow it."""
        return [_words(rest, self.language) for rest in denials(self.text, self.language)]


@dataclass(frozen=True)
class Statement:
    """A sentence, list item or table row."""

    text: str
    clauses: tuple[Clause, ...]

    @cached_property
    def words(self) -> set[str]:
        """The content words of all clauses."""
        return {word for clause in self.clauses for word in clause.words}


@dataclass(frozen=True)
class Evidence:
    """The statements of a passage, in order."""

    passage: Passage
    around: set[str] = field(init=False)  # words of title and section, which all statements are about
    labels: list[Figure] = field(init=False)  # figures of title and section: "Version 2"
    statements: tuple[Statement, ...] = field(init=False)

    def __post_init__(self) -> None:
        place, language = f"{self.passage.title}. {self.passage.section}", self.passage.language
        object.__setattr__(self, "around", _words(place, language))
        object.__setattr__(self, "labels", figures(place, language))
        found = tuple(_statements(self.passage.text, language))
        whole = Statement(self.passage.text, (Clause(self.passage.text, language),))
        object.__setattr__(self, "statements", found or (whole,))

    @cached_property
    def clauses(self) -> list[Clause]:
        """The clauses of all statements."""
        return [clause for statement in self.statements for clause in statement.clauses]


def clauses(sentence: str, language: str, context: str = "") -> tuple[Clause, ...]:
    """The parts of a sentence that state something each."""
    pattern = rf"\b(?:{_CONJUNCTIONS.get(language, _CONJUNCTIONS['en'])})\b"
    pieces = [
        p
        for part in _BREAK.split(sentence)
        for p in re.split(pattern, part, flags=re.IGNORECASE)
        if p.strip()
    ]
    parts = [half for piece in pieces for half in _halves(piece, language)]
    joined: list[str] = []
    for part in parts:
        small = (
            len(_words(part, language)) < 2 and not figures(part, language) and not denials(part, language)
        )
        if joined and small:  # "laptops, phones and tablets" is one statement
            joined[-1] += f", {part}"
        else:
            joined.append(part)
    return tuple(
        Clause(part, language, context, " ".join(joined[:place])) for place, part in enumerate(joined)
    )


def _halves(piece: str, language: str) -> Iterator[str]:
    """Cut at "and" and ":" where both sides have a figure, or one side denies something and the other does not."""
    at = 0
    if len(piece) > LONGEST:
        yield piece
        return
    for found in re.finditer(_AND, piece, re.IGNORECASE):
        left, right = piece[at : found.start()], piece[found.end() :]
        own = bool(denials(right, language)) != bool(denials(left, language))
        right_stands_alone = bool(denials(right, language) or figures(right, language))
        own = own and (
            right_stands_alone or found.group().strip() == ":"
        )  # "no laptops and phones" denies both
        if (figures(left, language) and figures(right, language)) or own:
            yield left
            at = found.end()
    yield piece[at:]


def _statements(text: str, language: str) -> Iterator[Statement]:
    under, header = "", list[str]()
    code = False
    lines = text.splitlines()
    for place, line in enumerate(lines):
        line = line.strip()
        if line.startswith("```"):
            code = not code
        elif code:
            if line:
                yield Statement(line, (Clause(line, language, under),))
        elif line.startswith("|"):
            if _RULE.match(line):
                continue
            if place + 1 < len(lines) and lines[place + 1].strip() and _RULE.match(lines[place + 1]):
                header = cells(line)
            else:
                yield row(cells(line), header, language, under)
        elif label := _LABEL.match(line):
            under = label["bold"] or label["heading"]
        else:
            for sentence in split_sentences(_ITEM.sub("", line), language):
                if sentence.rstrip("*").endswith(_QUESTION):
                    under = sentence
                elif re.search(r"[^\W_]", sentence):
                    yield Statement(sentence, clauses(sentence, language, under))


def cells(line: str) -> list[str]:
    """The cells of a table's row."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def row(values: list[str], header: list[str], language: str, under: str = "") -> Statement:
    """A row as one statement, whose cells stand under their column and beside the row's first cell."""
    found = [Clause(values[0], language, under)] if values else []
    for column, value in enumerate(values[1:], start=1):
        above = f"{header[0]} {header[column]}" if column < len(header) else ""
        found.append(Clause(value, language, f"{under} {values[0]} {above}"))
    return Statement(" | ".join(filter(None, values)), tuple(found))


def _words(text: str, language: str) -> set[str]:
    numbers = {stem for word in beside(text, language) for stem in analyse(word, language)}
    found = content_words(text, language) - numbers
    return {word for word in found if not word.isdigit() and not is_denial(word, language)}
