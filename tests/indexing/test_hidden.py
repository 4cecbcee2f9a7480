"""Hidden text of HTML is not read, what a click opens is; characters without a shape are gone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.indexing.hidden import visible
from functions.indexing.html import html_document

SHOWN = (
    "The shop in Hamburg is open from Monday to Friday, from nine in the morning until six in the evening."
)
SECRET = "secret words for machines"


def read(inner: str, style: str = "", body: str = "") -> str:
    page = (
        f"<html lang='en'><head><title>T</title><style>{style}</style></head><body {body}><main><h1>Hours</h1>"
        f"<p>{SHOWN}</p>{inner}</main></body></html>"
    )
    text = html_document(page.encode()).markdown
    assert SHOWN in text
    return text


@pytest.mark.parametrize(
    "attributes",
    [
        "style='display:none'", "style='DISPLAY : NONE !important'", "style='visibility: hidden'", "hidden", "hidden=''",
        "aria-hidden='true'", "style='font-size:0'", "style='font-size: 0px'", "style='font-size:1px'", "style='opacity:0'",
        "style='opacity: 0.0'", "style='position:absolute;left:-9999px'", "style='position:fixed; top:-100em'",
        "style='text-indent:-9999px'", "style='position:absolute;clip:rect(0,0,0,0)'", "style='color:white'",
        "style='color:#FFF'", "style='color: rgb(255, 255, 255)'", "style='color:#000;background:#000'",
        "style='color:transparent'", "style='height:0;overflow:hidden'", "style='clip-path: inset(100%)'",
        "style='transform:scale(0)'", "class='x'", "class='y x'", "id='gone'",
    ],
)  # fmt: skip
@pytest.mark.parametrize("tag", ["p", "div", "span"])
def test_text_that_nobody_can_see_is_not_read(attributes: str, tag: str) -> None:
    rules = "/* c */ .x { opacity: 0; } #gone{font-size:0} @media print { p { color: red } }"
    assert SECRET not in read(f"<{tag} {attributes}>{SECRET}</{tag}>", rules)


@pytest.mark.parametrize(
    "markup",
    [f"<!-- {SECRET} -->", f"<template><p>{SECRET}</p></template>", f"<noscript><p>{SECRET}</p></noscript>",
     f"<script>'{SECRET}'</script>", f"<div style='display:none'><p>a</p><div><b>{SECRET}</b></div></div>"],
)  # fmt: skip
def test_parts_that_are_never_laid_out_are_not_read(markup: str) -> None:
    assert SECRET not in read(markup)


@pytest.mark.parametrize(
    "markup",
    [
        "<details><summary>More</summary><p>{}</p></details>",
        "<details><summary>More</summary><p style='display:none'>{}</p></details>",
        "<button aria-controls='a1'>More</button><div id='a1' hidden><p>{}</p></div>",
        "<a href='#a2'>More</a><div id='a2' style='display:none'><p>{}</p></div>",
        "<button data-bs-target='#a3'>More</button><div id='a3' class='collapse' aria-hidden='true'><p>{}</p></div>",
        "<div role='tabpanel' hidden><p>{}</p></div>",
        "<div hidden='until-found'><p>{}</p></div>",
        "<div class='faq-answer x'><p>{}</p></div>",
        "<div class='accordion-body' style='display:none'><p>{}</p></div>",
        "<div class='hidden'><p>{}</p></div>",
        "<div class='hero' style='color:#fff'><p>{}</p></div>",
        "<div style='background:#003'><p style='color:#fff'>{}</p></div>",
        "<div style=\"background-image:url('a.png')\"><p style='color:#fff'>{}</p></div>",
        "<p style='opacity:0.8;font-size:0.9em;left:-5px'>{}</p>",
        "<p style='font-size: 12px; color: #333'>{}</p>",
    ],
)
def test_what_a_click_opens_and_what_is_only_styled_is_read(markup: str) -> None:
    assert "answer for readers" in read(markup.format("answer for readers"), ".x { display: none }")


def test_a_page_that_a_script_uncovers_is_read() -> None:
    read("", "body { opacity: 0 }", "style='visibility:hidden'")


def test_text_after_a_hidden_part_stays() -> None:
    assert "before after" in " ".join(read("<p>before <span hidden>x</span>after</p>").split())


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\u200bb", "ab"), ("pass\u00adword", "password"), ("\ufefftext", "text"), ("a\u202eb\u202cc", "abc"),
        ("a\u2066b\u2069", "ab"), ("x\U000e0069\U000e0067\U000e006e", "x"), ("a\u200d\u200cb", "ab"), ("a\ufe0f\ufe0fb", "a\ufe0fb"),
        ("a\U000e0100\U000e0101b", "ab"), ("a\x00\x1b\x7fb\x85", "ab"), ("line\nline\ttab", "line\nline\ttab"),
        ("می\u200cخواهم", "می\u200cخواهم"), ("क्\u200dष", "क्\u200dष"), ("می\u200c\u200b\u200c\u200bخ", "میخ"),
        ("👩\u200d💻", "👩\u200d💻"), ("❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"),
        ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"),
        ("葛\U000e0100城", "葛\U000e0100城"), ("é, ñ, ß, 漢字, 한국어, ไทย, עברית", "é, ñ, ß, 漢字, 한국어, ไทย, עברית"),
    ],
)  # fmt: skip
def test_characters_without_a_shape_are_removed_unless_a_script_needs_them(text: str, seen: str) -> None:
    assert visible(text) == seen


@given(st.text(max_size=100))
def test_removing_them_is_finished_after_once_and_takes_nothing_else(text: str) -> None:
    once = visible(text)
    assert all(c in once or not c.isalnum() for c in text)
    assert not set(once) & set("\u200b\u202e\u2066\ufeff\x00")
