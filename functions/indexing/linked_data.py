"""JSON-LD of a page (schema.org): dates and language, and the few facts that some pages show by script only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MAX_FACTS = 50  # questions of one page; more is a list made for search engines


def linked_data(tree: HtmlElement) -> list[dict[str, Any]]:
    """All objects of a page's JSON-LD blocks, outer ones first; a block that is not JSON says nothing."""
    found: list[dict[str, Any]] = []
    for block in tree.xpath("//script[@type='application/ld+json']/text()"):
        try:
            found += _objects(json.loads(block.strip().rstrip(";"), strict=False))
        except (json.JSONDecodeError, RecursionError):
            continue  # written by hand or by a broken template: the page's text is still good
    return found


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for entry in value:
            yield from _objects(entry)
    elif isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner)


def facts(data: list[dict[str, Any]], text: str) -> str:
    """`text` with prices, availability and answers that the page states in JSON-LD but not in its text."""
    shown = _squeezed(text)
    added = []
    for entry in data:
        kinds = entry.get("@type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if "Product" in kinds and (line := _offer(entry, shown)):
            added.append(line)
        elif "Question" in kinds and (answer := _answer(entry, shown)):
            added.append(answer)
    return "\n\n".join([text, *list(dict.fromkeys(added))[:MAX_FACTS]])


def _offer(product: dict[str, Any], shown: str) -> str:
    """`Name: 89.90 EUR (in stock)`; empty where the text already has the price."""
    offers = product.get("offers")
    offer = offers[0] if isinstance(offers, list) and offers else offers
    if not isinstance(offer, dict):
        return ""
    price = str(offer.get("price") or offer.get("lowPrice") or "")
    amount = re.sub(r"[.,]0+$", "", price)
    if not re.fullmatch(r"[\d.,]{1,12}", price) or any(
        p in shown for p in (_squeezed(amount), _squeezed(amount.replace(".", ",")))
    ):
        return ""
    stock = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(offer.get("availability") or "").rpartition("/")[2])
    line = f"{_plain(product.get('name'))}: {price} {_plain(offer.get('priceCurrency'))}".strip(": ")
    return f"{line} ({stock.lower()})" if stock else line


def _answer(question: dict[str, Any], shown: str) -> str:
    answer = question.get("acceptedAnswer")
    answer = answer[0] if isinstance(answer, list) and answer else answer
    asked, said = _plain(question.get("name")), _plain(answer.get("text") if isinstance(answer, dict) else "")
    # the start of the answer: its end may be cut or linked otherwise on the page
    return f"#### {asked}\n\n{said}" if asked and said and _squeezed(said)[:40] not in shown else ""


def _plain(value: Any) -> str:
    """A value as one line of text, without mark-up."""
    text = value if isinstance(value, str) else ""
    if "<" in text:
        from lxml import html

        spaced = re.sub(r"(?=</?(?:p|br|li|div|ul|ol|h\d)\b)", " ", text)
        text = "".join(html.fragment_fromstring(spaced, create_parent=True).itertext())
    return " ".join(text.split())


def _squeezed(text: str) -> str:
    return re.sub(r"[^\w.,]+", "", text.casefold())
