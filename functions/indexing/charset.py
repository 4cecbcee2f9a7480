"""Bytes to text: what the file itself says, what its server says, what the page says, else what it looks like.

The order is the one of the HTML standard (encoding sniffing algorithm), but a label that the bytes contradict is not
believed: pages that name a wrong encoding are commoner than pages of one damaged letter.
"""

from __future__ import annotations

import codecs
import re

from shared.errors import SourceError

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META = re.compile(
    rb"<(?:meta|\?xml)\b[^>]{0,500}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE
)
_HEAD = 4096  # bytes in which a declaration is looked for; the standard says 1,024, real pages come later
_SAMPLE = 60_000  # bytes that are guessed from: more changes no guess and takes seconds
# what browsers read for a label: its superset (WHATWG encoding standard)
_SUPERSET = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "big5": "big5hkscs",
    "iso8859-8": "cp1255",
}  # fmt: skip
_UNSURE = "\x80-\x9f\ufffd"  # control characters of C1: what a wrong single-byte table makes


def decoded(raw: bytes, charset: str = "", *, html: bool = False) -> str:
    """The text of a file. `charset` is the one of its HTTP header; `html` also reads the page's own declaration.

    Raises:
        SourceError: it is not text in any known encoding.
    """
    for mark, name in _MARKS:
        if raw.startswith(mark):
            return raw[len(mark) :].decode(name, "replace")
    if html and (wide := _without_mark(raw)):
        return raw.decode(wide, "replace")
    try:
        if b"\x1b$" in raw:  # ISO-2022-JP, the only encoding of the web that is ASCII to the eye
            return raw.decode("iso2022_jp_2")
        return raw.decode("utf-8")  # no other encoding gives valid UTF-8 by chance, whatever the labels say
    except UnicodeDecodeError:
        pass  # not a failure: the labels decide
    declared = _META.search(raw[:_HEAD]) if html else None
    for label in (charset, declared.group(1).decode("ascii", "ignore") if declared else ""):
        text = _as_labelled(raw, label)
        if text is not None:
            return text
    return _guessed(raw)


def _without_mark(raw: bytes) -> str:
    """UTF-16 without a mark shows in the zero bytes of `<` and its neighbours."""
    start = raw[:400]
    if start.count(0) < max(2, len(start) // 4):
        return ""
    return "utf-16-le" if start[1::2].count(0) > start[::2].count(0) else "utf-16-be"


def _as_labelled(raw: bytes, label: str) -> str | None:
    """`raw` by its label; None where there is none, or the bytes contradict it."""
    try:
        name = codecs.lookup(label.strip() or "?").name
    except (LookupError, ValueError):
        return None
    if name.startswith(("utf-16", "utf-32")):
        return None  # seen by its zero bytes, or it is not true
    try:
        return raw.decode(_SUPERSET.get(name, name))
    except UnicodeDecodeError as error:
        text = raw.decode(_SUPERSET.get(name, name), "replace")
        # some cut or damaged letters (UTF-8 pages cut by byte, for instance), not another encoding
        few = max(2, len(text) // 2000)  # one letter in 2,000: twice what cut teasers of news pages show
        return text if name != "ascii" and text.count("\ufffd") <= few and error else None


def _guessed(raw: bytes) -> str:
    """What the bytes most look like; Windows-1252, the web's default, decides a tie."""
    from charset_normalizer import from_bytes

    guesses = from_bytes(raw[:_SAMPLE])
    best = guesses.best()
    if best is None:
        raise SourceError("the file is not text in any known encoding")
    tied = (g for g in guesses if (g.chaos, g.coherence) == (best.chaos, best.coherence))
    name = next((g for g in tied if g.encoding == "cp1252"), best).encoding
    return raw.decode(_SUPERSET.get(codecs.lookup(name).name, name), "replace")
