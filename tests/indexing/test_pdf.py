"""PDF files as text: headings, paragraphs, whole words, no running heads; what cannot be read is told."""

from __future__ import annotations

import io
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from functions.indexing import pdf as module
from functions.indexing.pdf import pdf_document
from shared.errors import SourceError
from tests.indexing.pdf_files import Lines, pdf

BODY: Lines = [
    ("Returns", 20), ("You may return the product within thirty days of the pur-", 10),
    ("chase, in its box and with all of its parts, at no cost.", 10), ("Costs", 14),
    ("We pay for the parcel within the country, a well-known carrier takes it. A well-", 10),
    ("known shop does the same.", 10), ("• unused", 10), ("• complete", 10),
]  # fmt: skip


def numbered(count: int) -> list[Lines]:
    return [
        [("Acme Corporation – Manual 2026", 8), (f"Page text {n} is about topic{n} and nothing else at all.", 10),
         (f"More of it on page{n}.", 10), (f"Page {n} of {count}", 8)]
        for n in range(1, count + 1)
    ]  # fmt: skip


def test_larger_letters_are_headings_and_lines_are_paragraphs() -> None:
    document = pdf_document(
        pdf(BODY, info="/Title (Return policy) /CreationDate (D:20240131120000Z)", lang="en-GB")
    )
    assert document.markdown.split("\n\n") == [
        "# Returns",
        "You may return the product within thirty days of the purchase, in its box and with all of its parts, at no cost.",
        "## Costs",
        "We pay for the parcel within the country, a well-known carrier takes it. A well-known shop does the same.",
        "- unused",
        "- complete",
    ]
    assert (document.title, document.language) == ("Return policy", "en-GB")
    assert document.meta["published_at"].startswith("2024-01-31T12:00")


@pytest.mark.parametrize("title", ["", "/Title (Microsoft Word - returns.docx)", "/Title (untitled)"])
def test_a_title_that_is_none_is_the_first_heading(title: str) -> None:
    assert pdf_document(pdf(BODY, info=title)).title == "Returns"


def test_running_heads_and_page_numbers_are_left_out() -> None:
    text = pdf_document(pdf(*numbered(5))).markdown
    assert "Manual" not in text
    assert "of 5" not in text
    for n in range(1, 6):
        assert f"topic{n} and nothing else" in text
        assert f"More of it on page{n}." in text


def test_a_line_that_two_pages_share_stays() -> None:
    assert pdf_document(pdf(*numbered(2))).markdown.count("Manual") == 2


def test_a_scan_is_told() -> None:
    with pytest.raises(SourceError, match="OCR"):
        pdf_document(pdf([], []))


def test_an_encrypted_file_is_told_and_one_without_user_password_is_read() -> None:
    from pypdf import PdfReader, PdfWriter

    def locked(user: str) -> bytes:
        writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(BODY))))
        writer.encrypt(user_password=user, owner_password="owner", algorithm="RC4-128")
        out = io.BytesIO()
        writer.write(out)
        return out.getvalue()

    with pytest.raises(SourceError, match="encrypted"):
        pdf_document(locked("secret"))
    assert "thirty days" in pdf_document(locked("")).markdown


def test_a_file_with_too_many_pages_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PDF_PAGES", 3)
    with pytest.raises(SourceError, match="4 pages; at most 3"):
        pdf_document(pdf(*numbered(4)))


@pytest.mark.parametrize("raw", [b"", b"%PDF-1.7", b"<html></html>", b"\x00" * 200])
def test_what_is_no_pdf_is_told(raw: bytes) -> None:
    with pytest.raises(SourceError):
        pdf_document(raw)


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, 1200), junk=st.binary(max_size=12), cut=st.booleans())
def test_a_damaged_file_is_read_or_told(at: int, junk: bytes, cut: bool) -> None:
    raw = pdf(BODY)
    with suppress(SourceError):  # and nothing else
        pdf_document(raw[:at] if cut else raw[:at] + junk + raw[at + len(junk) :])


def test_signs_of_markdown_in_a_pdf_are_text() -> None:
    text = pdf_document(pdf([("# 4 is the number of the house that you are looking for.", 10)])).markdown
    assert text.startswith("\\# 4")
