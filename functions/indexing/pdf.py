"""A PDF to Markdown: headings by the size of their letters, paragraphs from lines, running heads left out."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from functions.indexing.pages import Document
from shared.errors import SourceError
from shared.records import Record

if TYPE_CHECKING:
    from pypdf import PdfReader

MAX_PDF_PAGES = 500  # some 200,000 words, a minute of reading; a longer one is better split by its owner
LEAST_CHARS = 15  # a page, on average; scans have none, or a stamp
HEADING_RATIO = 1.15  # of the size of the text; captions and notes are smaller, emphasis is as large
HEADING_LEVELS = 3
RUNNING_LINES = 2  # at the top and at the bottom of each page that may be running heads
RUNNING_SHARE = 0.5  # of the pages on which a running head stands; left and right pages may differ
FULL_LINE = 0.7  # of the usual length: a shorter line that ends a sentence ends its paragraph

_PAGE_NUMBER = re.compile(
    r"\W*(?:page|seite|página|pagina|pág\.?|p\.)?\s*\d{1,4}(?:\s*(?:/|of|von|de|di|sur)\s*\d{1,4})?\W*",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*[•◦▪‣●○■\uf0b7–]\s+")
_LIST = re.compile(r"^(?:- |\d{1,3}[.)] )")
_SENTENCE_END = re.compile(r"[.!?:。！？…][\"'”»)]*$")
_NO_TITLE = re.compile(
    r"^(?:untitled|microsoft word|document\d*|.*\.(?:docx?|pdf|indd|odt|tex|pptx?))\b", re.IGNORECASE
)
_LIGATURES = {
    0xFB00: "ff",
    0xFB01: "fi",
    0xFB02: "fl",
    0xFB03: "ffi",
    0xFB04: "ffl",
    0xFB05: "st",
    0xFB06: "st",
}
# what a damaged file makes pypdf raise, besides its own errors
_DAMAGED = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    AssertionError,
)


class Line(Record):
    """A line of a page and the size of its letters, in points."""

    text: str
    size: float


def pdf_document(raw: bytes) -> Document:
    """Text of a PDF as Markdown, with title, language and dates.

    Raises:
        SourceError: it is damaged, encrypted, too long, or has no text (a scan).
    """
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PyPdfError

    try:
        reader = PdfReader(io.BytesIO(raw))
        if reader.is_encrypted and not reader.decrypt(""):
            raise SourceError("the PDF is encrypted: save a copy without password")
        if len(reader.pages) > MAX_PDF_PAGES:
            raise SourceError(f"the PDF has {len(reader.pages)} pages; at most {MAX_PDF_PAGES} are read")
        pages = [_lines(page) for page in reader.pages]
        meta, title, language = _described(reader)
    except DependencyError as error:
        raise SourceError("the PDF is encrypted with AES: save a copy without password") from error
    except (PyPdfError, NotImplementedError, *_DAMAGED) as error:
        raise SourceError(f"the PDF cannot be read: {' '.join(str(error).split())[:200]}") from error
    if sum(len(line.text) for page in pages for line in page) < LEAST_CHARS * max(1, len(pages)):
        raise SourceError("the PDF has no text, its pages are pictures: recognise the text (OCR) first")
    lines = [line for page in _without_running_heads(pages) for line in page]
    markdown = "\n\n".join(_blocks(lines))
    heading = re.search(r"^#+ (.+)$", markdown, re.MULTILINE)
    title = title if title and not _NO_TITLE.match(title) else heading.group(1) if heading else ""
    return Document(markdown=markdown, title=title, language=language, meta=meta)


def _lines(page: Any) -> list[Line]:
    """The lines of a page in reading order; a blank one between blocks that pypdf sets apart."""
    pieces: list[tuple[str, float]] = []

    def visit(text: str, _: Any, matrix: Sequence[float], __: Any, size: float | None) -> None:
        scale = abs(
            float(matrix[3]) or float(matrix[1]) or 1.0
        )  # turned text has its scale in the other place
        pieces.append((text, round(float(size or 0) * scale, 1)))

    page.extract_text(visitor_text=visit)
    lines: list[Line] = []
    text, sizes = "", Counter[float]()
    for piece, size in [*pieces, ("\n", 0.0)]:
        for part in re.split(r"(\n)", piece):
            if part != "\n":
                text += part
                sizes[size] += len(part.strip())
                continue
            clean = " ".join(text.translate(_LIGATURES).split())
            lines.append(Line(text=clean, size=max(sizes, key=lambda s: sizes[s], default=0.0)))
            text, sizes = "", Counter()
    return lines


def _described(reader: PdfReader) -> tuple[dict[str, Any], str, str]:
    """Dates, title and language as the file itself says them."""
    info = reader.metadata
    meta: dict[str, Any] = {}
    if info and info.creation_date:
        meta["published_at"] = info.creation_date.isoformat()
    if info and info.modification_date:
        meta["modified_at"] = info.modification_date.isoformat()
    return meta, str((info and info.title) or "").strip(), str(reader.root_object.get("/Lang") or "")


def _without_running_heads(pages: list[list[Line]]) -> list[list[Line]]:
    """Pages without page numbers, and without the lines that stand at the edge of most of them."""
    filled = [[line for line in page if line.text] for page in pages]
    depths = [min(RUNNING_LINES, len(page) // 4) for page in filled]  # a slide of two lines has no edge
    edges = [(*page[:n], *page[len(page) - n :]) for page, n in zip(filled, depths, strict=True)]
    seen = Counter(key for edge in edges for key in {_numberless(line.text) for line in edge})
    least = max(3, RUNNING_SHARE * len(pages))  # three: twice is a coincidence
    kept = []
    for page, edge in zip(pages, edges, strict=True):
        running = [
            line
            for line in edge
            if seen[_numberless(line.text)] >= least or _PAGE_NUMBER.fullmatch(line.text)
        ]
        kept.append([line for line in page if not any(line is other for other in running)])
    return kept


def _numberless(text: str) -> str:
    return re.sub(r"\d+", "#", text.casefold())


def _blocks(lines: Sequence[Line]) -> Iterator[str]:
    """Headings, paragraphs and list items."""
    chars = Counter[float]()
    for line in lines:
        chars[line.size] += len(line.text)
    body = max(chars, key=lambda size: chars[size], default=0.0)
    larger = sorted((s for s in chars if s > body * HEADING_RATIO), reverse=True)[:HEADING_LEVELS]
    lengths = sorted(len(line.text) for line in lines if line.size == body and line.text)
    usual = lengths[len(lengths) * 3 // 4] if lengths else 0
    hyphenated = set(re.findall(r"\b[^\W\d_]+-[^\W\d_]+", " ".join(line.text for line in lines)))
    waiting: list[Line] = []
    level = 0

    def block() -> Iterator[str]:
        text = _joined([line.text for line in waiting], hyphenated)
        waiting.clear()
        if text:
            yield f"{'#' * level} {text}" if level else text

    for line in lines:
        deep = larger.index(line.size) + 1 if line.size in larger and re.search(r"[^\W\d_]", line.text) else 0
        before = waiting[-1] if waiting else None
        listed = bool(_BULLET.match(line.text) or _LIST.match(line.text))
        ended = (
            before is not None and len(before.text) < FULL_LINE * usual and _SENTENCE_END.search(before.text)
        )
        if not line.text or deep != level or listed or (ended and not deep):
            yield from block()
        level = deep
        if line.text:
            waiting.append(line)
    yield from block()


def _joined(lines: Sequence[str], hyphenated: set[str]) -> str:
    """Lines as one text; a word cut at a line's end is whole again, unless it is written with the hyphen elsewhere."""
    text = ""
    for line in lines:
        cut = re.search(r"([^\W\d_]+)[-\u00ad\u2010]$", text)
        rest = re.match(r"[^\W\d_]+", line)
        if cut and rest and rest.group()[0].islower():
            compound = f"{cut.group(1)}-{rest.group()}" in hyphenated
            text = text[:-1] + ("-" if compound else "") + line
        else:
            text = f"{text} {line}" if text else line
    text = _BULLET.sub("- ", text)
    return re.sub(r"^(#+|>|\+|\*)(?=\s)", r"\\\1", text)  # no Markdown where the PDF has a sign
