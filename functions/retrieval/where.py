"""Conditions on metadata as they are written on the command line: `author=Ann`, `views>=10`, `day<=2024-12-31`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from shared.errors import InvalidRequest
from shared.metadata import Kind
from shared.records import Condition, Scalar, Span

_FORM = re.compile(r"\s*(?P<name>\w+)\s*(?P<sign>>=|<=|=)\s*(?P<value>.*?)\s*", re.DOTALL)
_YES_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def metadata_filter(texts: Sequence[str], metadata: Mapping[str, Kind]) -> dict[str, Condition]:
    """The filter; several values of one name hold for any of them, `>=` and `<=` are the ends of a range.

    `metadata` is what the table has: it tells whether `10` is a number or a text.

    Raises:
        InvalidRequest: a condition is not of one of the forms.
    """
    values: dict[str, list[Scalar]] = {}
    ends: dict[str, dict[str, Scalar]] = {}
    for text in texts:
        match = _FORM.fullmatch(text)
        if match is None:
            raise InvalidRequest(
                f"--where {text!r}: write NAME=VALUE, NAME>=VALUE or NAME<=VALUE; NAME= for no value"
            )
        name, sign = match["name"], match["sign"]
        value = _typed(match["value"], metadata.get(name, "text"))
        if sign == "=":
            values.setdefault(name, []).append(value)
        else:
            ends.setdefault(name, {})["from" if sign == ">=" else "to"] = value
    both = sorted(values.keys() & ends.keys())
    if both:
        raise InvalidRequest(f"--where: {both[0]} has both a value and a range; give one of them")
    return {name: tuple(several) for name, several in values.items()} | {
        name: Span.model_validate(range_) for name, range_ in ends.items()
    }


def _typed(text: str, kind: Kind) -> Scalar:
    """The value in the type of its column; what cannot be one stays a text, which the filter refuses with reason."""
    if text == "":
        return None
    if kind == "yes/no":
        return _YES_NO.get(text.lower(), text)
    if kind in {"whole number", "number"}:
        try:
            return int(text)
        except ValueError:
            pass  # not a whole number: perhaps one with a fraction
        try:
            number = float(text)
        except ValueError:
            return text
        return number if math.isfinite(number) else text
    return text
