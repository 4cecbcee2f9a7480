"""Words as the full-text index sees them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.analysis import analyse, analyse_query, fold, words

LANGUAGES = ["es", "en", "fr", "de", "pt", "it", "ru", "ar", "tr", "el", "fi", "zh", "ja", "ko", "xx", ""]
TEXT = st.text(max_size=120)


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("es", "instalación", "instalaciones"),
        ("es", "Configuración", "configuracion"),
        ("en", "refunds", "refunded"),
        ("fr", "remboursement", "remboursements"),
        ("de", "Häuser", "häusern"),
        ("pt", "instalações", "instalação"),
        ("ru", "возврата", "возвраты"),
        ("it", "prezzi", "prezzo"),
    ],
)
def test_forms_of_a_word_have_one_stem(language: str, one: str, other: str) -> None:
    assert analyse(one, language) == analyse(other, language)


@pytest.mark.parametrize(
    ("text", "folded"), [("Fábricas", "fabricas"), ("ÑANDÚ", "nandu"), ("Straße", "strasse"), ("ﬁn", "fin")]
)
def test_folding_takes_accents_and_case_away(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize("language", ["xx", "", "zh"])
def test_a_language_without_stemmer_keeps_its_words(language: str) -> None:
    assert analyse("Running éléphants", language) == ["running", "elephants"]


def test_cjk_is_cut_into_overlapping_pairs() -> None:
    assert analyse("東京都", "ja") == ["東京", "京都"]
    assert analyse("水", "zh") == ["水"]
    assert analyse("안녕하세요", "ko") == ["안녕", "녕하", "하세", "세요"]
    assert analyse("Portavoz 支持中文 v2", "zh") == ["portavoz", "支持", "持中", "中文", "v2"]


def test_full_width_letters_are_letters() -> None:
    assert analyse("ＡＰＩ", "en") == analyse("api", "en")


def test_marks_and_blanks_are_no_terms() -> None:
    assert analyse("  —¿?… *() \n", "es") == []


def test_a_question_has_the_stems_of_every_language_of_the_site_once() -> None:
    terms = analyse_query("Instalaciones and refunds", ["es", "en"])
    assert set(terms) == set(analyse("Instalaciones and refunds", "es")) | set(
        analyse("Instalaciones and refunds", "en")
    )
    assert len(terms) == len(set(terms))


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("one two  three\n", 3), ("東京都", 2), ("東京", 1), ("API 支持中文", 3), ("a-b c's", 2)],
)
def test_words_are_counted_also_without_blanks(text: str, count: int) -> None:
    assert words(text) == count


@given(text=TEXT, language=st.sampled_from(LANGUAGES))
def test_terms_are_folded_words_without_blanks(text: str, language: str) -> None:
    for term in analyse(text, language):
        assert term == "".join(term.split())
        assert not any(
            unicodedata.combining(c) for c in unicodedata.normalize("NFD", term) if c in "áéíóúñüàèç"
        )
    assert analyse(text, language) == analyse(text, language)


@given(text=TEXT, language=st.sampled_from(LANGUAGES))
def test_terms_do_not_depend_on_how_accents_are_encoded(text: str, language: str) -> None:
    assert analyse(unicodedata.normalize("NFC", text), language) == analyse(
        unicodedata.normalize("NFD", text), language
    )


@given(one=TEXT, other=TEXT, language=st.sampled_from(LANGUAGES))
def test_terms_of_two_texts_are_the_terms_of_each(one: str, other: str, language: str) -> None:
    assert analyse(f"{one} \n {other}", language) == analyse(one, language) + analyse(other, language)


@given(text=TEXT)
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(one=TEXT, other=TEXT)
def test_words_add_up_up_to_the_rounding_of_cjk(one: str, other: str) -> None:
    assert 0 <= words(one) + words(other) - words(f"{one} {other}") <= 1
