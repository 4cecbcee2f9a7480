"""The language of a text, as an ISO 639 code, from a byte n-gram classifier (py3langid, 97 languages)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any


def detect_language(text: str, among: Sequence[str] = ()) -> tuple[str, float]:
    """The most probable language of `text` and its probability, among the codes given or all known ones.

    Codes that the classifier does not know are left out. Empty text gives ("", 0.0).
    """
    if not text.strip():
        return "", 0.0
    language, probability = _classifier(tuple(among)).classify(text)
    return str(language), float(probability)


@lru_cache(maxsize=16)
def _classifier(among: tuple[str, ...]) -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    known = [code for code in among if code in identifier.labels]
    if known:
        identifier.set_languages(known)
    return identifier
