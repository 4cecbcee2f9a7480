"""Links and addresses in what a model writes: those of the sources stay, of others only the words do. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

MISSING_CHARS = 200  # of what the sources lack: a list of topics; longer is a text that nothing supports
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`)", re.DOTALL)
_INLINE = re.compile(
    r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*<?((?:[^()\s<>]|\([^()\s]*\))*)>?(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"
)
_DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s*\S.*$", re.MULTILINE)
_ELEMENT = re.compile(
    r"</?(?:a|area|base|embed|form|iframe|img|link|meta|object|script|style|svg)\b[^>]*>", re.I
)
_BARE = re.compile(r"<?\b((?:https?://|www\.)[^\s<>\"')\]|]*[^\s<>\"')\]|.,;:!?*_])>?", re.IGNORECASE)
_SCHEME = re.compile(r"^(?:https?://)?", re.IGNORECASE)
_MAIL = re.compile(r"(?:mailto:)?[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"(?:tel:)?\+?\(?\d[\d\s()./-]{5,}\d")
_HOST = re.compile(r"\b(?:[a-z0-9-]+\.)+[a-z]{2,}(?:/\S*)?", re.IGNORECASE)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """`text` changed everywhere but in code, which is shown and copied as it is."""
    return "".join(part if place % 2 else change(part) for place, part in enumerate(_CODE.split(text)))


def own_links(text: str, allowed: Iterable[str]) -> str:
    """`text` whose links to other places than those allowed are their words alone, and no image or element."""
    targets = {_target(url) for url in allowed} - {""}

    def link(match: re.Match[str]) -> str:
        known = _target(match.group(2)) in targets and not match.group().startswith("!")
        if match.group(1).isdigit():  # a number of a source, written as a link
            return f"[{match.group(1)}]"
        return match.group() if known else match.group(1)

    def bare(match: re.Match[str]) -> str:
        return match.group() if _target(match.group(1)) in targets else _SCHEME.sub("", match.group(1))

    def change(part: str) -> str:
        part = _INLINE.sub(link, _DEFINITION.sub("", _ELEMENT.sub("", part)))
        kept: list[str] = []
        at = 0
        for match in _INLINE.finditer(part):  # bare addresses are looked for around the links that stay
            kept += [_BARE.sub(bare, part[at : match.start()]), match.group()]
            at = match.end()
        return "".join([*kept, _BARE.sub(bare, part[at:])])

    return outside_code(text, change)


def harmless(text: str) -> str:
    """A few words in one line without links, addresses and telephone numbers: nothing has checked them."""
    text = text[: 5 * MISSING_CHARS]  # some of what follows takes the square of its length
    text = re.sub(r"\[\d+\]", "", _ELEMENT.sub("", _INLINE.sub(r"\1", text)))
    for pattern in (_BARE, _MAIL, _HOST, _PHONE):
        text = pattern.sub("", text)
    text = re.sub(r"\s+([,.;:!?])", r"\1", " ".join(re.sub(r"[`*<>\[\]|#]", "", text).split()))
    if len(text) > MISSING_CHARS:
        text = text[:MISSING_CHARS].rsplit(" ", 1)[0] + " …"
    return text


def _target(url: str) -> str:
    """An address without what does not change the page: fragment, last slash, the letters' case of the host."""
    url = f"https://{url}" if url.lower().startswith("www.") else url
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    if parts.scheme.lower() not in {"http", "https", "mailto", "tel"}:
        return ""
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme.lower()}:{parts.netloc.lower()}{parts.path.rstrip('/')}{query}"
