"""HTML pages as Markdown of their content, with what they say about themselves."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from functions.indexing.html import html_document
from shared.errors import SourceError
from tests.indexing.html_pages import PAGES, PRODUCT, Made

TEXT = "The shop in Hamburg is open from Monday to Friday, from nine in the morning until six in the evening."


def page(head: str = "", body: str = f"<main><h1>Hours</h1><p>{TEXT}</p></main>", html: str = "") -> bytes:
    return f"<!doctype html><html {html}><head>{head}</head><body>{body}</body></html>".encode()


@pytest.mark.parametrize("made", PAGES, ids=lambda made: made.name)
def test_pages_of_all_kinds_are_read(made: Made) -> None:
    text = html_document(made.raw, made.charset).markdown
    for part in made.must:
        assert part in text
    for part in made.must_not:
        assert part not in text
    assert "\ufffd" not in text


def markdown(body: str) -> str:
    return html_document(page(body=f"<main><p>{TEXT}</p>{body}</main>")).markdown


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("<h3>Deep</h3>", "### Deep"),
        ("<ul><li>one<ul><li>inner</li></ul></li></ul>", "- one\n  - inner"),
        ("<ol start='3'><li>three</li><li>four</li></ol>", "3. three\n4. four"),
        ("<pre><code class='language-js'>if (a) {\n  b()\n}</code></pre>", "```js\nif (a) {\n  b()\n}\n```"),
        ("<div class='highlight-source-python'><pre>def f():\n    pass</pre></div>", "```python\ndef f():\n    pass\n```"),
        ("<pre data-lang='go'><span>x</span> := 1</pre>", "```go\nx := 1\n```"),
        ("<p>See <a href='/x'>the <b>guide</b></a>.</p>", "See the **guide**."),
        ("<p>Set <code>A_B</code> to snake_case_name.</p>", "Set `A_B` to snake\\_case\\_name."),
        ("<table><tr><td>a</td><td>b|c</td></tr><tr><td>1</td><td>2</td></tr></table>", "| 1 | 2 |"),
        ("<dl><dt>Term</dt><dd>Meaning of it.</dd></dl>", "**Term**\n\nMeaning of it."),
    ],
)  # fmt: skip
def test_marks_are_kept_as_markdown(body: str, seen: str) -> None:
    assert seen in markdown(body)


def test_the_head_says_description_address_and_dates() -> None:
    head = """<title>Hours | Acme</title><meta name="Description" content="When we are open.">
    <link rel="canonical" href="https://acme.example/hours"><meta property="article:modified_time" content="2024-03-02T10:00:00Z">
    <script type="application/ld+json">{"@graph": [{"@type": "Article", "headline": "H", "datePublished": "2024-01-31",
    "dateModified": "2020-01-01", "inLanguage": "de-AT"}]}</script>"""
    document = html_document(page(head))
    assert document.language == "de-AT"
    assert document.meta["description"] == "When we are open."
    assert document.meta["canonical"] == "https://acme.example/hours"
    assert document.meta["published_at"] == "2024-01-31"
    assert document.meta["modified_at"] == "2024-03-02T10:00:00Z"


@pytest.mark.parametrize(
    ("html", "head", "language"),
    [
        ("lang='es-MX'", "<meta property='og:locale' content='en_US'>", "es-MX"),
        ("xml:lang='fr'", "", "fr"),
        ("", "<meta http-equiv='Content-Language' content='pt'>", "pt"),
        ("lang=''", "<meta property='og:locale' content='it_IT'>", "it_IT"),
        ("lang='{{ lang }}'", "", ""),
    ],
)
def test_the_language_is_the_one_that_the_page_says(html: str, head: str, language: str) -> None:
    assert html_document(page(head, html=html)).language == language


@pytest.mark.parametrize("href", ["/relative", "javascript:alert(1)", ""])
def test_an_address_that_is_none_is_left_out(href: str) -> None:
    assert "canonical" not in html_document(page(f"<link rel='canonical' href='{href}'>")).meta


def test_a_price_that_only_the_data_have_is_added() -> None:
    assert html_document(PRODUCT.encode()).markdown.endswith("Trail Shoe: 89.90 EUR (in stock)")
    shown = PRODUCT.replace("<dl>", "<p>Price: 89,90 €</p><dl>")
    assert "EUR" not in html_document(shown.encode()).markdown


def test_answers_that_only_the_data_have_are_added() -> None:
    entries = [
        {"@type": "Question", "name": name, "acceptedAnswer": {"@type": "Answer", "text": text}}
        for name, text in (("When?", TEXT), ("And on <b>Sundays</b>?", "<p>Closed &amp; quiet.</p>"))
    ]
    data = json.dumps({"@type": "FAQPage", "mainEntity": entries})
    text = html_document(page(f"<script type='application/ld+json'>{data}</script>")).markdown
    assert text.count(TEXT) == 1
    assert text.endswith("#### And on Sundays?\n\nClosed & quiet.")


@pytest.mark.parametrize(
    "data", ["{", "[]", "null", "{'a': 1}", '{"@type": "Product", "offers": [3]}', '{"@type": ["Product"]}']
)
def test_odd_data_do_no_harm(data: str) -> None:
    assert TEXT in html_document(page(f"<script type='application/ld+json'>{data}</script>")).markdown


def test_a_page_nested_without_end_is_told() -> None:
    with pytest.raises(SourceError, match="levels"):
        html_document(page(body="<div>" * 2000 + TEXT))


def test_teasers_are_not_taken_for_the_content() -> None:
    body = "".join(
        f"<article><h2>Story {n}</h2><p>{TEXT} Story number {n} is told here.</p></article>" for n in range(5)
    )
    text = html_document(page(body=body)).markdown
    assert all(f"Story number {n}" in text for n in range(5))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(["<p>", "</p>", "<table>", "<tr><td>", "</table>", "<dl><dt>", "<dd>", "<main>", "</main>", "<pre>",
       "</pre>", "<li>", "<details><summary>", "</details>", "some text ", "é漢 ", "<h1>", "</h1>", "<!--", "-->", "&amp;", "<nav>"]), max_size=25))  # fmt: skip
def test_any_mark_up_is_read_or_told(parts: list[str]) -> None:
    with suppress(SourceError):  # and nothing else
        assert html_document("".join(parts).encode()).markdown
