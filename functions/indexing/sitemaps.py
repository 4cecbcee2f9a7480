"""Sitemaps as sites write them: XML, indexes of sitemaps, plain text, gzip, and feeds used as sitemaps."""

from __future__ import annotations

import re
import zlib
from typing import Any

from functions.indexing.addresses import normal
from shared.errors import SourceError
from shared.records import Record

MAX_BYTES = 50 * 2**20  # what the sitemap protocol allows for one file, decompressed
_GZIP = b"\x1f\x8b"
_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)


class Entry(Record):
    """A page that a sitemap lists."""

    url: str  # in its one spelling
    modified: str = ""  # as written; ISO dates sort as text, others only make the order worse


class Sitemap(Record):
    """What one file lists. `damaged`: it was readable in part, so what it does not list is not gone."""

    entries: tuple[Entry, ...] = ()
    children: tuple[str, ...] = ()  # other sitemaps
    damaged: bool = False


def parse_sitemap(body: bytes, address: str) -> Sitemap:
    """What a sitemap lists, in its order, each address once.

    Raises:
        SourceError: it is no sitemap, or is larger than the protocol allows.
    """
    for _ in range(2):  # a .gz file that the server compressed once more
        if body.startswith(_GZIP):
            body = _decompressed(body, address)
    if not body.strip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"):
        raise SourceError(f"the sitemap {address} is empty")
    if not _looks_like_xml(body):
        return _text(body, address)
    root, damaged = _tree(body, address)
    name = _local(root)
    if name == "sitemapindex":
        found = [entry.url for entry in _listed(root, "sitemap", address)]
        return Sitemap(children=tuple(dict.fromkeys(found)), damaged=damaged)
    if name == "urlset":
        entries: dict[str, Entry] = {}
        for entry in _listed(root, "url", address):
            entries.setdefault(entry.url, entry)
        return Sitemap(entries=tuple(entries.values()), damaged=damaged)
    if name.lower() in {"rss", "feed", "rdf"}:
        return _feed(body, address)
    raise SourceError(f"{address} is no sitemap: its root element is <{name}>")


def _decompressed(body: bytes, address: str) -> bytes:
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        text = inflate.decompress(body, MAX_BYTES)
    except zlib.error as error:
        raise SourceError(f"the sitemap {address} is not valid gzip: {error}") from error
    if inflate.unconsumed_tail:
        raise SourceError(f"the sitemap {address} is larger than {MAX_BYTES // 2**20} MiB")
    if not inflate.eof:
        raise SourceError(f"the sitemap {address} breaks off")
    return text


def _looks_like_xml(body: bytes) -> bool:
    return body[:200].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").startswith(b"<")


def _tree(body: bytes, address: str) -> tuple[Any, bool]:
    """The root element, and whether the file had to be repaired. Entities are not resolved: they may be bombs."""
    from lxml import etree

    safe = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
    body = body.lstrip()  # PHP puts empty lines before the declaration
    try:
        return etree.fromstring(body, etree.XMLParser(**safe)), False
    except etree.XMLSyntaxError as error:
        root = etree.fromstring(body, etree.XMLParser(recover=True, **safe))
        if root is None:
            raise SourceError(f"the sitemap {address} is not valid XML: {error}") from error
        return root, True


def _local(element: Any) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _listed(root: Any, item: str, address: str) -> list[Entry]:
    """The addresses of all items, whatever namespace they are in; those of images and videos are not pages."""
    entries = []
    for element in root.iter(f"{{*}}{item}"):
        namespace = element.tag.rpartition("}")[0]
        modified, pages = "", []
        for child in element:
            name = _local(child)
            if name == "loc" and child.tag.rpartition("}")[0] == namespace:
                pages.append("".join(child.itertext()))
            elif name == "lastmod":
                modified = (child.text or "").strip()
            elif name == "link" and child.get("rel") == "alternate" and child.get("href"):
                pages.append(child.get("href"))  # the page in another language
        if not pages and not len(element):  # without <loc>, as one shop system writes its index
            pages.append(element.text or "")
        urls = (normal(page, address) for page in pages if page.strip())
        entries += [Entry(url=url, modified=modified) for url in urls if url]
    return entries


def _text(body: bytes, address: str) -> Sitemap:
    """One address a line. A first line that is none shows that the file is something else."""
    wide = body.startswith((b"\xff\xfe", b"\xfe\xff"))
    lines = body.decode("utf-16" if wide else "utf-8", "replace").lstrip("\ufeff").splitlines()
    lines = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not lines or not _ADDRESS.fullmatch(lines[0]):
        raise SourceError(f"{address} is no sitemap: neither XML nor a list of addresses")
    urls = dict.fromkeys(normal(line) for line in lines)
    return Sitemap(entries=tuple(Entry(url=url) for url in urls if url))


def _feed(body: bytes, address: str) -> Sitemap:
    from functions.indexing.feeds import parse_feed

    entries = {
        e.url: Entry(url=normal(e.url), modified=e.updated) for e in parse_feed(body, address) if e.url
    }
    return Sitemap(entries=tuple(entry for entry in entries.values() if entry.url))
