"""Words as the full-text index sees them: folded, stemmed by language, CJK as overlapping pairs.

LanceDB's full-text index has one stemmer per column. Stemming here instead gives one column and one index for
all languages of a site. CJK bigrams: Nie, Gao, Ren: "Chinese information retrieval", SIGIR 1996.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

_CJK = "\u2e80-\u2fff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_TOKEN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+", re.UNICODE)
_IS_CJK = re.compile(rf"[{_CJK}]")
_STEMMERS = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "fi": "finnish", "fr": "french", "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip


def analyse(text: str, language: str) -> list[str]:
    """The index terms of `text`, in order: stems without accents, pairs of CJK characters."""
    terms: list[str] = []
    stem = _stemmer(language)
    for token in _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _IS_CJK.match(token):
            terms.extend(token[i : i + 2] for i in range(max(1, len(token) - 1)))
        else:
            terms.append(fold(stem(token)))
    return terms


def analyse_query(text: str, languages: Iterable[str]) -> list[str]:
    """The terms of a question that may be about pages of any of `languages`: union of their stems."""
    return list(dict.fromkeys(t for language in languages for t in analyse(text, language)))


def fold(text: str) -> str:
    """`text` without accents, lower case: `Fábricas` → `fabricas`."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def words(text: str) -> int:
    """Words of `text`; CJK has no spaces, there two characters count as a word (its usual length)."""
    cjk = len(_IS_CJK.findall(text))
    return len(_IS_CJK.sub(" ", text).split()) + (cjk + 1) // 2


@lru_cache(maxsize=32)
def _stemmer(language: str) -> Any:
    name = _STEMMERS.get(language)
    if name is None:
        return lambda word: word
    from Stemmer import Stemmer

    return Stemmer(name).stemWord
