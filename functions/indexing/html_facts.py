"""What a web page says to those who collect pages: its links, its canonical address, and whether it is a page at all."""

from __future__ import annotations

import re
from typing import Any

from functions.indexing.addresses import normal, site_of
from shared.records import Record

# Files that hold no text for readers. PDF is not here: what becomes of one is decided by its media type.
_ASSET = re.compile(
    r"\.(?:jpe?g|png|gif|webp|avif|svg|ico|bmp|tiff?|mp[34]|m4[av]|ogg|og[av]|wav|flac|webm|mov|avi|mkv|zip|t?gz|bz2|xz"
    r"|7z|rar|tar|exe|msi|dmg|pkg|deb|rpm|apk|iso|css|m?js|json|xml|rss|atom|map|woff2?|ttf|otf|eot|csv|xlsx?|docx?"
    r"|pptx?|od[tsp]|epub|ics|vcf)$",
    re.IGNORECASE,
)
_ROOT_IDS = {
    "root",
    "app",
    "__next",
    "__nuxt",
    "___gatsby",
    "react-root",
    "app-root",
    "ember-app",
    "svelte",
    "q-app",
}
_HIDDEN = ("script", "style", "template", "noscript", "svg", "head")
_LINKS = "//a[@href] | //area[@href] | //link[@href][@hreflang or @rel='next' or @rel='prev']"  # pages only, no assets
_LOWER = "translate(@name, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')"
HARDLY = 200  # letters, some 35 words: less than a header and a footer
REFRESH_WITHIN = 10  # seconds until a refresh: who waits longer shows a page, which reloads itself
FEW_SCRIPTS = 3  # a page of a few words with so many scripts is built by them
SHORT = 1_000  # letters, some 160 words: an error page with its menu; an article about errors is longer
SAME = 5  # distinct words that two answers for missing pages differ in: the address that they repeat

_NOT_FOUND = re.compile(
    r"\b404\b|(?:page|site|content|document)\b.{0,20}\b(?:not (?:be )?found|does(?:n[o']t| not) exist|unavailable)"
    r"|not found|page introuvable|n[’']existe (?:pas|plus)|p[áa]gina no (?:encontrada|existe|disponible)|no se (?:ha )?enc[uo]ntr"
    r"|(?:seite|inhalt) (?:wurde )?(?:leider )?nicht (?:gefunden|vorhanden|verf[üu]gbar)|existiert nicht"
    r"|pagina (?:non|niet) (?:è stata )?(?:trovata|gevonden|esiste)|página não (?:foi )?(?:encontrada|existe)"
    r"|nie (?:została )?znaleziono|strony nie ma|не найдена|не существует|не знайдено|bulunamad[ıi]|sid(?:an|en) (?:hittades|blev|finnes|ble) "
    r"|sivua ei löy|stránka (?:nebyla|neexistuje)|nu a fost găsit|見つかりません|存在しません|找不到|不存在|찾을 수 없",
    re.IGNORECASE,
)


class PageFacts(Record):
    """What was found in the HTML of one page."""

    title: str = ""
    heading: str = ""
    text: str = ""  # all that a reader sees, menus too
    canonical: str = ""  # in its one spelling; empty where there is none of the same site
    robots: frozenset[str] = frozenset()
    links: tuple[str, ...] = ()  # to pages of the same site, in their one spelling, in order
    refresh: str = ""  # another page that the browser is sent to at once
    needs_javascript: bool = False

    @property
    def letters(self) -> int:
        """Letters and digits of the text."""
        return len(re.findall(r"\w", self.text))


def facts_of(html: str, address: str) -> PageFacts:
    """Read the facts from a page's HTML. What cannot be parsed has none."""
    from lxml import etree
    from lxml import html as lxml_html

    try:
        tree = lxml_html.document_fromstring(_DECLARATION.sub("", html, count=1))
    except (etree.ParserError, ValueError):  # no element in it; characters that XML has no place for
        return PageFacts()
    robots = frozenset(
        word
        for content in tree.xpath(f"//meta[{_LOWER}='robots']/@content")
        for word in re.split(r"[\s,]+", content.lower())
        if word
    )
    base = next(iter(tree.xpath("//base/@href")), "")
    base = normal(base, address) or address
    canonical = next(iter(tree.xpath("//link[contains(concat(' ', @rel, ' '), ' canonical ')]/@href")), "")
    canonical = normal(canonical, base) if canonical.strip() else ""
    text = _seen_text(tree)
    refresh = _refresh(tree, base)
    return PageFacts(
        title=_line(tree.xpath("string(//title)")),
        heading=_line(tree.xpath("string(//h1)")),
        text=text,
        canonical=canonical if site_of(canonical) == site_of(address) else "",
        robots=robots,
        links=() if robots & {"nofollow", "none"} else _links(tree, base, site_of(address)),
        refresh=refresh if refresh != normal(address) else "",
        needs_javascript=_needs_javascript(tree, text),
    )


_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")  # lxml refuses text that names an encoding


def is_asset(address: str) -> bool:
    """Whether the address's ending is that of a file without text for readers."""
    return bool(_ASSET.search(address.partition("?")[0]))


def looks_missing(page: PageFacts, missing: PageFacts) -> bool:
    """Whether a page is the site's answer for pages that are not there, which comes with status 200.

    `missing` is that answer, for an address that was made up. A site that answers 404 for it has no such pages.
    """
    words, others = set(page.text.lower().split()), set(missing.text.lower().split())
    if page.title == missing.title and max(len(words - others), len(others - words)) <= SAME:
        return True
    says_so = _NOT_FOUND.search(page.title) or _NOT_FOUND.search(page.heading)
    return bool(says_so) and page.letters < SHORT


def _refresh(tree: Any, base: str) -> str:
    """Where `<meta http-equiv=refresh>` leads: the redirects of sites that are only files."""
    for content in tree.xpath("//meta[translate(@http-equiv, 'REFSH', 'refsh')='refresh']/@content"):
        found = re.fullmatch(
            r"\s*(\d+)\S*\s*[;,]\s*(?:url\s*=)?\s*['\"]?(.+?)['\"]?\s*", content, re.IGNORECASE
        )
        if found and int(found[1]) <= REFRESH_WITHIN:
            return normal(found[2], base)
    return ""


def _seen_text(tree: Any) -> str:
    parts = tree.xpath(
        f"//body//text()[not(ancestor::*[{' or '.join(f'self::{name}' for name in _HIDDEN)}])]"
    )
    return " ".join(" ".join(parts).split())


def _links(tree: Any, base: str, site: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for element in tree.xpath(_LINKS):
        if "nofollow" in (element.get("rel") or "").lower().split() or element.get("download") is not None:
            continue
        address = normal(element.get("href"), base)
        if address and site_of(address) == site and not is_asset(address):
            found[address] = None
    return tuple(found)


def _needs_javascript(tree: Any, text: str) -> bool:
    """Whether a reader without JavaScript sees nothing: hardly any text, and a sign that scripts would bring it."""
    letters = len(re.findall(r"\w", text))
    scripts = len(tree.xpath("//script[@src or not(@type) or @type='module' or @type='text/javascript']"))
    if letters >= HARDLY or not scripts:
        return False
    notice = " ".join(tree.xpath("//noscript//text()")).lower()
    roots = [e for e in tree.iter() if isinstance(e.tag, str) and {e.get("id"), e.tag} & _ROOT_IDS]
    empty = any(not re.search(r"\w", _seen_text_of(root)) for root in roots)
    return empty or "javascript" in notice or (letters < HARDLY / 5 and scripts >= FEW_SCRIPTS)


def _seen_text_of(element: Any) -> str:
    return " ".join(
        element.xpath(f".//text()[not(ancestor::*[{' or '.join(f'self::{n}' for n in _HIDDEN)}])]")
    )


def _line(text: str) -> str:
    return " ".join(text.split())
