"""A folder of files to pages: ids, addresses, languages, and what is left out."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from functions.indexing.pages import Skipped
from functions.indexing.sources import folder
from shared.errors import SourceError
from shared.records import Page
from shared.settings import FolderSource, Product, Settings
from tests.indexing.pdf_files import pdf

TEXT = "You can return the product within thirty days of the purchase."


async def read(settings: Settings, **source: Any) -> dict[str, Page | Skipped]:
    changed = settings.sources[0].model_copy(update=source)
    return {page.id: page async for page in folder.pages(changed, settings)}


async def only(settings: Settings, **source: Any) -> Page:
    (page,) = (await read(settings, **source)).values()
    assert isinstance(page, Page), page
    return page


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("guides/start.md", "https://example.com/guides/start/"),
        ("guides/index.md", "https://example.com/guides/"),
        ("_index.md", "https://example.com/"),
        ("a b/ñ.md", "https://example.com/a%20b/%C3%B1/"),
        ("v1.2/notes.html.md", "https://example.com/v1.2/notes.html/"),
    ],
)
async def test_a_page_has_its_path_as_id_and_in_its_address(site, path: str, url: str) -> None:
    page = await only(site({path: TEXT}))
    assert (page.id, page.url, page.source) == (f"pages/{path}", url, "pages")


async def test_a_pdf_is_a_page_and_a_scan_is_told(site) -> None:
    settings = site({"a.md": TEXT})
    (settings.sources[0].path / "b.pdf").write_bytes(pdf([("Returns", 20), (TEXT, 10)]))
    (settings.sources[0].path / "c.pdf").write_bytes(pdf([]))
    found = await read(settings)
    page, scan = found["pages/b.pdf"], found["pages/c.pdf"]
    assert isinstance(page, Page)
    assert (page.title, page.text) == ("Returns", f"# Returns\n\n{TEXT}")
    assert isinstance(scan, Skipped)
    assert scan.failed
    assert "OCR" in scan.reason


async def test_without_base_url_the_page_may_say_its_address(site) -> None:
    settings = site({"a.md": f"---\nurl: https://x.example/a\n---\n{TEXT}"})
    assert (await only(settings, base_url="")).url == "https://x.example/a"
    assert (await only(settings)).url == "https://example.com/a/"


async def test_pages_come_in_the_order_of_their_paths(site) -> None:
    settings = site(dict.fromkeys(("b.md", "a/z.md", "a.md", "c.mdx", "d.txt"), TEXT))
    assert list(await read(settings)) == [f"pages/{p}" for p in ("a/z.md", "a.md", "b.md", "c.mdx", "d.txt")]


async def test_include_and_exclude_choose_the_files(site) -> None:
    settings = site({"a.md": TEXT, "b.txt": TEXT, "drafts/c.md": TEXT, "x.py": TEXT, "deep/er/d.md": TEXT})
    assert set(await read(settings)) == {
        "pages/a.md",
        "pages/b.txt",
        "pages/drafts/c.md",
        "pages/deep/er/d.md",
    }
    assert set(await read(settings, include=("*.md",))) == {"pages/a.md"}
    assert set(await read(settings, exclude=("drafts/**/*", "b.*"))) == {"pages/a.md", "pages/deep/er/d.md"}


async def test_hidden_files_and_packages_are_left_out(site) -> None:
    settings = site({".a.md": TEXT, ".git/b.md": TEXT, "node_modules/p/c.md": TEXT, "d.md": TEXT})
    assert set(await read(settings)) == {"pages/d.md"}


async def test_a_single_file_is_a_source(site, tmp_path: Path) -> None:
    settings = site({"a.md": TEXT, "b.md": TEXT})
    assert set(await read(settings, path=tmp_path / "pages" / "a.md")) == {"pages/a.md"}


async def test_a_missing_folder_is_told(site, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"'pages'.*nowhere"):
        await read(site({}), path=tmp_path / "nowhere")


async def test_a_link_out_of_the_folder_is_a_failure_of_that_page_only(site, tmp_path: Path) -> None:
    settings = site({"a.md": TEXT})
    (tmp_path / "secret.md").write_text("password")
    (tmp_path / "pages" / "out.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "pages" / "within.md").symlink_to(tmp_path / "pages" / "a.md")
    (tmp_path / "pages" / "broken.md").symlink_to(tmp_path / "pages" / "none.md")
    found = await read(settings)
    assert isinstance(found["pages/a.md"], Page)
    assert isinstance(found["pages/within.md"], Page)
    assert found["pages/out.md"] == Skipped(
        id="pages/out.md", reason="the file is a link that leads out of the folder", failed=True
    )
    assert "pages/broken.md" not in found


async def test_a_folder_linked_from_outside_is_not_followed(site, tmp_path: Path) -> None:
    settings = site({"a.md": TEXT})
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.md").write_text(TEXT)
    (tmp_path / "pages" / "linked").symlink_to(tmp_path / "elsewhere")
    assert [id for id, page in (await read(settings)).items() if isinstance(page, Page)] == ["pages/a.md"]


async def test_a_file_that_is_too_large_is_a_failure(site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "MAX_FILE_BYTES", 1024 * 1024)
    found = (await read(site({"a.md": "x" * (1024 * 1024 + 1)})))["pages/a.md"]
    assert isinstance(found, Skipped)
    assert found.failed
    assert "1 MiB" in found.reason


@pytest.mark.parametrize(
    "text",
    [
        f"---\ndraft: true\n---\n{TEXT}",
        f"---\nrobots: noindex\n---\n{TEXT}",
        "---\ntitle: x\n---\n",
        "",
        "***\n\n---",
    ],
    ids=["draft", "noindex", "front matter only", "empty", "no letters"],
)
async def test_pages_that_are_not_for_readers_are_skipped_but_not_failed(site, text: str) -> None:
    (found,) = (await read(site({"a.md": text}))).values()
    assert isinstance(found, Skipped)
    assert not found.failed


async def test_bad_front_matter_fails_that_page_only(site) -> None:
    found = await read(site({"a.md": "---\nx: [\n---\nText", "b.md": TEXT}))
    failed, fine = found["pages/a.md"], found["pages/b.md"]
    assert isinstance(failed, Skipped)
    assert failed.failed
    assert isinstance(fine, Page)


async def test_a_file_in_latin_1_is_read(site) -> None:
    text = "Puede devolver la lámpara en un plazo de treinta días, según la garantía de fábrica española."
    page = await only(site({"a.md": text.encode("latin-1")}))
    assert page.text == text
    assert page.language == "es"


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("a.md", "---\nlang: fr-CA\n---\nText", "fr"),
        ("a.md", "---\nlocale: pt_BR\n---\nText", "pt"),
        ("es/a.md", "Text", "es"),
        ("a.md", TEXT, "en"),
        ("a.md", "Puede devolver el producto en un plazo de treinta días desde la compra.", "es"),
    ],
)
async def test_the_language_is_the_pages_word_else_its_folder_else_what_it_looks_like(
    site, path, text, language
) -> None:
    assert (await only(site({path: text}))).language == language
    assert (await only(site({path: text}), language="it")).language == "it"


async def test_front_matter_sets_what_the_source_does_not_pin(site) -> None:
    front = "---\ntitle: '  A\n  title '\ncategory: Help\nproduct: shop\ntype: faq\ndate: 2024-05-01\n---\n"
    settings = site({"a.md": front + TEXT}, products=(Product(id="shop", name="Shop"),))
    page = await only(settings)
    assert (page.title, page.category, page.product, page.content_type) == ("A title", "Help", "shop", "faq")
    assert page.published_at == datetime(2024, 5, 1, tzinfo=UTC)
    pinned = await only(settings, category="C", product="general", content_type="demo")
    assert (pinned.category, pinned.product, pinned.content_type) == ("C", "general", "demo")


async def test_products_and_types_that_the_site_does_not_have_are_not_invented(site) -> None:
    page = await only(site({"a.md": f"---\nproduct: rocket\ntype: post\n---\n{TEXT}"}))
    assert (page.product, page.content_type) == (None, None)


@pytest.mark.parametrize(
    ("date", "instant"),
    [
        ("2024-05-01", datetime(2024, 5, 1, tzinfo=UTC)),
        ("2024-05-01T10:00:00+02:00", datetime(2024, 5, 1, 8, tzinfo=UTC)),
        ("'2024-05-01'", datetime(2024, 5, 1, tzinfo=UTC)),
        ("soon", None),
        ("20240501.5", None),
    ],
)
async def test_dates_are_instants_in_utc(site, date: str, instant: datetime | None) -> None:
    assert (await only(site({"a.md": f"---\ndate: {date}\n---\n{TEXT}"}))).published_at == instant


@pytest.mark.parametrize(
    ("path", "title"),
    [("getting-started.md", "Getting started"), ("guides/index.md", "Guides"), ("README.md", "Readme")],
)
async def test_without_title_or_heading_the_path_gives_one(site, path: str, title: str) -> None:
    assert (await only(site({path: TEXT}))).title == title


async def test_html_files_are_read_with_their_main_content(site) -> None:
    html = f"<html lang=en><head><title>T</title></head><body><nav>Menu</nav><main><h1>Returns</h1><p>{TEXT}</p></main></body></html>"
    page = await only(site({"a.html": html}))
    assert TEXT in page.text
    assert page.title in {"T", "Returns"}


@pytest.mark.parametrize("robots", ["noindex", "NOINDEX", "nofollow, noindex", "none"])
async def test_an_html_page_with_noindex_is_skipped(site, robots: str) -> None:
    html = f'<html><head><meta name="robots" content="{robots}"></head><body><main><p>{TEXT}</p></main></body></html>'
    (found,) = (await read(site({"a.html": html}))).values()
    assert isinstance(found, Skipped)


@pytest.mark.parametrize(
    ("front", "language", "declared"),
    [("lang: es-MX", "es", True), ("lang: english", "en", False), ("title: x", "en", False)],
)
async def test_a_language_is_taken_from_the_page_where_it_is_a_code(
    tmp_path: Path, front: str, language: str, declared: bool
) -> None:
    body = "The lamp is made of oak and brass, and it gives a warm light for reading in the evening."
    (tmp_path / "a.md").write_text(f"---\n{front}\n---\n{body}")
    settings = Settings(sources=(FolderSource(name="s", kind="folder", path=tmp_path),))
    (page,) = [page async for page in folder.pages(settings.folders[0], settings)]
    assert isinstance(page, Page)
    assert (page.language, page.language_declared) == (language, declared)


async def test_only_web_addresses_become_the_url_of_a_page(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\nurl: javascript:alert(1)\n---\nThe lamp.")
    (tmp_path / "b.md").write_text("---\nurl: https://example.com/b\n---\nThe lamp.")
    settings = Settings(sources=(FolderSource(name="s", kind="folder", path=tmp_path),))
    pages = [page async for page in folder.pages(settings.folders[0], settings)]
    assert [page.url for page in pages if isinstance(page, Page)] == ["", "https://example.com/b"]
