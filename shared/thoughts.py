"""What a reasoning model thinks aloud (`<think>…</think>`) is no part of its reply."""

from __future__ import annotations

import re

_OPEN, _CLOSE = "<think>", "</think>"
_CLOSED = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


def spoken(text: str) -> str:
    """`text` without thoughts, also where the template opened them and only `</think>` was written."""
    return _CLOSED.sub("", text).rpartition(_CLOSE)[2]


class Thoughts:
    """Takes the thoughts out of a stream whose tags may be cut anywhere."""

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False

    def feed(self, text: str) -> str:
        """What is spoken for certain; what may become a tag waits."""
        self._held += text
        said: list[str] = []
        while True:
            tag = _CLOSE if self._thinking else _OPEN
            before, found, after = self._held.partition(tag)
            if not found:
                break
            if not self._thinking:
                said.append(before)
            self._thinking, self._held = not self._thinking, after
        waits = _begun(self._held, tag)
        if not self._thinking:
            said.append(self._held[: len(self._held) - waits])
        self._held = self._held[len(self._held) - waits :]
        return "".join(said)

    def rest(self) -> str:
        """What still waits at the end of the stream."""
        held, self._held = self._held, ""
        return "" if self._thinking else held


def _begun(text: str, tag: str) -> int:
    """How many characters at the end of `text` are the beginning of `tag`."""
    return next((n for n in range(len(tag) - 1, 0, -1) if text.endswith(tag[:n])), 0)
