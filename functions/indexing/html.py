"""An HTML page to Markdown of its main content, with what the page says about itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from functions.indexing.charset import decoded
from functions.indexing.hidden import remove_hidden
from functions.indexing.linked_data import facts, linked_data
from functions.indexing.main_content import main_content
from functions.indexing.pages import Document
from shared.errors import SourceError

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_LOWER = "translate(@{0},'ABCDEFGHIJKLMNOPQRSTUVWXYZ','abcdefghijklmnopqrstuvwxyz')"
_ENCODING_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")  # lxml refuses text that names an encoding
MAX_DEPTH = 250  # levels of elements; lxml's copies and markdownify recurse


def html_document(raw: bytes, charset: str = "") -> Document:
    """Main content of an HTML page as Markdown, with title, language, dates and canonical address.

    `charset` is the one of the HTTP header.

    Raises:
        SourceError: the page cannot be parsed, or has no main content.
    """
    import trafilatura

    tree = parsed(decoded(raw, charset, html=True))
    data = linked_data(tree)
    found = trafilatura.extract_metadata(tree)  # title and date, also where only the text says them
    meta = _meta(tree, data)
    if found and found.date:
        meta.setdefault("date", found.date)
    title = (found.title if found else "") or tree.findtext(".//title") or ""
    language = _language(tree, data)
    remove_hidden(tree)
    text = main_content(tree)
    if not re.search(r"\w", text):
        raise SourceError("the page has no main content")
    return Document(markdown=facts(data, text), title=title, language=language, meta=meta)


def parsed(text: str) -> HtmlElement:
    """The tree of an HTML page.

    Raises:
        SourceError: it is not HTML.
    """
    from lxml import etree, html

    try:
        tree: HtmlElement = html.document_fromstring(_ENCODING_DECLARATION.sub("", text.replace("\x00", "")))
    except (etree.ParserError, ValueError) as error:
        raise SourceError("the page is not HTML") from error
    if not any(isinstance(e.tag, str) and e.tag not in {"html", "body", "p"} for e in tree.iter()):
        raise SourceError("the page is not HTML")
    if tree.xpath("boolean(//*[count(ancestor::*) > $most])", most=MAX_DEPTH):
        raise SourceError(f"the page nests elements more than {MAX_DEPTH} levels deep")
    return tree


def _meta(tree: HtmlElement, data: list[dict[str, Any]]) -> dict[str, Any]:
    """What the head says: robots, description, canonical address, dates; without empty values."""
    meta = {
        "robots": ",".join(_contents(tree, "robots")),
        "description": _first(_contents(tree, "description", "og:description")),
        "canonical": _first(
            url
            for url in (*tree.xpath("//link[@rel='canonical']/@href"), *_contents(tree, "og:url"))
            if url.strip().startswith(("http://", "https://"))
        ),
        "published_at": _first((*_contents(tree, "article:published_time"), *_values(data, "datePublished"))),
        "modified_at": _first((*_contents(tree, "article:modified_time"), *_values(data, "dateModified"))),
    }
    return {name: str(value).strip() for name, value in meta.items() if value}


def _language(tree: HtmlElement, data: list[dict[str, Any]]) -> str:
    said = (
        tree.get("lang"),
        tree.get("xml:lang"),
        *tree.xpath(f"//meta[{_LOWER.format('http-equiv')}='content-language']/@content"),
        *_contents(tree, "og:locale"),
        *_values(data, "inLanguage"),
    )
    codes = (re.match(r"[A-Za-z]{2,3}(?=$|[-_])(?:[-_]\w+)*", value.strip()) for value in said if value)
    return next((match.group() for match in codes if match), "")


def _contents(tree: HtmlElement, *names: str) -> list[str]:
    """Contents of meta elements by name or property, in the order of `names`."""
    query = f"//meta[{_LOWER.format('name')}=$name or {_LOWER.format('property')}=$name]/@content"
    return [str(value) for name in names for value in tree.xpath(query, name=name)]


def _values(data: Iterable[dict[str, Any]], name: str) -> list[str]:
    return [entry[name] for entry in data if isinstance(entry.get(name), str)]


def _first(values: Iterable[str]) -> str:
    return next((value for value in values if value.strip()), "")
