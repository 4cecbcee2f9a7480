"""Bytes to text: marks, headers, declarations that lie, and none at all."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.indexing.charset import decoded
from shared.errors import SourceError

ES = "El niño devolvió el artículo; cuesta 5 € según el “catálogo”."
JA = "商品の到着後三十日以内であれば、返品を受け付けます。国内の送料は当社が負担します。"
RU = "Вы можете вернуть товар в течение тридцати дней со дня получения, без указания причины."


@pytest.mark.parametrize(
    ("text", "encoding", "meta", "header"),
    [
        (ES, "utf-8", "", ""), (ES, "utf-8", "iso-8859-1", ""), (ES, "utf-8", "shift_jis", "windows-1252"),
        (ES, "utf-8-sig", "iso-8859-1", "iso-8859-1"), (ES, "utf-16", "utf-8", "utf-8"), (ES, "utf-16-le", "", ""),
        (ES, "utf-16-be", "", ""), (ES, "cp1252", "iso-8859-1", ""), (ES, "cp1252", "", "ISO-8859-1"),
        (ES, "cp1252", "utf-8", ""), (ES, "cp1252", "", "utf-8"), (ES, "cp1252", "us-ascii", ""), (ES, "cp1252", "no-such", "x"),
        (JA, "cp932", "Shift_JIS", ""), (JA, "euc_jp", "", "euc-jp"), (JA, "cp932", "", ""), (JA, "cp932", "utf-16", ""),
        (JA, "iso2022_jp", "iso-2022-jp", ""), (JA, "cp932", "euc-kr", "shift_jis"),
        (RU, "koi8_r", "", ""), (RU, "cp1251", "windows-1251", ""), (RU, "cp1251", "", ""), ("简体中文的退货说明，三十天之内可以退货。", "gb18030", "gb2312", ""),
    ],
)  # fmt: skip
def test_a_page_is_read_without_garbled_letters(text: str, encoding: str, meta: str, header: str) -> None:
    head = (
        f'<head><meta http-equiv="Content-Type" content="text/html; charset={meta}"></head>' if meta else ""
    )
    page = f"<html>{head}<body><p>{text}</p></body></html>"
    assert decoded(page.encode(encoding), header, html=True) == page


@pytest.mark.parametrize(
    "declaration",
    ['<meta charset="koi8-r">', "<META CHARSET='koi8-r' />", '<?xml version="1.0" encoding="koi8-r"?>'],
)
def test_a_declaration_is_found_however_it_is_written(declaration: str) -> None:
    assert RU in decoded(f"{declaration}<p>{RU}</p>".encode("koi8_r"), html=True)


def test_one_damaged_letter_does_not_change_the_encoding_of_a_page() -> None:
    raw = f'<meta charset="utf-8"><p>{ES * 50}</p>'.encode() + b"<p>cut \xc3</p>"
    assert ES in decoded(raw, html=True)


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\ufeff\x00\x1b"), max_size=60))
def test_utf_8_is_utf_8(text: str) -> None:
    assert decoded(text.encode(), "iso-8859-1", html=True) == text


@given(st.binary(max_size=80))
def test_any_bytes_at_all_are_read_or_told(raw: bytes) -> None:
    with suppress(SourceError):  # and nothing else
        assert isinstance(decoded(raw, html=True), str)
