"""What a reader does not see: hidden text of HTML, and characters without a shape.

Text that is hidden from readers can still steer a model (Greshake et al.: "Not what you've signed up for", 2023).
Accordions and tabs are hidden too, until a click: what something on the page opens is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from functions.indexing.main_content import remove

if TYPE_CHECKING:
    from lxml.html import HtmlElement

Style = dict[str, str]

_RULE = re.compile(r"([^{}@;]+)\{([^{}]*)\}")
_MEDIA = re.compile(r"@[\w-]+[^{};]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}")  # other screens, print, animations
_SIMPLE = re.compile(r"(?P<tag>[a-z][a-z0-9]*)?(?P<mark>[.#])?(?P<name>[\w-]+)?", re.IGNORECASE)
# class and id words of what a click opens
_OPENS = re.compile(
    r"accordion|collaps|tab(?![a-z])|tabs|panel|faq|answer|toggle|expand|dropdown|reveal|spoiler|details|slide|step",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"^[+-]?0*\.?0*(?:px|em|rem|pt|%|vw|vh)?$")
_FAR = re.compile(
    r"^-\s*(?:\d{4,}|[5-9]\d\d)(?:\.\d+)?(?:px|pt)|^-\s*\d{2,}(?:em|rem)|^-\s*\d{3,}(?:vw|vh|%)"
)
_TINY = 2.0  # px or pt: nobody reads letters of that height
_WHITE = {"white", "#fff", "#ffffff", "rgb(255,255,255)", "rgba(255,255,255,1)"}
_UNPARSED = ".//comment() | .//template | .//noscript | .//script | .//style | .//processing-instruction()"


def remove_hidden(tree: HtmlElement) -> None:
    """Take out of a page what its mark-up, inline styles or plain style rules hide for good."""
    rules = list(_rules("\n".join(tree.xpath(".//style/text()"))))
    for part in tree.xpath(_UNPARSED):
        remove(part)
    opened = _opened(tree)
    styles = {part: _style(part, rules) for part in tree.iter() if isinstance(part.tag, str)}
    for part, style in styles.items():
        if part.tag in {"html", "body", "head", "main", "details"}:
            continue  # shown by a script once it is loaded
        if _never_shown(part, style, styles) or (_closed(part, style) and not _openable(part, opened)):
            remove(part)


def _rules(sheet: str) -> Iterator[tuple[str, str, str, Style]]:
    """(tag, mark, name, style) of rules with one simple selector: `.x`, `#x`, `p.x`."""
    sheet = _MEDIA.sub("", re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL))
    for selectors, body in _RULE.findall(sheet):
        for selector in selectors.split(","):
            match = _SIMPLE.fullmatch(selector.strip())
            if match and match["mark"] and match["name"]:
                yield match["tag"] or "", match["mark"], match["name"], _declared(body)


def _declared(text: str) -> Style:
    pairs = (declaration.partition(":") for declaration in text.lower().split(";"))
    return {name.strip(): value.replace("!important", "").strip() for name, _, value in pairs if value}


def _style(part: HtmlElement, rules: list[tuple[str, str, str, Style]]) -> Style:
    """The rules of the page for an element, then its own; `by-class` where a rule alone says display: none."""
    found: Style = {}
    classes = (part.get("class") or "").split()
    for tag, mark, name, style in rules:
        hit = name in classes if mark == "." else name == part.get("id")
        if hit and tag in {"", part.tag}:
            found |= style
    own = _declared(part.get("style") or "")
    by_class = found.get("display") == "none" and "display" not in own
    return {**found, **own, **({"by-class": "yes"} if by_class else {})}


def _opened(tree: HtmlElement) -> set[str]:
    """Ids that something on the page opens."""
    named = tree.xpath(
        "//@aria-controls | //@data-target | //@data-bs-target | //a/@href[starts-with(., '#')]"
    )
    return {name.lstrip("#") for value in named for name in str(value).split()}


def _openable(part: HtmlElement, opened: set[str]) -> bool:
    """Whether a reader can make it appear: a tab, or the body of an accordion."""
    if part.get("id") in opened or part.get("role") == "tabpanel" or part.get("aria-labelledby"):
        return True
    if part.get("hidden") == "until-found" or any(a.tag == "details" for a in part.iterancestors()):
        return True
    return bool(_OPENS.search(f"{part.get('class') or ''} {part.get('id') or ''}"))


def _closed(part: HtmlElement, style: Style) -> bool:
    """Not shown now; a script may show it."""
    return (
        part.get("hidden") is not None
        or part.get("aria-hidden") == "true"
        or style.get("display") == "none"
        or style.get("visibility") in {"hidden", "collapse"}
        or ("hidden" in style.get("overflow", "") and _is_nothing(style, "height", "max-height", "width"))
    )


def _never_shown(part: HtmlElement, style: Style, styles: dict[HtmlElement, Style]) -> bool:
    """Laid out, but so that nobody can read it."""
    size = re.match(r"([\d.]+)(px|pt)$", style.get("font-size", ""))
    placed = style.get("position") in {"absolute", "fixed"}
    return (
        _is_nothing(style, "font-size", "opacity")
        or bool(size and size[1].strip(".") and float(size[1].strip(".").split("..")[0]) < _TINY)
        or (placed and any(_FAR.match(style.get(side, "")) for side in ("left", "top", "right", "bottom")))
        or bool(_FAR.match(style.get("text-indent", "")))
        or (placed and bool(re.match(r"rect\(\s*[01](?:px)?[\s,]+[01]", style.get("clip", ""))))
        or style.get("clip-path", "").startswith(("inset(50%", "inset(100%", "circle(0"))
        or "scale(0)" in style.get("transform", "")
        or _same_colour(part, style, styles)
    )


def _is_nothing(style: Style, *names: str) -> bool:
    return any(_NOTHING.match(style[name]) is not None for name in names if style.get(name))


def _same_colour(part: HtmlElement, style: Style, styles: dict[HtmlElement, Style]) -> bool:
    """Letters in the colour of their background, as far as the page itself says what that is."""
    colour = style.get("color", "").replace(" ", "")
    if not colour:
        return False
    if colour == "transparent" or re.match(r"rgba\(.*,0?\.?0\)$", colour):
        return "background-clip" not in " ".join(style)  # letters filled with a gradient
    for above in [part, *part.iterancestors()]:
        its = styles.get(above, {})
        if its.get("background-image"):
            return False
        background = (its.get("background-color") or its.get("background") or "").replace(" ", "")
        background = background if background else (above.get("bgcolor") or "").lower()
        if background and background != "transparent":
            return _plain(background) == _plain(colour)
        if above.tag != "body" and above.tag != "html" and (above.get("class") or above.get("id")):
            return False  # an outer style sheet may colour it: white letters on a picture are common
    return _plain(colour) == "white"  # nothing gives it a background: the page's is white


def _plain(colour: str) -> str:
    return "white" if colour in _WHITE else colour


# --- characters ----------------------------------------------------------------------------------

# scripts whose letters change shape at ZWNJ and ZWJ: Arabic and its kin, Mongolian, the Indic ones, Khmer, Myanmar
_JOINING = (
    "\u0600-\u07ff\u0840-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ua840-\ua87f\ufb50-\ufdff\ufe70-\ufefc"
)
_EMOJI = "\u2190-\u2bff\u3030\u303d\U0001f000-\U0001faff\ufe0f"
_INVISIBLE = re.compile(
    "(?P<flag>\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,7}\U000e007f)"  # flags of England, Scotland…
    f"|(?P<join>(?<=[{_JOINING}])[\u200c\u200d](?![\u200b-\u200f])|(?<=[{_EMOJI}])\u200d(?=[{_EMOJI}]))"
    "|(?P<variant>(?<=[^\\s\ufe00-\ufe0f])[\ufe0e\ufe0f]|(?<=[\u3400-\u9fff\U00020000-\U0003ffff])[\U000e0100-\U000e01ef])"
    "|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e01ef"
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)


def visible(text: str) -> str:
    """`text` without characters that have no shape: zero-width, bidirectional overrides, tags, control characters.

    Joiners stay where a script needs them (Persian, Hindi, emoji). What is removed can hide an instruction, or split
    a word so that it is not found (Boucher et al.: "Bad Characters: Imperceptible NLP Attacks", 2022).
    """
    return _INVISIBLE.sub(lambda m: m.group() if m.lastgroup else "", text)
