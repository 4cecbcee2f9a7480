"""Markdown, MDX and HTML as a reader sees them."""

from __future__ import annotations

import re
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.indexing.html import html_document
from functions.indexing.markup import clean_markdown, markdown_document
from shared.errors import SourceError


def flat(text: str) -> str:
    return " ".join(clean_markdown(text).split())


@pytest.mark.parametrize(
    ("markup", "seen"),
    [
        ("import X from './x'\nimport { a, b } from \"y\";\nimport './z.css'\n\nText", "Text"),
        ("import {\n  A,\n  B\n} from 'x'\n\nText", "Text"),
        ("export const meta = {\n  a: 1\n}\n\nText", "Text"),
        ("export default function A() {\n  return 1\n}\n\nText", "Text"),
        ('A <Badge text="a > b" count={3} /> B', "A B"),
        ("<Tabs items={['a', {x: 1}]}>\n<Tab>Inside *text*</Tab>\n</Tabs>", "Inside *text*"),
        ("<>\nText\n</>", "Text"),
        ("A<!-- hidden\nnote --> B{/* and\nthis */} C", "A B C"),
        ("A <!-- never closed", "A"),
        ('{{< figure src="x" >}}A{{% note %}} B {{% /note %}}', "A B"),
        (":::tip[Watch *out*]\nBe careful\n:::", "**Watch *out*** Be careful"),
        (":::note\nText\n:::", "Text"),
        ("## Install {#install}", "## Install"),
        ("<script>\nvar x = '<p>'\n</script>A<style>b{}</style>", "A"),
        ('<svg><path d="M0"/></svg>A', "A"),
    ],
)
def test_what_a_reader_does_not_see_is_gone(markup: str, seen: str) -> None:
    assert flat(markup) == seen


@pytest.mark.parametrize(
    "text",
    [
        "import pandas as pd is how it starts.",
        "export your data from the menu.",
        "a < b and c > d, 1 <2",
        "Write to <me@x.example> or <https://x.example/a>.",
        "Use `<Tabs>`, `<!-- more -->`, `{/* x */}`, `import x from 'y'` and ``a ` <b>`` here.",
        "`import x from 'y'`",
        "| a | b |\n|---|---|\n| 1 | 2 |",
    ],
)
def test_prose_and_inline_code_stay(text: str) -> None:
    assert clean_markdown(text) == text


CODE = "import X from './x'\n<Tabs>\n:::tip\n{{< f >}}\n<!-- c -->\n\nexport const a = 1\n# no heading {#x}"


@pytest.mark.parametrize(
    ("opens", "closes"), [("```mdx", "```"), ("~~~", "~~~"), ('````md title="a"', "````"), ("```", "`````")]
)
@pytest.mark.parametrize("indent", ["", "   ", "\t"])
def test_code_blocks_are_left_untouched(opens: str, closes: str, indent: str) -> None:
    block = "\n".join(indent + line if line else "" for line in f"{opens}\n{CODE}\n{closes}".split("\n"))
    text = f"A <b>word</b>\n\n{block}\n\nB <i>word</i>"
    assert clean_markdown(text) == f"A word\n\n{block}\n\nB word"


def test_a_fence_inside_a_longer_fence_does_not_end_it() -> None:
    text = "````md\n```js\n<a/>\n```\n<b/>\n````"
    assert clean_markdown(text) == text


def test_a_fence_that_is_never_closed_goes_to_the_end() -> None:
    assert clean_markdown("<a>x</a>\n```\n<b/>\nend") == "x\n```\n<b/>\nend"


def test_three_backticks_within_a_line_are_no_fence() -> None:
    assert clean_markdown("```inline``` and <b>bold</b>") == "```inline``` and bold"


@given(st.text(alphabet=st.sampled_from("<>{}`~/*-:%\n#[]() aB1\"'=\x00é"), max_size=80))
def test_any_mark_up_at_all_is_cleaned_without_error(text: str) -> None:
    cleaned = clean_markdown(text)
    assert "\x00" not in cleaned or "\x00" in text


@given(st.lists(st.from_regex(r"[a-zA-Zé0-9 ,.]+", fullmatch=True), max_size=5))
def test_plain_text_is_left_as_it_is(paragraphs: list[str]) -> None:
    text = "\n\n".join(paragraphs)
    if not re.search(r"^(import|export)\s", text, re.MULTILINE):
        assert clean_markdown(text) == text


# --- documents -----------------------------------------------------------------------------------


def test_front_matter_gives_title_language_and_the_rest() -> None:
    document = markdown_document("\ufeff---\ntitle: 'A: b'\nlang: es\ncategory: Docs\n---\n# Other\n\nText")
    assert (document.title, document.language, document.meta["category"]) == ("A: b", "es", "Docs")
    assert document.markdown == "# Other\n\nText"


def test_without_a_title_the_first_heading_is_it_but_not_one_in_code() -> None:
    assert markdown_document("```\n# no\n```\n\n# Yes #\n\n# Later").title == "Yes"
    assert markdown_document("Only text").title == ""


def test_a_page_of_front_matter_only_shows_its_description() -> None:
    assert (
        markdown_document("---\ntitle: T\ndescription: All about it.\n---\n{{< list >}}").markdown
        == "All about it."
    )


def test_front_matter_that_is_no_yaml_is_told() -> None:
    with pytest.raises(SourceError, match="not valid YAML"):
        markdown_document("---\ntitle: [a\nb: }\n---\nText")


@pytest.mark.parametrize(
    "raw", ["", "---\n---\n", "---\n- a\n- b\n---\nText", "---\njust text\n---\nText", "---\n"]
)
def test_odd_front_matter_is_read_or_told(raw: str) -> None:
    with suppress(SourceError):  # and nothing else
        markdown_document(raw)


HTML = """<!doctype html><html lang="es-MX"><head><title>Devoluciones – Acme</title>
<meta name="ROBOTS" content="noindex, follow"></head><body><nav><a href="/">Menú principal</a></nav>
<main><article><h1>Devoluciones</h1><p>Puede devolver el producto en un plazo de treinta días desde la compra.</p>
<h2>Plazos</h2><ul><li>uno</li><li>dos</li></ul><table><tr><th>Plan</th><th>Precio</th></tr>
<tr><td>A</td><td>5 €</td></tr></table><pre><code>x = 1\ny = 2</code></pre></article></main>
<footer>Aviso legal y pie</footer></body></html>"""


def test_html_gives_its_main_content_title_and_language() -> None:
    document = html_document(HTML.encode())
    assert document.title == "Devoluciones"
    assert document.language == "es-MX"
    assert document.meta["robots"] == "noindex, follow"
    for part in ("treinta días", "## Plazos", "- uno", "| A | 5 € |", "x = 1\ny = 2"):
        assert part in document.markdown
    assert "Menú" not in document.markdown
    assert "Aviso legal" not in document.markdown


@pytest.mark.parametrize("raw", [b"", b"\x00\x01\x02", b"<html><body></body></html>", b"   "])
def test_html_without_content_is_told(raw: bytes) -> None:
    with pytest.raises(SourceError):
        html_document(raw)


def test_html_in_latin_1_is_read() -> None:
    raw = HTML.replace("<head>", '<head><meta charset="iso-8859-1">').replace("€", "EUR").replace("–", "-")
    assert "treinta días" in html_document(raw.encode("latin-1")).markdown


@pytest.mark.parametrize(
    "hostile",
    [
        "{/* " * 60_000, "{{< " * 60_000, "<a" + " " * 3000 + " {", "<a b={" * 5000, "<a x='" * 5000,
        "import a\n" * 20_000, "<script " * 20_000, "`" * 100_000,
        "".join("`" * (1 + n % 500) + " a " for n in range(3000)),
    ],
    ids=lambda text: text[:6],
)  # fmt: skip
def test_marks_that_are_never_closed_take_linear_time(hostile: str) -> None:
    began = time.process_time()
    markdown_document(hostile)
    assert time.process_time() - began < 5  # each took a minute or more when patterns rescanned to the end


@pytest.mark.parametrize(
    "front",
    [
        "---\ndate: 2024-13-45\n---\n",
        "---\na: [\n---\n",
        "+++\na = \n+++\n",
        "---\n" + "[" * 5000 + "\n---\n",
    ],
)
def test_front_matter_that_cannot_be_read_is_an_error_of_the_page(front: str) -> None:
    with pytest.raises(SourceError, match="front matter"):
        markdown_document(front + "Text")


def test_front_matter_in_toml() -> None:
    page = markdown_document('+++\ntitle = "Lamp"\nlang = "en"\n+++\nA lamp.')
    assert (page.title, page.language, page.markdown.strip()) == ("Lamp", "en", "A lamp.")


def test_a_text_that_opens_with_a_brace_is_text() -> None:
    assert "brace" in markdown_document("{ a brace }\n\ntext").markdown
