"""The language of a text."""

from __future__ import annotations

import pytest

from shared.language import detect_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Puede devolver el producto en un plazo de treinta días.", "es"),
        ("You can return the product within thirty days.", "en"),
        ("Vous pouvez retourner le produit sous trente jours.", "fr"),
        ("Sie können das Produkt innerhalb von dreißig Tagen zurückgeben.", "de"),
        ("三十天内可以退货。", "zh"),
        ("Товар можно вернуть в течение тридцати дней.", "ru"),
    ],
)
def test_a_sentence_is_enough(text: str, language: str) -> None:
    code, probability = detect_language(text)
    assert code == language
    assert probability > 0.6


def test_only_the_languages_asked_for_are_considered() -> None:
    assert detect_language("Vous pouvez retourner le produit", ["es", "en"])[0] in {"es", "en"}


def test_codes_that_are_not_known_are_left_out() -> None:
    assert detect_language("You can return it", ["en", "tlh"])[0] == "en"
    assert detect_language("You can return the product within thirty days", ["tlh"])[0] == "en"


@pytest.mark.parametrize("text", ["", "  \n\t"])
def test_no_text_has_no_language(text: str) -> None:
    assert detect_language(text) == ("", 0.0)
