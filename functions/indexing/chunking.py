"""A page to chunks of about `chunk_words` words, cut where the text itself says.

Chunks never cross a heading, except that sections too short to stand alone join the next. Within a section the
cuts are content-defined: of all boundaries that leave both sides large enough, the one before a block with the
smallest hash is taken, then the same on each side. An edit thus moves only the cuts next to it, and the chunks
elsewhere keep their text, their enrichment and their vectors. (The idea of content-defined chunking: Muthitacharoen,
Chen, Mazières: "A Low-bandwidth Network File System", SOSP 2001; here by recursion, as in a treap.)
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence

from functions.indexing.blocks import Section, Unit, sections
from shared.language import surely_written_in
from shared.records import Chunk, Page
from shared.tokens import CHUNK_TOKENS, estimated_tokens

ALONE = 30  # words; a section of less says too little to be found by itself (two sentences have some 35)
SEPARATOR = " › "


def chunk_page(
    page: Page, chunk_words: int, overlap_words: int, languages: Sequence[str] = ()
) -> list[Chunk]:
    """The chunks of a page, in order. The same page gives the same chunks.

    A chunk holds at most `chunk_words` words of its own and at most `overlap_words` repeated from the chunk before,
    and with both no more tokens than an embedding model reads (shared/tokens.py): code, tables and addresses have
    many to a word. A chunk that is surely in another of the site's `languages` than its page says so.
    """
    chunks: list[Chunk] = []
    for section in _joined(sections(page.text, page.language, chunk_words)):
        before: Sequence[Unit] = ()
        for piece in _cut(section.units, chunk_words, chunk_words // 3):
            text = _text([*_repeated(before, piece, overlap_words), *piece])
            chunks.append(_chunk(page, len(chunks), section.path, text, languages))
            before = piece
    return chunks


def digest(*parts: str) -> str:
    """A hash of texts, 128 bits in hexadecimal; parts cannot run into each other."""
    return hashlib.blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _chunk(page: Page, ordinal: int, path: Sequence[str], text: str, languages: Sequence[str]) -> Chunk:
    titles = [heading for heading in path if heading != page.title]
    section = SEPARATOR.join(titles)
    # what declares its language may quote another one: an error message, a command
    own = page.language if page.language_declared else surely_written_in(text, languages)
    return Chunk(
        id=f"{page.id}#{ordinal}-{digest(text)[:8]}",
        ordinal=ordinal,
        section=section,
        text=text,
        language=own if own != page.language else "",
    )


def _joined(found: list[Section]) -> list[Section]:
    """Sections that can stand alone; shorter ones join the next one, the last ones the one before.

    A heading without text of its own lives on in the paths below it, or in the text where nothing is below it.
    """
    joined: list[Section] = []
    waiting: Section | None = None
    for section, following in zip(found, [*found[1:], None], strict=False):
        below = following is not None and following.path[: len(section.path)] == section.path
        if not section.units and below and waiting is None:
            continue
        whole = _join(waiting, section) if waiting else section
        waiting = None
        if sum(u.size for u in section.units) >= ALONE:
            joined.append(whole)
        else:
            waiting = whole
    if waiting is not None:
        joined.append(_join(joined.pop(), waiting) if joined else waiting)
    return [s if s.units else Section(path=s.path, units=_headed(s)) for s in joined]


def _join(first: Section, second: Section) -> Section:
    """Two sections as one, below the headings that they share; the other headings stand in the text."""
    common = tuple(a for a, b in zip(first.path, second.path, strict=False) if a == b)
    shared = first.path if first.path == second.path[: len(first.path)] else common
    units = [*(first.units if first.path == shared else _headed(first)), *_headed(second)]
    return Section(path=shared, units=tuple(units))


def _headed(section: Section) -> tuple[Unit, ...]:
    heading = (Unit(text=f"**{section.path[-1]}**", glue="\n\n"),) if section.path else ()
    return (*heading, *section.units)


def _cut(units: Sequence[Unit], most: int, least: int) -> list[Sequence[Unit]]:
    """`units` in pieces of at most `most` words, and of at least `least` where the units allow it.

    Pieces of more tokens than a model reads are cut by the same rule, with tokens for words.
    """
    if len(units) < 2:
        return [units] if units else []
    sizes, floor = [u.size for u in units], least
    if sum(sizes) <= most:
        if estimated_tokens(_text(units)) <= CHUNK_TOKENS:
            return [units]
        sizes, floor = [estimated_tokens(u.text) for u in units], CHUNK_TOKENS // 3
    total = sum(sizes)
    best: tuple[tuple[bool, bool, str, int], int] | None = None
    before = 0
    for number, unit in enumerate(units[1:], start=1):
        before += sizes[number - 1]
        # of equal units the middle one: a list of the same word would be cut one by one, too deep for Python
        crumbs = before < floor or total - before < floor
        rank = (crumbs, not unit.opens_block, digest(unit.text), abs(total - 2 * before)), number
        best = rank if best is None else min(best, rank)
    assert best is not None
    at = best[1]
    return [*_cut(units[:at], most, least), *_cut(units[at:], most, least)]


def _repeated(before: Sequence[Unit], piece: Sequence[Unit], overlap: int) -> list[Unit]:
    """The overlap with the chunk before, less where the whole would have more tokens than a model reads."""
    tail = _tail(before, overlap)
    while tail and estimated_tokens(_text([*tail, *piece])) > CHUNK_TOKENS:
        tail = tail[1:]
    return tail


def _tail(units: Sequence[Unit], overlap: int) -> list[Unit]:
    """The last whole units of at most `overlap` words together."""
    tail: list[Unit] = []
    room = overlap
    for unit in reversed(units):
        room -= unit.size
        if room < 0:
            break
        tail.insert(0, unit)
    return tail


def _text(units: Sequence[Unit]) -> str:
    head = units[0].lead
    return (
        (f"{head}\n" if head else "")
        + units[0].text
        + "".join(_glued(a, b) for a, b in itertools.pairwise(units))
    )


def _glued(before: Unit, unit: Unit) -> str:
    """A table that starts within the chunk opens with its head."""
    head = f"{unit.lead}\n" if unit.lead and unit.opens_block else ""
    return unit.glue + head + unit.text
