"""Addresses of web pages: one spelling for each page, which site it belongs to, and which pages a source wants."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

# What campaigns, ad networks and mailers add, and what servers add for browsers without cookies. The page is the
# same without; a name that some sites give a meaning to (`ref`, `source`, `id`) is not here.
_NOISE = re.compile(
    r"utm_\w+|mtm_\w+|pk_(?:campaign|kwd|source|medium|content)|hsa_\w+|_hs(?:enc|mi)|__hs\w+|hsctatracking"
    r"|(?:fb|g|dc|y|tt|tw|li_fat_|ms)cl(?:id|kid)|[wg]braid|gad_\w+|gclsrc|srsltid|mc_[ce]id|_g[al]|igshid|_openstat"
    r"|mkt_tok|oly_(?:anon|enc)_id|vero_id|trk_\w+|li_fat_id"
    r"|(?:php|jsp?|asp|j)?sess(?:ion)?_?id|aspsessionid\w*|cf(?:id|token)|osc?sid",
    re.IGNORECASE,
)
_SESSION_IN_PATH = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/?#]*", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}
MAX_LENGTH = 2_000  # characters; what browsers and servers are sure to take, longer ones are traps


def normal(address: str, base: str = "") -> str:
    """The one spelling of a page's address, to compare and to fetch; empty where it is none of the web.

    Without fragment, user name, default port, tracking and session parameters; parameters sorted, percent-encoding
    and dots in the path resolved. Applied twice it changes nothing.
    """
    from w3lib.url import canonicalize_url

    try:
        parts = urlsplit(urljoin(base, address.strip()) if base else address.strip())
        port = parts.port
    except ValueError:  # brackets that are no IPv6 address, a port that is no number
        return ""
    if parts.scheme.lower() not in _PORTS or not parts.hostname or "@" in parts.netloc:
        return ""
    host = parts.hostname.rstrip(".")
    host = f"[{host}]" if ":" in host else host
    host += f":{port}" if port not in {None, _PORTS[parts.scheme.lower()]} else ""
    path = _SESSION_IN_PATH.sub("", parts.path)
    query = "&".join(p for p in parts.query.split("&") if p and not _NOISE.fullmatch(p.split("=")[0]))
    try:
        found = canonicalize_url(SplitResult(parts.scheme.lower(), host, path, query, "").geturl())
        if not {"=", "&"} & set(query) and found.endswith("="):
            found = found[:-1]  # `?123` of old forums is not `?123=` to them
    except (ValueError, UnicodeError):  # a host name that cannot be written in DNS
        return ""
    return found if len(found) <= MAX_LENGTH and urlsplit(found).hostname else ""


def without_fragment(address: str) -> str:
    """The address as it was written, to show to readers."""
    return address.partition("#")[0]


def site_of(address: str) -> str:
    """Host and port; with and without `www.`, by http and https it is the same site."""
    parts = urlsplit(address)
    host = (parts.hostname or "").rstrip(".").removeprefix("www.")
    return host if parts.port in {None, 80, 443} else f"{host}:{parts.port}"


def path_of(address: str) -> str:
    """The path as a reader sees it: percent-encoding resolved."""
    return unquote(urlsplit(address).path) or "/"


def wanted(address: str, include: Sequence[str], exclude: Sequence[str]) -> bool:
    """Whether the patterns of a source want the page at this address."""
    path = path_of(address)
    return (not include or _matches(path, include)) and not _matches(path, exclude)


def _matches(path: str, patterns: Iterable[str]) -> bool:
    return any(_pattern(pattern).fullmatch(path) for pattern in patterns)


@lru_cache(maxsize=256)  # patterns of a deployment: a handful
def _pattern(glob: str) -> re.Pattern[str]:
    """`*` within a folder, `**` over folders, `?` one character; `/docs/**` is `/docs` too."""
    pieces = re.split(r"(/\*\*$|\*\*/|\*\*|\*|\?)", glob)
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "/**": "(?:/.*)?"}
    return re.compile("".join(meaning.get(piece) or re.escape(piece) for piece in pieces))
