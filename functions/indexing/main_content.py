"""The part of an HTML page that is its content, as Markdown.

A page that marks its content (`main`, one `article`) is believed, and only what is navigation within is left out.
Any other page is judged by trafilatura (Barbaresi: "Trafilatura: A Web Scraping Library and Command-Line Tool for
Text Discovery and Extraction", ACL 2021). Measured by tests/benchmarks/extraction.py.
"""

from __future__ import annotations

import re
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from shared.analysis import words

if TYPE_CHECKING:
    from lxml.html import HtmlElement

LANDMARKS = ("//main | //*[@role='main']", "//article", "//*[@itemprop='articleBody' or @id='content']")
LEAST_WORDS = 8  # a landmark with less is a frame that a script fills
# a landmark with less than this share of what trafilatura finds is one teaser among many, or an empty frame
LEAST_SHARE = 0.5
ENOUGH = 200  # words: a landmark of so many is the content, whatever else there is
MOST_LOST = (
    0.8  # of a small page without landmarks: where trafilatura drops more, all but the navigation is content
)
_CHROME = (
    ".//nav | .//footer | .//aside[not(ancestor::*[contains(@class,'content')])] | .//form[not(.//table)] | .//dialog"
    " | .//script | .//style | .//iframe | .//svg | .//object | .//select | .//textarea | .//input"
    " | .//*[@role='navigation' or @role='search' or @role='dialog' or @role='alertdialog' or @role='banner'"
    " or @role='contentinfo' or @role='complementary' or @role='menu' or @role='menubar']"
)
# class and id words of what surrounds content; whole words, so that `share` is not found in `shareholders`
_CHROME_WORDS = re.compile(
    r"(?<![a-z])(?:breadcrumbs?|cookie[s]?(?:[-_](?:banner|consent|notice|bar))|consent[-_]banner|pagination|pager|toc"
    r"|table[-_]of[-_]contents|share[-_]?(?:bar|buttons|links)|social[-_](?:links|share|media)|skip[-_](?:link|to[-_]content)"
    r"|related[-_](?:posts|articles|products)|newsletter|edit[-_]?(?:this[-_])?page|headerlink|anchor[-_]?link"
    r"|mw-editsection|navbox|catlinks|printfooter|mw-jump-link|sidebar)(?![a-z])"
)
_HEADINGS = "self::h1 or self::h2 or self::h3 or self::h4 or self::h5 or self::h6"
_LAYOUT = f".//table[.//table or .//*[{_HEADINGS}] or .//pre or .//ul or count(.//td | .//th) < 2]"
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|highlight|brush:)[-:\s]?([\w+#-]+)")


def main_content(tree: HtmlElement) -> str:
    """The content of a page as Markdown; empty where there is none. `tree` is changed."""
    found = landmark(tree)
    marked = to_markdown(found) if found is not None else ""
    if words(marked) >= ENOUGH:
        return marked
    for header in tree.xpath("//body//header[.//nav or count(.//a) > 3]"):
        remove(header)
    body = next(iter(tree.xpath("//body")), tree)
    without_chrome(body)
    guessed = by_trafilatura(tree)
    if words(marked) >= LEAST_WORDS and words(marked) >= LEAST_SHARE * words(guessed):
        return marked
    whole = to_markdown(body)
    small = words(whole) <= ENOUGH and words(guessed) < MOST_LOST * words(whole)
    return whole if small else guessed


def landmark(tree: HtmlElement) -> HtmlElement | None:
    """The one element that the page marks as its content, without the navigation in it."""
    for query in LANDMARKS:
        found = [e for e in tree.xpath(query) if not e.xpath("ancestor::main | ancestor::article")]
        if len(found) == 1:
            return without_chrome(deepcopy(found[0]))
    return None


def without_chrome(element: HtmlElement) -> HtmlElement:
    """`element` without navigation, forms, banners and what its class names as surroundings."""
    for part in element.xpath(_CHROME):
        remove(part)
    for part in element.xpath(".//*[@class or @id]"):
        named = f"{part.get('class') or ''} {part.get('id') or ''}".lower()
        if _CHROME_WORDS.search(named) and part.tag not in {"body", "main", "article", "pre", "code"}:
            remove(part)
    return element


def remove(element: HtmlElement) -> None:
    """Take `element` out of its tree; the text after it stays."""
    if element.getparent() is not None:
        element.drop_tree()


def by_trafilatura(tree: HtmlElement) -> str:
    """Main content as trafilatura judges it, with code blocks as they stand in the page."""
    import trafilatura

    text = trafilatura.extract(
        deepcopy(tree), output_format="markdown", include_tables=True, include_links=False, include_comments=False,
        fast=True, deduplicate=False,
    )  # fmt: skip
    return str(text or "")


def to_markdown(element: HtmlElement) -> str:
    """An element as Markdown: headings, lists, tables and code keep their marks, links are their text."""
    from lxml import html
    from markdownify import ATX, markdownify

    _plain_tables(element)
    _plain_lists(element)
    text = markdownify(
        html.tostring(element, encoding="unicode", with_tail=False),
        heading_style=ATX, bullets="-", strip=["a", "img", "button", "label"], code_language_callback=code_language,
        escape_misc=False, table_infer_header=True, newline_style="backslash",
    )  # fmt: skip
    lines = [line.rstrip() for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def code_language(pre: Any) -> str:
    """The language that a highlighter's class names, on the block, within it or around it (markdownify's callback)."""
    for element in (pre, pre.find("code"), pre.parent, pre.parent and pre.parent.parent):
        if element is None:
            continue
        named = element.get("data-lang") or element.get("data-language")
        match = _LANGUAGE.search(" ".join(element.get("class") or []))
        if named or match:
            return str(named or (match and match.group(1)) or "")
    return ""


def _plain_tables(element: HtmlElement) -> None:
    """Tables that only lay out a page become blocks: Markdown cells hold neither headings nor tables."""
    for table in element.xpath(_LAYOUT):
        for part in [table, *table.xpath(".//tr | .//td | .//th | .//tbody | .//thead")]:
            owner = next(part.iterancestors("table"), None) if part is not table else table
            if owner is table:
                part.tag = "div"


def _plain_lists(element: HtmlElement) -> None:
    """Terms in bold, definitions below; the questions of an accordion as headings of the fourth level."""
    for part in element.xpath(".//dt | .//dd | .//summary"):
        if part.tag == "summary" and not part.xpath(f".//*[{_HEADINGS}]"):
            part.tag = "h4"
        elif part.tag == "dt":
            part.tag = "strong"
            part.tail = ""
            wrap = part.makeelement("p")
            part.getparent().replace(part, wrap)
            wrap.append(part)
        elif part.tag == "dd":
            part.tag = "div"
