"""RSS and Atom feeds to their entries."""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import urljoin

from functions.indexing.addresses import normal
from functions.indexing.html import html_document
from functions.indexing.pages import Document
from shared.errors import SourceError
from shared.records import Record

KEY_LETTERS = 16  # of a hash: 64 bits tell the entries of any feed apart


class FeedEntry(Record):
    """One entry of a feed."""

    key: str  # the page's address in its one spelling, else what the feed calls the entry
    url: str = ""  # as written
    title: str = ""
    html: str = ""  # its text, whole or a summary
    language: str = ""
    published: str = ""  # ISO, UTC
    updated: str = ""


def parse_feed(body: bytes, address: str, headers: Mapping[str, str] | None = None) -> tuple[FeedEntry, ...]:
    """The entries in the order of the feed, each once. Entities of its document type are not resolved.

    Raises:
        SourceError: it is neither RSS nor Atom, or broken before its first entry.
    """
    import feedparser

    content_type = (headers or {}).get("content-type", "")
    told = {"content-location": address, "content-type": content_type or "application/xml"}
    try:
        parsed = feedparser.parse(io.BytesIO(body), response_headers=told)
    except (
        ValueError,
        LookupError,
        AssertionError,
    ) as error:  # some broken files break its second parser too
        raise SourceError(f"{address} is neither RSS nor Atom: {error}") from error
    trouble = parsed.get("bozo_exception")
    if isinstance(trouble, feedparser.NonXMLContentType | feedparser.CharacterEncodingOverride):
        trouble = None  # a wrong label, which many servers give
    if not parsed.entries and (trouble or not parsed.get("version")):
        raise SourceError(f"{address} is neither RSS nor Atom: {trouble or 'it is another kind of file'}")
    language = parsed.feed.get("language", "")
    entries: dict[str, FeedEntry] = {}
    for item in parsed.entries:
        entry = _entry(item, address, language)
        entries.setdefault(entry.key, entry)
    return tuple(entries.values())


def entry_document(entry: FeedEntry) -> Document:
    """The entry's own text as a document.

    Raises:
        SourceError: it has no text.
    """
    meta = {"date": entry.published or entry.updated}
    shell = f"<html><head><meta charset='utf-8'></head><body><article>{entry.html}</article></body></html>"
    try:
        markdown = html_document(shell.encode()).markdown
    except SourceError:  # what looks for the main content of a page finds none in two sentences
        markdown = _plain(entry.html)
    if not markdown.strip():
        raise SourceError("the entry has no text")
    return Document(markdown=markdown, title=entry.title, language=entry.language, meta=meta)


def _entry(item: Any, address: str, language: str) -> FeedEntry:
    link = item.get("feedburner_origlink") or item.get("link") or ""
    url = link and normal(link, address) and urljoin(address, link.strip())
    whole = [c for c in item.get("content", []) if c.get("value")]
    best = max(whole, key=lambda c: len(c["value"])) if whole else item.get("summary_detail") or {}
    value = best.get("value") or item.get("summary", "")
    plain = best.get("type") == "text/plain"
    return FeedEntry(
        key=normal(url)
        or item.get("id")
        or sha256(f"{item.get('title')}\n{value}".encode()).hexdigest()[:KEY_LETTERS],
        url=url,
        title=_plain(item.get("title", "")),
        html=_escaped(value) if plain else value,
        language=best.get("language") or language or "",
        published=_iso(dict.get(item, "published_parsed")),
        updated=_iso(dict.get(item, "updated_parsed")),  # FeedParserDict would give the other date, and warn
    )


def _iso(moment: time.struct_time | None) -> str:
    """feedparser gives UTC; a date that it could not read is None."""
    return datetime(*moment[:6], tzinfo=UTC).isoformat() if moment else ""


def _escaped(text: str) -> str:
    from html import escape

    return "".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n") if part.strip())


def _plain(html: str) -> str:
    """The text of a fragment, its blocks as paragraphs."""
    if "<" not in html and "&" not in html:
        return html.strip()
    from lxml import html as lxml_html

    blocks = ("p", "div", "li", "br", "h1", "h2", "h3", "h4", "tr", "blockquote")
    tree = lxml_html.fragment_fromstring(html, create_parent="div")
    for element in tree.iter(*blocks):
        element.tail = "\n\n" + (element.tail or "")
    paragraphs = (" ".join(part.split()) for part in tree.text_content().split("\n\n"))
    return "\n\n".join(part for part in paragraphs if part)
