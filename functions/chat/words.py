"""The words of a text that carry its meaning, and whether it denies something. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from functions.chat.stop_words import STOP_WORDS
from shared.analysis import analyse, fold

# what turns a statement into its opposite; never a stop word
_NEGATIONS = {
    "en": r"not|no|never|none|neither|nor|cannot|\w+n['’]t|without|nothing|nobody|nowhere|unable|impossible|exclud\w+|except",
    "es": r"no|nunca|jamas|ningun[ao]?s?|nada|nadie|tampoco|sin|ni|imposible|exclu\w+|excepto|salvo",
    "fr": r"ne|n['’](?=\w)|pas|jamais|aucune?s?|rien|ni|non|sans|impossible|exclu\w*|sauf|excepte",
    "de": r"nicht|kein\w*|nie|niemals|weder|noch nie|nichts|niemand|ohne|unmoglich|ausgeschlossen|ausgenommen|ausser",
    "it": r"non|mai|nessun\w*|niente|nulla|ne|senza|impossibile|esclus\w*|eccetto|tranne",
    "pt": r"nao|nunca|jamais|nenhuma?s?|nenhum|nada|ninguem|nem|sem|impossivel|exclu\w+|exceto|salvo",
}
# negations that deny nothing: "not only", "do not hesitate"
_HOLLOW = re.compile(
    r"\bnot (?:only|just)\b|\b(?:do not|don['’]t) (?:hesitate|forget|worry)\b|\bno (?:solo|dudes|dude|olvides|olvide)\b"
    r"|\bpas seulement\b|\bn['’]hesitez pas\b|\bn['’]oubliez pas\b|\bnicht nur\b|\bnon (?:solo|esitare|esitate)\b"
    r"|\bnao (?:so|hesite|apenas|esqueca)\b|\bno problem\b"
)
MOST_DENIALS = 8  # in one sentence; more are no sentence
DENIED_CHARS = 100  # a dozen words
_LISTS = "core/StopwordsList"  # of yake: 34 languages, no import of the package needed


def content_words(text: str, language: str) -> set[str]:
    """The analysed words that carry meaning: all but the stop words of the language and single letters."""
    skipped = _stop_stems(language)
    return {
        t
        for t in analyse(text, language)
        if t not in skipped and not (len(t) == 1 and t.isascii() and t.isalpha())
    }


@lru_cache(maxsize=32)
def stop_words(language: str) -> frozenset[str]:
    """Words without meaning of their own, accents removed; none for a language without a list."""
    if language in STOP_WORDS:
        return frozenset(w for w in STOP_WORDS[language].split() if not is_denial(w, language))
    spec = find_spec("yake")
    places = spec.submodule_search_locations if spec else None
    if not places or not language.isalpha():
        return frozenset()
    file = Path(places[0]) / _LISTS / f"stopwords_{language}.txt"
    if not file.exists():
        return frozenset()
    words = {fold(word) for line in file.read_text("utf-8").splitlines() for word in [line.strip(), *re.split(r"['’]", line.strip())]}  # fmt: skip
    return frozenset(word for word in words if word and not _negation(language).fullmatch(word))


def denials(text: str, language: str) -> list[str]:
    """What follows each negation of a text, as far as it may be meant."""
    plain = _HOLLOW.sub(" ", fold(text))
    found = islice(_negation(language).finditer(plain), MOST_DENIALS)
    return [plain[match.end() : match.end() + DENIED_CHARS] for match in found]


@lru_cache(maxsize=4096)
def is_denial(word: str, language: str) -> bool:
    """Whether a word is a negation."""
    return bool(_negation(language).fullmatch(fold(word)))


@lru_cache(maxsize=32)
def _stop_stems(language: str) -> frozenset[str]:
    return frozenset(stem for word in stop_words(language) for stem in analyse(word, language))


@lru_cache(maxsize=32)
def _negation(language: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_NEGATIONS.get(language, _NEGATIONS['en'])})(?!\w)")
