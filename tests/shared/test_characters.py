"""Surrogates, and characters that grow when they are composed."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from shared.characters import Joiner, composed, whole


@pytest.mark.parametrize(
    ("text", "right"),
    [("a", "a"), ("\ud83d\ude00", "😀"), ("a\ud83d", "a\ufffd"), ("\ude00\ud83d", "\ufffd\ufffd"), ("日\ud800x", "日\ufffdx")],
)  # fmt: skip
def test_pairs_are_joined_and_lone_halves_replaced(text: str, right: str) -> None:
    assert whole(text) == right


def test_a_pair_that_a_stream_cut_is_joined() -> None:
    joiner = Joiner()
    assert [joiner.feed("Hello \ud83d"), joiner.feed("\ude00!"), joiner.feed("\ud83d"), joiner.rest()] == [
        "Hello ", "😀!", "", "\ufffd",
    ]  # fmt: skip


def test_no_composed_character_grows_beyond_the_tokenisers_buffer() -> None:
    """The buffer has four code points for each byte of the input."""
    for point in range(sys.maxunicode + 1):
        text = composed(chr(point))
        assert len(unicodedata.normalize("NFKC", text)) <= 4 * max(1, len(text.encode())), hex(point)


def test_what_composes_again_stays_as_it_is() -> None:
    assert composed(composed("\ufdfa ﬁ ① é")) == composed("\ufdfa ﬁ ① é")
