"""The numbers of sources in an answer: read in all forms that models write, and written as `[1][2]`. Pure."""

from __future__ import annotations

import re

from functions.chat.links import outside_code

MARK = re.compile(r"\s?\[(\d+)\](?!\()")
MOST_DIGITS = 4  # of a number of a source; longer ones are none
WIDEST = 20  # sources in a range: more are not shown to a model
_NAME = r"(?:sources?|fuentes?|quellen?|fonti|fontes?|ref\.?|n[º°])"
_ITEM = rf"(?:{_NAME}\s*:?\s*)?[#^]?\d+(?:\s*†[^\],】]*)?"
_LIST = rf"{_ITEM}(?:\s*(?:,|;|&|-|–|—|\b(?:and|to|y|a|et|und|e)\b)\s*{_ITEM})*"
_FORM = re.compile(rf"\[\s*({_LIST})\s*\](?!\()|【\s*({_LIST}|\d+:\d+(?:†[^】]*)?)\s*】", re.IGNORECASE)
_RANGE = re.compile(r"(\d+)(?:†\S*)?\s*(?:-|–|—|\b(?:to|a)\b)\s*\D*(\d+)|(\d+)", re.IGNORECASE)


def with_plain_marks(text: str) -> str:
    """`text` whose marks are `[1]`, one for each number; code is left alone."""
    return outside_code(text, lambda part: _FORM.sub(_plain, part))


def numbers(text: str) -> list[int]:
    """The source numbers that a text names, in order."""
    found: list[int] = []
    outside_code(text, lambda part: found.extend(map(_number, MARK.findall(part))) or part)  # type: ignore[func-returns-value]
    return found


def without_marks(text: str) -> str:
    """`text` without the numbers of sources."""
    return outside_code(text, lambda part: MARK.sub("", part)).strip()


def _plain(match: re.Match[str]) -> str:
    inside = match.group(1) or match.group(2)
    if ":" in inside and match.group(2):  # 【4:0†source】: the file's number, and a place in it
        inside = inside.split(":")[0]
    inside = re.sub(r"†[^,;]*", "", inside)
    found: list[int] = []
    for first, last, single in _RANGE.findall(inside):
        if single:
            found.append(_number(single))
        elif 0 < _number(first) <= _number(last) <= _number(first) + WIDEST:
            found += range(_number(first), _number(last) + 1)
        else:
            found += [_number(first), _number(last)]
    return "".join(f"[{n}]" for n in dict.fromkeys(found))


def _number(digits: str) -> int:
    return int(digits) if len(digits) <= MOST_DIGITS else 0
