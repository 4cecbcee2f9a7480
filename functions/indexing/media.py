"""Replies to documents, by media type; what a reply's headers say of its page."""

from __future__ import annotations

from collections.abc import Callable

from functions.indexing.markup import html_document, markdown_document
from functions.indexing.pages import Document
from functions.indexing.replies import Reply

HTML = {"text/html", "application/xhtml+xml", ""}  # without a type, browsers look, and find HTML


def _html(reply: Reply) -> Document:
    return html_document(text_of(reply).encode())


def _markdown(reply: Reply) -> Document:
    return markdown_document(text_of(reply))


# What is read, by media type
READERS: dict[str, Callable[[Reply], Document]] = {
    **dict.fromkeys(HTML, _html),
    "text/markdown": _markdown,
    "text/x-markdown": _markdown,
    "text/plain": _markdown,
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
    """The text of a reply: UTF-8, else the charset that its header names, else what the page says or looks like."""
    try:
        return reply.body.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass  # not a failure: the labels decide
    if reply.charset:
        try:
            return reply.body.decode(reply.charset, "replace")
        except LookupError:
            pass  # a label that is no charset
    from trafilatura.utils import decode_file

    return str(decode_file(reply.body))
