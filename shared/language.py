"""The language of a text, as an ISO 639 code, from a byte n-gram classifier (py3langid, 97 languages)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from shared.analysis import words

_INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_MASKS = {0xE000: None, 0xE001: None}  # private characters that stand for code meanwhile
SURE = 0.99  # of both: among the languages given and among all; on 14,000 passages of known language
ENOUGH_WORDS = 25  # two sentences; names and quotations of less are often in another language than their text
# code, addresses, table rows and list items of a few words say nothing of the language
_NO_PROSE = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]+`|https?://\S+|^\|.*$|\S*[_/\\]\S*", re.DOTALL | re.MULTILINE
)


def detect_language(text: str, among: Sequence[str] = ()) -> tuple[str, float]:
    """The most probable language of `text` and its probability, among the codes given or all known ones.

    Codes that the classifier does not know are left out. Empty text gives ("", 0.0).
    """
    if not text.strip():
        return "", 0.0
    language, probability = _classifier(tuple(among)).classify(text)
    return str(language), float(probability)


def surely_written_in(text: str, among: Sequence[str]) -> str:
    """The one of the languages `among` that the prose of `text` is written in, without a doubt; else empty."""
    if len(among) < 2:
        return ""
    prose = _NO_PROSE.sub(" ", text)
    if words(prose) < ENOUGH_WORDS:
        return ""
    (code, probability), (widest, sure) = detect_language(prose, among), detect_language(prose)
    return code if code == widest and min(probability, sure) > SURE else ""


@lru_cache(maxsize=16)
def _classifier(among: tuple[str, ...]) -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    known = [code for code in among if code in identifier.labels]
    if known:
        identifier.set_languages(known)
    return identifier


def split_sentences(text: str, language: str) -> list[str]:
    """The sentences of one run of text, trimmed; inline code is never cut nor changed.

    The segmenter takes the dot in `./run` for the end of a sentence, so code is put aside meanwhile.
    """
    from sentencex import segment

    codes: list[str] = []

    def aside(match: re.Match[str]) -> str:
        codes.append(match.group())
        return f"\ue000{len(codes) - 1}\ue001"

    masked = _INLINE_CODE.sub(aside, text.translate(_MASKS))
    parts = (part.strip() for part in segment(language or "en", masked))
    return [re.sub("\ue000(\\d+)\ue001", lambda m: codes[int(m.group(1))], part) for part in parts if part]
