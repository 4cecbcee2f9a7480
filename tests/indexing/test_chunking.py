"""Pages to chunks: nothing lost, nothing cut that fits, little moved by an edit."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from functions.indexing.blocks import sections
from functions.indexing.chunking import SEPARATOR, _cut, _joined, _tail, chunk_page, digest
from shared.analysis import words
from shared.records import Chunk, Page
from shared.tokens import CHUNK_TOKENS, estimated_tokens

MOST, OVERLAP = 60, 20


def page(text: str, title: str = "The page", language: str = "en") -> Page:
    return Page(id="pages/a.md", source="pages", url="", title=title, text=text, language=language)


def chunks(text: str, most: int = MOST, overlap: int = OVERLAP, **others: str) -> list[Chunk]:
    return chunk_page(page(text, **others), most, overlap)


def pieces(text: str, most: int = MOST) -> list:
    """The units of each chunk without overlap."""
    return [p for s in _joined(sections(text, "en", most)) for p in _cut(s.units, most, most // 3)]


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def prose(count: int, topic: str = "word") -> str:
    """`count` sentences of eight different words each."""
    return " ".join(
        f"{topic.capitalize()} {n} " + " ".join(f"{topic}{n}x{k}" for k in range(6)) + "."
        for n in range(count)
    )


# Markdown of unique words, so that a lost, doubled or moved word shows
@st.composite
def markdown(draw: st.DrawFn) -> str:
    number = 0

    def take(count: int) -> str:
        nonlocal number
        number += count
        return " ".join(f"w{n}" for n in range(number - count, number))

    blocks = []
    for kind in draw(st.lists(st.sampled_from("hhppplctq"), min_size=1, max_size=25)):
        size = draw(st.integers(1, 30))
        if kind == "h":
            blocks.append("#" * draw(st.integers(1, 4)) + " " + take(min(size, 4)))
        elif kind == "p":
            sentences = [take(draw(st.integers(1, 20))).capitalize() + "." for _ in range(1 + size // 8)]
            blocks.append(draw(st.sampled_from([" ", "\n"])).join(sentences))
        elif kind == "l":
            mark = draw(st.sampled_from(["- ", "1. ", "* "]))
            blocks.append("\n".join(mark + take(draw(st.integers(1, 12))) for _ in range(1 + size // 6)))
        elif kind == "c":
            blocks.append("```py\n" + "\n".join(take(4) for _ in range(1 + size // 4)) + "\n```")
        elif kind == "t":
            rows = [
                f"| {take(1)} | {take(1)} |",
                "|---|---|",
                *(f"| {take(1)} | {take(2)} |" for _ in range(1 + size // 3)),
            ]
            blocks.append("\n".join(rows))
        else:
            blocks.append("> " + take(size))
    return "\n\n".join(blocks)


@given(text=markdown())
def test_every_word_is_in_a_chunk_or_in_the_path_of_one(text: str) -> None:
    found = chunks(text)
    kept = Counter(t.casefold() for c in found for t in tokens(f"{c.section} {c.text}"))
    missing = {t.casefold() for t in tokens(text)} - kept.keys() - {"py", "1"}
    assert not missing


@given(text=markdown())
def test_words_stand_in_their_order_and_once_when_nothing_overlaps(text: str) -> None:
    once = " ".join(c.text for c in chunks(text, overlap=0))
    numbers = [int(n) for n in re.findall(r"[wW](\d+)", once)]
    heads = {int(n) for line in re.findall(r"(.*)\n\|---", text) for n in re.findall(r"w(\d+)", line)}
    body = [n for n in numbers if n not in heads]  # the head of a table is repeated
    assert body == sorted(set(body))


@given(text=markdown())
def test_the_same_page_gives_the_same_chunks_numbered_from_zero(text: str) -> None:
    found = chunks(text)
    assert found == chunks(text)
    assert [c.ordinal for c in found] == list(range(len(found)))
    assert len({c.id for c in found}) == len(found)
    for chunk in found:
        assert chunk.id == f"pages/a.md#{chunk.ordinal}-{digest(chunk.text)[:8]}"
        assert chunk.text == chunk.text.strip("\n") != ""


@given(text=markdown(), most=st.integers(40, 120))
def test_a_chunk_has_at_most_its_words_of_its_own(text: str, most: int) -> None:
    for piece in pieces(text, most):
        assert sum(u.size for u in piece) <= most or len(piece) == 1


@given(text=markdown(), most=st.integers(40, 120), share=st.floats(0, 0.5))
def test_the_overlap_is_the_last_whole_units_of_the_chunk_before(text: str, most: int, share: float) -> None:
    overlap = int(most * share)
    with_overlap, without = chunks(text, most, overlap), chunks(text, most, 0)
    assert len(with_overlap) == len(without)  # overlap moves no cut
    for piece in pieces(text, most):
        tail = _tail(piece, overlap)
        assert sum(u.size for u in tail) <= overlap
        assert tail == list(piece)[len(piece) - len(tail) :]
    for full, own, before in zip(with_overlap[1:], without[1:], without, strict=False):
        repeated = [n for n in tokens(full.text) if n not in set(tokens(own.text))]
        assert set(repeated) <= set(tokens(before.text))
        assert own.section == full.section


def test_a_cut_paragraph_goes_on_with_the_last_sentences_of_the_chunk_before() -> None:
    found = chunks(prose(30))
    assert len(found) > 3
    for before, after in pairwise(found):
        first = after.text.split(". ")[0]
        assert first in before.text
        overlap = [s for s in re.split(r"(?<=\.) ", after.text) if s in before.text]
        assert before.text.endswith(" ".join(overlap))
        assert words(" ".join(overlap)) <= OVERLAP


def test_sections_do_not_overlap() -> None:
    found = chunks(f"# One\n\n{prose(5, 'one')}\n\n# Two\n\n{prose(5, 'two')}")
    assert [c.section for c in found] == ["One", "Two"]
    assert "one" not in found[1].text


def test_the_heading_path_is_kept_without_the_title_of_the_page() -> None:
    text = f"# The page\n\n## Install\n\n{prose(4)}\n\n### On Linux\n\n{prose(4, 'linux')}\n\n## Use\n\n{prose(4, 'use')}"
    assert [c.section for c in chunks(text)] == ["Install", f"Install{SEPARATOR}On Linux", "Use"]


def test_short_sections_join_the_next_with_their_headings_in_the_text() -> None:
    found = chunks("# A\n\n## One\n\nYes.\n\n## Two\n\nNo.\n\n## Three\n\nPerhaps.")
    (chunk,) = found
    assert chunk.section == "A"
    for part in ("**One**", "Yes.", "**Two**", "No.", "**Three**", "Perhaps."):
        assert part in chunk.text


def test_a_heading_with_nothing_below_is_not_lost() -> None:
    (chunk,) = chunks("# Coming soon")
    assert "Coming soon" in f"{chunk.section} {chunk.text}"
    assert chunk.text


@pytest.mark.parametrize("text", ["", "   \n\n", "<!-- x -->", "---"])
def test_a_page_without_text_has_no_chunks(text: str) -> None:
    assert chunks(text) == []


def test_a_code_block_that_fits_is_not_cut() -> None:
    code = "```python\n" + "\n".join(f"call_{n}(a, b)" for n in range(12)) + "\n```"
    found = chunks(f"{prose(6)}\n\n{code}\n\n{prose(6, 'after')}")
    assert sum(code in c.text for c in found) >= 1
    assert all(c.text.count("```") % 2 == 0 for c in found)


def test_a_code_block_that_does_not_fit_is_cut_between_lines_and_fenced_again() -> None:
    lines = [f"result_{n} = compute(value_{n}, other_{n})" for n in range(80)]
    found = chunks("```python\n" + "\n".join(lines) + "\n```", overlap=0)
    assert len(found) > 2
    assert [line for c in found for line in c.text.split("\n") if line not in {"```python", "```"}] == lines
    for chunk in found:
        assert chunk.text.startswith("```python\n")
        assert chunk.text.endswith("\n```")


def test_indentation_of_code_is_kept_at_a_cut() -> None:
    lines = [f"    if x_{n}:\n        return compute(value_{n}, other_{n})" for n in range(50)]
    found = chunks("```python\n" + "\n".join(lines) + "\n```", overlap=0)
    kept = [line for c in found for line in c.text.split("\n") if not line.startswith("```")]
    assert kept == "\n".join(lines).split("\n")


def test_list_items_are_not_cut() -> None:
    items = [f"- Item {n} " + " ".join(f"i{n}x{k}" for k in range(10)) for n in range(20)]
    found = chunks("\n".join(items))
    assert len(found) > 2
    for item in items:
        assert any(item in c.text for c in found)


def test_nested_lists_and_code_within_items_stay_with_their_item() -> None:
    (chunk,) = chunks("1. First\n   - inner one\n   - inner two\n\n   ```sh\n   run it\n   ```\n2. Second")
    assert "1. First\n   - inner one\n   - inner two" in chunk.text
    assert "run it" in chunk.text
    assert "2. Second" in chunk.text


def test_a_list_goes_on_counting_where_it_began() -> None:
    (chunk,) = chunks("3. Three\n4. Four")
    assert chunk.text == "3. Three\n4. Four"


def test_table_rows_are_not_cut_and_each_chunk_repeats_the_head() -> None:
    rows = [f"| plan {n} | costs {n} euros for {n} users each month |" for n in range(40)]
    head = "| Plan | Price |\n| --- | --- |"
    found = chunks("\n".join([head, *rows]))
    assert len(found) > 2
    for row in rows:
        assert any(row in c.text.split("\n") for c in found)
    for chunk in found:
        assert chunk.text.count(head) == 1
        assert chunk.text.startswith(head)


def test_a_table_after_text_opens_with_its_head() -> None:
    (chunk,) = chunks("Prices:\n\n| Plan | Price |\n|---|---|\n| Small | 5 |")
    assert chunk.text == "Prices:\n\n| Plan | Price |\n| --- | --- |\n| Small | 5 |"


def test_links_are_their_text_and_images_their_alternative_text() -> None:
    (chunk,) = chunks(
        "See [the *guide*](https://x.example/long) and ![a chart](c.png) with `code`.  \nNext<br>line."
    )
    assert chunk.text == "See the guide and a chart with `code`. Next line."


def test_a_word_longer_than_a_chunk_is_cut_but_kept() -> None:
    text = "x" * 5000
    found = chunks(text, overlap=0)
    assert "".join("".join(c.text.split()) for c in found) == text


def test_cjk_text_without_blanks_is_cut_and_kept() -> None:
    text = "".join(f"これは{n}番目の文です。" for n in range(60))
    found = chunk_page(page(text, language="ja"), MOST, 0)
    assert len(found) > 3
    assert "".join("".join(c.text.split()) for c in found) == text
    assert all(words(c.text) <= MOST for c in found)


def test_cjk_without_any_mark_is_cut_and_kept() -> None:
    text = "漢字" * 800
    found = chunk_page(page(text, language="zh"), MOST, 0)
    assert "".join("".join(c.text.split()) for c in found) == text
    assert all(words(c.text) <= MOST for c in found)


@pytest.mark.parametrize("edited", [0, 40, 99])
@pytest.mark.parametrize("edit", ["change", "insert", "delete"])
def test_an_edit_of_a_long_flat_page_changes_a_few_chunks(edited: int, edit: str) -> None:
    paragraphs = [prose(3, f"p{n}q") for n in range(100)]
    before = {c.text for c in chunks("\n\n".join(paragraphs), 150, 50)}
    if edit == "change":
        paragraphs[edited] = prose(3, "changed")
    elif edit == "insert":
        paragraphs.insert(edited, prose(3, "inserted"))
    else:
        del paragraphs[edited]
    after = {c.text for c in chunks("\n\n".join(paragraphs), 150, 50)}
    assert len(before) > 15
    assert len(after - before) <= 5
    assert len(before - after) <= 5


@given(st.lists(st.text(max_size=30), max_size=4), st.lists(st.text(max_size=30), max_size=4))
def test_digests_of_other_texts_are_other_digests(one: list[str], other: list[str]) -> None:
    same = one == other or "\x1f".join(one) == "\x1f".join(other)
    assert (digest(*one) == digest(*other)) == same


@given(st.text(max_size=400))
def test_any_text_at_all_is_chunked_without_loss_of_letters(text: str) -> None:
    found = chunks(text)
    if not re.search(r"[<>&\[\]\\!(){}`#*_~|:-]", text):  # no Markdown, HTML or entities
        kept = "".join(f"{c.section}{c.text}" for c in found)
        assert set(re.findall(r"[^\W\d_]", text)) <= set(kept)


# --- what a model reads --------------------------------------------------------------------------

DENSE = st.one_of(
    st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=600),
    st.builds(lambda n, k: " ".join(f"https://x.example/{i}/a-b_c?d=%2{k}" for i in range(n)), st.integers(1, 60), st.integers(0, 9)),
    st.builds(lambda rows, cells: "\n".join([
        "|" + " a.b-c/d |" * cells, "|" + "---|" * cells, *("|" + f" `x_{n}.y` |" * cells for n in range(rows))]),
        st.integers(1, 40), st.integers(1, 60)),
    st.builds(lambda n, info: f"```{info}\n" + "\n".join(f"a[{i}]={{'b':{i}*{i}}};" for i in range(n)) + "\n```",
              st.integers(1, 120), st.sampled_from(["", "py", "x" * 500])),
    st.builds(lambda n: "# " + "very long heading " * n, st.integers(1, 300)),
    st.builds(lambda n: "- " + "漢字とかな。" * n, st.integers(1, 300)),
    st.builds(lambda n: "😀" * n, st.integers(1, 500)),
)  # fmt: skip


@settings(max_examples=20)
@given(blocks=st.lists(DENSE, min_size=1, max_size=4), overlap=st.sampled_from([0, 50]))
def test_no_chunk_has_more_tokens_than_a_model_reads(blocks: list[str], overlap: int) -> None:
    text = "\n\n".join(blocks)
    found = chunks(text, 150, overlap)
    assert found == chunks(text, 150, overlap)
    for chunk in found:
        assert estimated_tokens(chunk.text) <= CHUNK_TOKENS + 4  # the fences of a block that was cut


@settings(max_examples=25)
@given(rows=st.integers(1, 60), cells=st.integers(1, 12))
def test_nothing_is_lost_where_tokens_make_the_cut(rows: int, cells: int) -> None:
    lines = [f"| key{n} |" + f" 0x{n:04x}.{n}-{n}/{n} |" * cells for n in range(rows)]
    found = chunks("\n".join(["| h |" + " v |" * cells, "|---|" + "---|" * cells, *lines]), 150, 0)
    assert [line for c in found for line in c.text.split("\n") if line.startswith("| key")] == lines


def test_the_head_of_a_table_that_would_fill_a_chunk_is_written_once() -> None:
    head = "| " + " | ".join(f"column_{n}.name" for n in range(60)) + " |"
    found = chunks("\n".join([head, "|" + "---|" * 60, *("| x" * 60 + " |" for _ in range(9))]), 150, 0)
    assert sum("column_0.name" in c.text for c in found) == 1
    assert all(estimated_tokens(c.text) <= CHUNK_TOKENS for c in found)


def test_a_heading_as_long_as_a_paragraph_is_text() -> None:
    (chunk,) = chunks("## " + prose(6) + "\n\nMore.", 150, 0)
    assert chunk.section == ""
    assert "Word 5" in chunk.text


# --- languages -----------------------------------------------------------------------------------

GERMAN = (
    "Der Kunde kann das Produkt innerhalb von dreißig Tagen nach der Lieferung zurückgeben, wenn es nicht benutzt wurde. "
    "Die Kosten des Versands tragen wir innerhalb des Landes, aus dem Ausland trägt sie der Kunde selbst."
)


def test_prose_of_the_longest_words_is_cut_by_words_only() -> None:
    assert (
        estimated_tokens(" ".join((GERMAN.split() * 6)[:200])) <= CHUNK_TOKENS
    )  # 150 words and 50 of overlap


def languages(text: str, *site: str) -> list[str]:
    return [c.language for c in chunk_page(page(text), 150, 50, site)]


def test_a_chunk_in_another_language_of_the_site_says_so() -> None:
    english = (
        "The customer may return the product within thirty days of delivery if it has not been used at all. "
        * 2
    )
    text = f"# One\n\n{english}\n\n# Zwei\n\n{GERMAN}"
    assert languages(text, "en", "de") == ["", "de"]
    assert languages(text, "en", "fr") == ["", ""]
    assert languages(text, "en") == languages(text) == ["", ""]


@pytest.mark.parametrize(
    "text",
    [
        "Guten Tag, wie geht es Ihnen?",
        "```\n" + GERMAN + "\n```",
        "| a | b |\n|---|---|\n| " + GERMAN + " | x |",
        "Versandkosten Rückgabe Lieferung",
    ],
)
def test_short_texts_code_and_tables_do_not_change_the_language(text: str) -> None:
    assert set(languages(text, "en", "de")) == {""}


def test_a_long_table_of_equal_rows_is_cut() -> None:
    rows = ["| a | b |", "|---|---|", *(["| c | d |"] * 5000)]
    found = chunks("\n".join(rows), 150, 0)
    assert sum(c.text.count("| c | d |") for c in found) == 5000


def test_a_page_that_declares_its_language_may_quote_another() -> None:
    english = (
        "The value of this variable is not set, so the command stops and prints what is missing from it. " * 3
    )
    page = Page(id="s/a", source="s", url="", title="T", text=english, language="es", language_declared=True)
    assert {chunk.language for chunk in chunk_page(page, 150, 50, ["en", "es"])} == {""}
    detected = page.model_copy(update={"language_declared": False})
    assert {chunk.language for chunk in chunk_page(detected, 150, 50, ["en", "es"])} == {"en"}
