"""Markdown to sections of units: the smallest pieces that a chunk boundary may lie between.

A unit is a sentence, a list item, a table row or a whole code block, as the reader sees it: links are their
text, images their alternative text, tables and code keep their marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from shared.analysis import words
from shared.language import split_sentences
from shared.records import Record
from shared.tokens import CHUNK_TOKENS, estimated_tokens

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

CHARS_PER_WORD = (
    8  # the longest mean of a European language with its blank (German 7.2): code and URLs count more
)
HEADING_CHARS = 300  # longer: a paragraph marked as heading; it would fill the header of every chunk below
INFO_CHARS = 30  # of a code block's language; longer: marks for a highlighter
LEAD_TOKENS = CHUNK_TOKENS // 3  # a table head that is longer is not repeated: no room for rows would be left


class Unit(Record):
    """A piece of text; `glue` joins it to the unit before. `lead` opens a chunk that starts here (table head)."""

    text: str
    glue: str
    lead: str = ""

    @property
    def size(self) -> int:
        """Words, or what its characters are worth where they are not words."""
        return max(words(self.text), len(self.text) // CHARS_PER_WORD, 1)

    @property
    def opens_block(self) -> bool:
        """Whether a paragraph, list, table or code block starts here."""
        return self.glue == "\n\n"


class Section(Record):
    """What stands below one heading, before the next. `path` is the headings from the top down."""

    path: tuple[str, ...]
    units: tuple[Unit, ...]


def sections(markdown: str, language: str, largest: int) -> list[Section]:
    """The sections of a page, in order; no unit is larger than `largest` words, or than what a model reads."""
    from markdown_it.tree import SyntaxTreeNode

    found: list[Section] = []
    path: list[tuple[int, str]] = []
    units: list[Unit] = []
    for node in SyntaxTreeNode(_parser().parse(markdown)).children:
        if node.type != "heading" or len(_inline(node)) > HEADING_CHARS:
            units.extend(small for unit in _units(node, language) for small in _split(unit, largest))
            continue
        found.append(Section(path=tuple(text for _, text in path), units=tuple(units)))
        level = int(node.tag[1])
        path = [(deep, text) for deep, text in path if deep < level] + [(level, _inline(node))]
        units = []
    found.append(Section(path=tuple(text for _, text in path), units=tuple(units)))
    return found if found[0].units else found[1:]


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def _units(node: SyntaxTreeNode, language: str) -> Iterator[Unit]:
    """The units of one block."""
    if node.type in {"paragraph", "heading"}:
        yield from _sentences(_inline(node), language)
    elif node.type in {"bullet_list", "ordered_list"}:
        for number, item in enumerate(node.children):
            yield Unit(text=_item(item, _marker(node, number)), glue="\n\n" if number == 0 else "\n")
    elif node.type in {"fence", "code_block"}:
        yield Unit(
            text=f"```{node.info.split(' ')[0].strip()[:INFO_CHARS]}\n{node.content.rstrip()}\n```",
            glue="\n\n",
        )
    elif node.type == "table":
        yield from _rows(node)
    elif node.type == "html_block":
        text = re.sub(r"<[^>]+>", " ", node.content)
        yield from _sentences(" ".join(text.split()), language)
    else:  # block quotes and whatever holds blocks
        for child in node.children:
            yield from _units(child, language)


def _inline(node: SyntaxTreeNode) -> str:
    """The visible text of an inline run."""
    if node.type in {"text", "html_block"}:
        return node.content
    if node.type == "code_inline":
        return f"`{node.content}`"
    if node.type == "image":
        return node.content
    if node.type in {"softbreak", "hardbreak"}:
        return " "
    if node.type == "html_inline":
        return " " if node.content.startswith("<br") else ""
    return "".join(_inline(child) for child in node.children)


def _sentences(text: str, language: str) -> Iterator[Unit]:
    for number, sentence in enumerate(split_sentences(" ".join(text.split()), language)):
        yield Unit(text=sentence, glue="\n\n" if number == 0 else " ")


def _marker(node: SyntaxTreeNode, number: int) -> str:
    return "- " if node.type == "bullet_list" else f"{int(node.attrs.get('start', 1)) + number}. "


def _item(item: SyntaxTreeNode, marker: str) -> str:
    """A list item with all that it holds, indented below its marker."""
    parts: list[str] = []
    for child in item.children:
        if child.type in {"bullet_list", "ordered_list"}:
            parts.extend(_item(inner, _marker(child, number)) for number, inner in enumerate(child.children))
        elif child.type == "paragraph":
            parts.append(" ".join(_inline(child).split()))
        else:
            parts.extend(unit.text for unit in _units(child, ""))
    body = "\n".join(part for part in parts if part)
    return marker + body.replace("\n", "\n" + " " * len(marker))


def _rows(table: SyntaxTreeNode) -> Iterator[Unit]:
    """The rows of a table; a chunk that starts within it opens with the head."""
    lines = [
        "| " + " | ".join(" ".join(_inline(cell).split()).replace("|", "\\|") for cell in row.children) + " |"
        for part in table.children
        for row in part.children
    ]
    head = f"{lines[0]}\n|{' --- |' * len(table.children[0].children[0].children)}"
    lead = head if estimated_tokens(head) <= LEAD_TOKENS else ""
    if len(lines) == 1 or not lead:
        yield Unit(text=head, glue="\n\n")
    for number, line in enumerate(lines[1:]):
        yield Unit(text=line, glue="\n\n" if number == 0 and lead else "\n", lead=lead)


def _split(unit: Unit, largest: int) -> Iterator[Unit]:
    """`unit` in pieces of at most `largest` words: code by lines, text at blanks, the rest by characters."""
    if _fits(unit, largest):
        yield unit
        return
    fence = unit.text.split("\n", 1)[0] if unit.text.startswith("```") else None
    body = unit.text.split("\n", 1)[1].rsplit("\n", 1)[0] if fence is not None else unit.text
    atoms = (
        re.findall(r".*\n|.+\Z", body) if fence is not None or "\n" in body else re.findall(r"\S+\s*", body)
    )
    if len(atoms) == 1 and " " in body.strip():
        atoms = re.findall(r"\S+\s*", body)
    opening, closing = (f"{fence}\n", "\n```") if fence is not None else ("", "")
    # two CJK characters are a word; a character has at most two tokens, the rest is for a table's head or a fence
    width = min(largest * 2, CHUNK_TOKENS // 3)
    atoms = [atom[i : i + width] for atom in atoms for i in range(0, len(atom), width)]
    pieces: list[str] = []
    tokens = 0  # of the last piece, at most: parts together have no more than each by itself
    for atom in atoms:
        tokens += estimated_tokens(atom)
        joined = (pieces[-1] if pieces else "") + atom
        if pieces and _fits(unit.model_copy(update={"text": f"{opening}{joined}{closing}"}), largest, tokens):
            pieces[-1] = joined
        else:
            pieces.append(atom)
            tokens = estimated_tokens(f"{unit.lead}{opening}{atom}{closing}") + 3
    for number, piece in enumerate(pieces):
        text = f"{opening}{piece.rstrip()}{closing}" if fence is not None else piece.strip()
        glue = unit.glue if number == 0 else "\n\n" if fence is not None else "\n" if "\n" in body else " "
        if text:
            yield Unit(text=text, glue=glue, lead=unit.lead)


def _fits(unit: Unit, largest: int, tokens: int = CHUNK_TOKENS + 1) -> bool:
    """Whether a unit may stand alone; `tokens` is a bound that saves the count where it is low enough."""
    if unit.size > largest:
        return False
    return tokens <= CHUNK_TOKENS or estimated_tokens(f"{unit.lead}\n{unit.text}") <= CHUNK_TOKENS
