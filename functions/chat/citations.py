"""Sentence → source number → quoted words. Checked before the answer is final: what is not supported goes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote as percent

from functions.chat.evidence import Evidence, Statement, cells, clauses, row
from functions.chat.links import own_links
from functions.chat.marks import MARK, numbers, with_plain_marks, without_marks
from functions.chat.support import Claim, Judge, Similar
from shared.language import split_sentences
from shared.records import Citation, Passage, Record

QUOTE_WORDS = 30  # of a quote; longer ones are not read
FRAGMENT_WORDS = 8  # of a text fragment: enough to be unique on a page, short enough to survive edits
_RULE = re.compile(r"^[|\s:-]+$")


class Checked(Record):
    """An answer of which every sentence is supported, with its citations in order of first use."""

    text: str
    citations: tuple[Citation, ...]
    dropped: tuple[str, ...]


async def check(
    answer: str,
    passages: Sequence[Passage],
    similar: Similar,
    alike: float,
    language: str,
    own: Iterable[str] = (),
) -> Checked:
    """Keep the sentences that a source supports, each with the numbers of those that do.

    A sentence is supported by a passage that holds most of its words in a few statements, its figures beside the
    same words, and denies what it denies; or, in other words or another language, by a statement whose similarity
    is at least `alike`. Links stay where they go to a source or to one of `own`.
    """
    text = own_links(answer, [*(p.url for p in passages), *own])
    checker = _Checker(passages, Judge([Evidence(p) for p in passages], similar, alike), language)
    kept: list[str] = []
    for block in _blocks(with_plain_marks(text)):
        kept += await checker.block(block)
    citations = tuple(_citation(n, quote, passages[n - 1]) for n, quote in checker.quotes.items())
    shown = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return Checked(text=shown if citations else "", citations=citations, dropped=tuple(checker.dropped))


def text_fragment(url: str, quote: str) -> str:
    """The URL with a fragment that shows the quoted words (WICG: "URL Fragment Text Directives")."""
    first = quote.strip("| ").split(" | ")[0]  # browsers do not search across the cells of a table
    words = re.sub(r"[`*|]", "", first).split()[:FRAGMENT_WORDS]
    if not url.startswith(("http://", "https://")) or not words:
        return url
    directive = percent(" ".join(words), safe="").replace("-", "%2D")
    return f"{url}{'' if '#' in url else '#'}:~:text={directive}"


class _Checker:
    """Goes through the blocks of one answer."""

    def __init__(self, passages: Sequence[Passage], judge: Judge, language: str) -> None:
        self.quotes: dict[int, str] = {}
        self.dropped: list[str] = []
        self._passages = passages
        self._judge = judge
        self._language = language

    async def block(self, lines: list[str]) -> list[str]:
        """The lines of a block that stay: code and tables as a whole, prose sentence by sentence."""
        if lines[0].lstrip().startswith("```"):
            return self._code(lines)
        if lines[0].lstrip().startswith("|"):
            return await self._table(lines)
        return [kept for line in lines if (kept := await self._line(line)) is not None]

    def _code(self, lines: list[str]) -> list[str]:
        """Code must stand in a passage as it is: who copies it runs it."""
        wanted = [
            line for raw in lines if not raw.lstrip().startswith("```") and (line := " ".join(raw.split()))
        ]
        for number, passage in enumerate(self._passages, start=1):
            known = " ".join(passage.text.split())
            if wanted and all(line in known for line in wanted):
                self.quotes.setdefault(number, wanted[0])
                return lines
        self.dropped.append("\n".join(wanted))
        return []

    async def _table(self, lines: list[str]) -> list[str]:
        """Head and rule stay with the rows that are supported; a table without such rows goes."""
        ruled = len(lines) > 1 and bool(_RULE.match(lines[1]))
        head, rows = (lines[:2], lines[2:]) if ruled else ([], lines)
        header = cells(without_marks(head[0])) if head else []
        kept = []
        for line in rows:
            values = cells(without_marks(line))
            statement = row(values, header, self._language)
            found = await self._found(Claim(statement, statement.text), numbers(line), lead=False)
            if found:
                marks = "".join(f"[{n}]" for n in found)
                kept.append(f"{without_marks(line).rstrip().removesuffix('|').rstrip()} {marks} |")
        return [*head, *kept] if kept else []

    async def _line(self, line: str) -> str | None:
        """A line with its supported sentences; None where none is left. Blank lines and rules stay."""
        lead = line.rstrip().endswith(":") or line.lstrip().startswith("#")
        shown: list[str] = []
        fillers = 0
        sentences = _sentences(line, self._language)
        for sentence in sentences:
            plain = without_marks(sentence)
            claim = Claim(Statement(plain, clauses(plain, self._language)), plain)
            if claim.says_nothing:  # "Yes." stands or falls with what follows
                fillers += 1
                shown.append(plain)
                continue
            found = await self._found(claim, numbers(sentence), lead)
            if found is None:
                continue
            as_written = list(found) == numbers(sentence)
            marks = "".join(f"[{n}]" for n in found)
            shown.append(sentence if as_written else f"{plain} {marks}".rstrip())
        if not sentences:
            return line
        alone = len(shown) == fillers and not lead
        return None if alone or not shown else _marker(line) + " ".join(shown)

    async def _found(self, claim: Claim, cited: list[int], lead: bool) -> dict[int, str] | None:
        """Numbers with quotes that support a claim, kept for the citations; None where nothing does.

        A line that leads to others needs no number of its own, yet says nothing that no source says.
        """
        everyone = list(range(1, len(self._passages) + 1))
        valid = [n for n in dict.fromkeys(cited) if n in everyone]
        found = self._judge.by_words(claim, valid) or await self._judge.by_meaning(claim, valid)
        if not found and not valid:  # the model forgot the number, or wrote one that does not exist
            found = dict(list(self._judge.by_words(claim, everyone).items())[:1])
            if lead and not found:
                found = await self._judge.by_meaning(claim, everyone)
            if lead and not cited and found:
                return {}
        if not found:
            self.dropped.append(claim.plain)
            return None
        for number, quote in found.items():
            self.quotes.setdefault(number, " ".join(quote.split()[:QUOTE_WORDS]))
        return found


def _blocks(text: str) -> list[list[str]]:
    """Runs of lines: a fence of code, a table, or any other line alone."""
    blocks: list[list[str]] = []
    kind = ""
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        if kind == "code":
            blocks[-1].append(line)
            kind = "" if fence else "code"
            continue
        new = "code" if fence else "table" if line.lstrip().startswith("|") else ""
        if new == "table" and kind == "table":
            blocks[-1].append(line)
        else:
            blocks.append([line])
        kind = new
    return blocks


def _sentences(line: str, language: str) -> list[str]:
    """Sentences of a line, list and quote marks left out; citation marks stay with the sentence before them."""
    body = line.strip()[len(_marker(line).strip()) :].strip()
    joined: list[str] = []
    for part in split_sentences(body, language):
        rest = re.match(rf"(?:{MARK.pattern})+[.\s]*", part)
        if joined and rest:
            joined[-1] += rest.group().rstrip(". ")
            part = part[rest.end() :]
        if re.search(r"[^\W_]", without_marks(part)):
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
