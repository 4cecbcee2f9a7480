"""A folder of Markdown, MDX, HTML, PDF and text files."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import quote

from functions.indexing.charset import decoded
from functions.indexing.html import html_document
from functions.indexing.markup import markdown_document
from functions.indexing.pages import Document, Origin, Skipped, to_page
from functions.indexing.pdf import pdf_document
from shared.errors import SourceError
from shared.records import GENERAL, Page
from shared.settings import FolderSource, Settings

MAX_FILE_BYTES = 10 * 1024 * 1024  # a page of 10 MiB is a data dump; it would stall the run
MAX_PDF_BYTES = 50 * 1024 * 1024  # pictures make a PDF large, not its text


async def pages(source: FolderSource, settings: Settings) -> AsyncIterator[Page | Skipped]:
    """All pages of the folder, in the order of their paths.

    Raises:
        SourceError: the folder does not exist.
    """
    if not source.path.exists():
        raise SourceError(f"source {source.name!r}: there is no folder {source.path}")
    products = [p.id for p in settings.products] + [GENERAL]
    for file, path in _files(source):
        readable = path.encode("utf-8", "replace").decode()  # names that are not UTF-8 exist
        try:
            origin = Origin(
                id=f"{source.name}/{path}",
                source=source.name,
                url=_url(source.base_url, path),
                path=path,
                category=source.category,
                product=source.product,
                content_type=source.content_type,
                language=source.language,
            )
            page = to_page(
                _read(file, source.path),
                origin,
                site_languages=settings.site.languages,
                content_types=settings.content_types,
                products=products,
            )
        except (SourceError, OSError) as error:
            yield Skipped(id=f"{source.name}/{readable}", reason=str(error), failed=True)
        except Exception as error:
            logging.getLogger("portavoz").exception("%s cannot be read", readable)
            yield Skipped(
                id=f"{source.name}/{readable}", reason=f"it cannot be read: {error!r:.200}", failed=True
            )
        else:
            yield page


def _files(source: FolderSource) -> Iterator[tuple[Path, str]]:
    """Files that the patterns ask for, with their path below the folder; hidden ones are left out."""
    if source.path.is_file():
        yield source.path, source.path.name
        return
    chosen = {file for pattern in source.include for file in source.path.glob(pattern) if file.is_file()}
    chosen -= {file for pattern in source.exclude for file in source.path.glob(pattern)}
    for file in sorted(chosen):
        below = file.relative_to(source.path)
        if not any(part.startswith(".") or part == "node_modules" for part in below.parts):
            yield file, below.as_posix()


def _read(file: Path, folder: Path) -> Document:
    if folder.is_dir() and not file.resolve().is_relative_to(folder.resolve()):
        raise SourceError("the file is a link that leads out of the folder")
    kind = file.suffix.lower()
    most = MAX_PDF_BYTES if kind == ".pdf" else MAX_FILE_BYTES
    if file.stat().st_size > most:
        raise SourceError(f"the file is larger than {most // 2**20} MiB")
    raw = file.read_bytes()
    if kind == ".pdf":
        return pdf_document(raw)
    if kind in {".html", ".htm"}:
        return html_document(raw)
    return markdown_document(decoded(raw))


def _url(base_url: str, path: str) -> str:
    """`base_url` + path without suffix; `index` stands for its folder. Empty without `base_url`."""
    if not base_url:
        return ""
    stem = path.rsplit(".", 1)[0]
    folder, _, name = stem.rpartition("/")
    if name in {"index", "_index"}:
        stem = folder
    return f"{base_url.rstrip('/')}/{quote(stem)}{'/' if stem else ''}"
