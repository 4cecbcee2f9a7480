"""Replies to documents, by media type; what a reply's headers say of its page."""

from __future__ import annotations

from collections.abc import Callable

from functions.indexing.charset import decoded
from functions.indexing.html import html_document
from functions.indexing.markup import markdown_document
from functions.indexing.pages import Document
from functions.indexing.pdf import pdf_document
from functions.indexing.replies import Reply

HTML = {"text/html", "application/xhtml+xml", ""}  # without a type, browsers look, and find HTML


def _html(reply: Reply) -> Document:
    return html_document(reply.body, reply.charset)


def _markdown(reply: Reply) -> Document:
    return markdown_document(text_of(reply))


def _pdf(reply: Reply) -> Document:
    return pdf_document(reply.body)


# What is read, by media type
READERS: dict[str, Callable[[Reply], Document]] = {
    **dict.fromkeys(HTML, _html),
    "text/markdown": _markdown,
    "text/x-markdown": _markdown,
    "text/plain": _markdown,
    "application/pdf": _pdf,
}

# Directives with a value, which look like the name of a robot
_WITH_VALUE = {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}


def robots_tag(header: str, user_agent: str) -> frozenset[str]:
    """The words of an X-Robots-Tag header that are said to all robots, or to this one."""
    agent, told = "", set()
    for part in header.lower().split(","):
        name, colon, word = part.partition(":")
        if colon and name.strip() not in _WITH_VALUE:
            agent, part = name.strip(), word
        if agent in {"", "*", user_agent.split("/")[0].strip().lower()}:
            told.add(part.strip())
    return frozenset(told - {""})


def text_of(reply: Reply) -> str:
    """The text of a reply.

    Raises:
        SourceError: it is not text in any known encoding.
    """
    return decoded(reply.body, reply.charset, html=reply.content_type in HTML)
