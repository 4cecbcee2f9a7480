"""Rows of a database to pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin

from functions.indexing.markup import html_document, markdown_document
from functions.indexing.pages import Document, Origin, Skipped, to_page
from functions.indexing.sources.sql_values import (
    Unfit,
    as_instant,
    as_text,
    declared,
    kind_of_type,
    metadata_value,
)
from shared.errors import SourceError
from shared.metadata import Kind
from shared.records import GENERAL, MetadataValue, Page
from shared.settings import Settings, SqlSource

if TYPE_CHECKING:
    from sqlalchemy import FromClause

    from functions.indexing.sources.sql_database import Columns

Row = dict[str, Any]


@dataclass
class RowReader:
    """Makes pages of rows; remembers of which kind the metadata are, once that is known."""

    source: SqlSource
    settings: Settings
    shape: FromClause
    columns: Columns
    dialect: str
    kinds: dict[str, Kind | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.source.metadata:
            try:
                self.kinds[name] = kind_of_type(self.columns[name], self.dialect)
            except Unfit as error:
                raise SourceError(
                    f"source {self.source.name!r}: metadata column {name!r} {error}; leave it out"
                ) from None

    def pages(self, batch: Sequence[tuple[Row, str]]) -> list[Page | Skipped]:
        """A page, or why there is none, for each row with its page id.

        Raises:
            SourceError: a metadata column holds what no filter can compare.
        """
        for name, kind in self.kinds.items():
            values = (row[name] for row, _ in batch)
            self.kinds[name] = declared(kind, self.source.name, name, values)
        return [self._page(row, page_id) for row, page_id in batch]

    def _page(self, row: Row, page_id: str) -> Page | Skipped:
        source = self.source
        column = ""
        try:
            metadata: dict[str, MetadataValue] = {}
            for column in sorted(source.metadata):  # the page's hash does not depend on the settings' order
                kind = self.kinds[column]
                value = metadata_value(row[column], kind) if kind else None
                if value is not None:
                    metadata[column] = value
            texts = []
            for column in source.text:
                texts.append(as_text(row[column]).strip())
            document, origin = (
                self._document("\n\n".join(filter(None, texts)), row),
                self._origin(row, page_id),
            )
        except Unfit as error:
            where = f"column {column!r} " if column else ""
            return Skipped(id=page_id, reason=f"{where}{error}", failed=True)
        except SourceError as error:  # the page's own markup cannot be read
            return Skipped(id=page_id, reason=str(error), failed=True)
        page = to_page(
            document,
            origin,
            site_languages=self.settings.site.languages,
            content_types=self.settings.content_types,
            products=[p.id for p in self.settings.products] + [GENERAL],
        )
        return page.model_copy(update={"metadata": metadata}) if isinstance(page, Page) else page

    def _document(self, text: str, row: Row) -> Document:
        """The text in its format; what the columns say stands above what the text says of itself."""
        source = self.source
        if not text:
            document = Document(markdown="")
        elif source.format == "html":
            whole = re.search(r"<(?:html|body)\b", text, re.IGNORECASE)
            html = text if whole else f"<html><body><article>{text}</article></body></html>"
            document = html_document(html.encode("utf-8"))
        elif source.format == "markdown":
            document = markdown_document(text)
        else:
            document = Document(markdown=text)
        said: dict[str, Any] = {}
        if source.title and (title := as_text(row[source.title])):
            said["title"] = title
        language = as_text(row[source.language_column]).strip().lower() if source.language_column else ""
        if re.match(r"[a-z]{2,3}(?:[-_]|$)", language):  # anything else is no code: the text tells
            said["language"] = language
        if source.published_at:
            said["meta"] = document.meta | {"published_at": as_instant(row[source.published_at])}
        return document.model_copy(update=said)

    def _origin(self, row: Row, page_id: str) -> Origin:
        source = self.source
        category = as_text(row[source.category_column]).strip() if source.category_column else ""
        has_language = source.language_column and as_text(row[source.language_column]).strip()
        return Origin(
            id=page_id,
            source=source.name,
            url=self._url(row),
            path=page_id.removeprefix(f"{source.name}/"),
            category=category or source.category,
            product=source.product,
            content_type=source.content_type,
            language=None if has_language else source.language,
        )

    def _url(self, row: Row) -> str:
        """The page's address, empty where a column of it is null."""
        source = self.source
        parts = {name: as_text(row[name]).strip() for name in source.template_columns}
        if not parts or not all(parts.values()):
            return ""
        if "{" in source.page_url:
            return re.sub(r"\{([^{}]+)\}", lambda m: quote(parts[m[1]]), source.page_url)
        url = parts[source.page_url]
        if not re.match(r"https?://", url, re.IGNORECASE):
            if re.match(r"[a-z][a-z0-9+.-]*:", url, re.IGNORECASE) or not self.settings.site.url:
                raise Unfit(f"{source.page_url!r} holds {url[:100]!r}, which is no http(s) address")
            url = urljoin(self.settings.site.url, url)
        return url
