"""Files and documents to `Page`: front matter, title, language, clean Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import PurePosixPath
from typing import Any

from pydantic import Field

from functions.indexing.hidden import visible
from functions.indexing.quarantine import quarantined
from shared.language import detect_language
from shared.records import Page, Record

LANGUAGE_KEYS = ("lang", "language", "locale")
PUBLISHED_KEYS = ("published_at", "published", "date", "pubDate", "publishDate")


class Skipped(Record):
    """A page that is not indexed, and why. A failed page keeps the rows that it has."""

    id: str
    reason: str
    failed: bool = (
        False  # True: it should have been readable; False: it says itself that it is not for readers
    )


class Unchanged(Record):
    """A page that its server says is as it was (304), so that its rows are right."""

    id: str


class Incomplete(Record):
    """The source was not read to its end (page limit, budget): what was not seen is not taken as gone."""

    reason: str


class Visit(Record):
    """What a server said of a page, for the next run's conditional request."""

    page_id: str
    etag: str = ""
    last_modified: str = ""
    links: tuple[str, ...] = ()  # where a crawl goes on from here


@dataclass
class Visits:
    """Visits by URL: of the last run (only of pages whose rows are right), and of this one, filled by the source."""

    before: Mapping[str, Visit] = field(default_factory=dict)
    now: dict[str, Visit] = field(default_factory=dict)


class Document(Record):
    """A page's content before the source's settings are applied."""

    markdown: str
    title: str = ""
    language: str = ""
    meta: dict[str, Any] = Field(default_factory=dict)


class Origin(Record):
    """What the source knows of a page before reading it."""

    id: str
    source: str
    url: str
    path: str  # below the source's folder, or the URL's path
    category: str = ""
    product: str | None = None
    content_type: str | None = None
    language: str | None = None


def to_page(
    document: Document,
    origin: Origin,
    *,
    site_languages: Sequence[str],
    content_types: Sequence[str],
    products: Sequence[str],
) -> Page | Skipped:
    """Apply the source's settings, then the page's own; what neither says is found out.

    Here every text passes, of whatever source: characters without a shape and what speaks to a model are left out.
    """
    meta = document.meta
    robots = set(re.split(r"[\s,]+", str(meta.get("robots") or "").lower()))
    if meta.get("draft") is True or robots & {"noindex", "none"}:
        return Skipped(id=origin.id, reason="the page is a draft or noindex")
    text, cut = quarantined(visible(document.markdown))
    text = text.strip()
    title, cut_title = quarantined(_one_line(visible(document.title)))
    document = document.model_copy(update={"markdown": text})
    if not re.search(r"\w", text):
        reason = "the page has no text but instructions to a model" if cut else "the page has no text"
        return Skipped(id=origin.id, reason=reason)
    declared = origin.language or _declared(document, origin.path, site_languages)
    return Page(
        id=origin.id,
        source=origin.source,
        url=origin.url or _web_address(meta.get("url")) or _web_address(meta.get("canonical")),
        title=title.strip() or _title_from(origin.path),
        text=text,
        language=declared or _detected(text, site_languages),
        language_declared=bool(declared),
        category=origin.category or _one_line(_first(meta.get("category") or meta.get("categories"))),
        product=origin.product or _if_in(meta.get("product"), products),
        content_type=origin.content_type
        or _if_in(meta.get("content_type") or meta.get("type"), content_types),
        published_at=_instant(next((meta[k] for k in PUBLISHED_KEYS if meta.get(k)), None)),
        quarantined=(*cut_title, *cut),
    )


def _declared(document: Document, path: str, site_languages: Sequence[str]) -> str:
    """The page's own word where it is a code, else a folder named as a language of the site; else nothing."""
    code = re.split(r"[-_]", document.language.strip().lower())[0]
    if re.fullmatch(r"[a-z]{2,3}", code):
        return code
    return next((part for part in PurePosixPath(path).parts if part in site_languages), "")


def _detected(text: str, site_languages: Sequence[str]) -> str:
    """What the text looks like."""
    code, probability = detect_language(text)
    # the site's languages decide doubtful cases: short pages, code, product names
    return code if probability > 0.99 else detect_language(text, site_languages)[0] or code


def _web_address(value: object) -> str:
    """An address that a citation may lead to; `javascript:` and the like are none."""
    return value if isinstance(value, str) and value.startswith(("https://", "http://")) else ""


def _title_from(path: str) -> str:
    stem = PurePosixPath(path).stem
    if stem in {"index", "_index", "README"}:
        stem = PurePosixPath(path).parent.name or stem
    return re.sub(r"[-_]+", " ", stem).strip().capitalize()


def _one_line(value: object) -> str:
    return " ".join(str(value or "").split())


def _first(value: object) -> object:
    return value[0] if isinstance(value, list) and value else value if not isinstance(value, list) else ""


def _if_in(value: object, allowed: Sequence[str]) -> str | None:
    return value if isinstance(value, str) and value in allowed else None


def _instant(value: object) -> datetime | None:
    """A date of front matter (YAML date, datetime or ISO text) in UTC; None where it is none."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return None
