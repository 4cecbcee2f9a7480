"""Thoughts of reasoning models, whole and cut anywhere."""

from __future__ import annotations

import pytest

from shared.thoughts import Thoughts, spoken

TEXT = "<think>He wants\nthe price.</think>It is 9 < 10 euros <b>now</b>.<think>Done"


def test_thoughts_are_not_spoken() -> None:
    assert spoken(TEXT) == "It is 9 < 10 euros <b>now</b>."
    assert spoken("opened by the template</think>It is 9.") == "It is 9."


@pytest.mark.parametrize("size", range(1, 12))
def test_a_stream_cut_anywhere_says_the_same(size: int) -> None:
    thoughts = Thoughts()
    said = "".join(thoughts.feed(TEXT[at : at + size]) for at in range(0, len(TEXT), size)) + thoughts.rest()
    assert said == spoken(TEXT)


def test_what_only_looked_like_a_tag_is_spoken_at_the_end() -> None:
    thoughts = Thoughts()
    assert thoughts.feed("a <thin") + thoughts.rest() == "a <thin"
