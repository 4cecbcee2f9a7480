"""Characters that break what comes after: halves of surrogate pairs, and those that grow when they are composed."""

from __future__ import annotations

import re
import unicodedata

_HALF = re.compile("[\ud800-\udfff]")
_FIRST_HALF = re.compile("[\ud800-\udbff]$")


def whole(text: str) -> str:
    """`text` with surrogate pairs joined to their character and lone halves replaced, so that UTF-8 can hold it."""
    if not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def composed(text: str) -> str:
    """`text` as the tokeniser of XLM-R composes it (NFKC), without characters that C strings cannot hold.

    Of all code points U+FDFA alone grows to more than four for each of its UTF-8 bytes (18 for 3).
    """
    return unicodedata.normalize("NFKC", whole(text).replace("\x00", " "))


class Joiner:
    """Joins surrogate pairs that a stream cut in two."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """What can be passed on; a first half waits for the second."""
        text = self._held + text
        self._held = text[-1:] if _FIRST_HALF.search(text) else ""
        return whole(text[: len(text) - len(self._held)])

    def rest(self) -> str:
        """What still waits at the end of the stream."""
        held, self._held = self._held, ""
        return whole(held)
