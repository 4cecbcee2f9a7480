"""Markdown and MDX files to clean Markdown with their metadata."""

from __future__ import annotations

import bisect
import re
import tomllib
from collections.abc import Callable
from typing import Any

from functions.indexing.html import html_document as html_document
from functions.indexing.pages import LANGUAGE_KEYS, Document
from shared.errors import SourceError

LEAD_KEYS = ("description", "summary", "deck", "excerpt", "lead")
# indented as in a list item or a component; a backtick fence has no backtick in its info string
_FENCE = re.compile(
    r"^[ \t]*(?P<fence>`{3,}(?=[^`\n]*$)|~{3,}).*?(?:^[ \t]*(?P=fence)[`~]*\s*$|\Z)", re.MULTILINE | re.DOTALL
)
_TOML = re.compile(r"\+\+\+[ \t]*\n(?P<front>.*?)^\+\+\+[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_TICKS = re.compile(r"`+")
_IMPORT = re.compile(
    r"^(?:import\s(?:[^;'\"]{0,600}?\sfrom\s*)?['\"][^'\"\n]+['\"];?[ \t]*$|export\s+(?:default|const|let|function)\b.*?(?:\n\s*\n|\Z))",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_SCRIPT = re.compile(r"<(script|style|svg|template|noscript)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
# a tag may carry JSX attributes: name={…} with braces one level deep, quoted strings with > in them
_TAG = re.compile(
    r"</?[A-Za-z][\w.:-]*+(?>\s(?>[^<>{}\"']++|\"[^\"]*+\"|'[^']*+'|\{(?>[^{}]++|\{[^{}]*+\})*+\})*+)?+>|</?>"
)
_SHORTCODE_OPENS, _SHORTCODE_CLOSES = ("{{<", "{{%"), (">}}", "%}}")
_DIRECTIVE = re.compile(r"^[ \t]*:::+[ \t]*(?:\w+)?(?:\[(?P<title>[^\]\n]*)\])?[^\n]*$", re.MULTILINE)
_HEADING_ID = re.compile(r"[ \t]*\{#[\w-]+\}[ \t]*$", re.MULTILINE)


def markdown_document(raw: str) -> Document:
    """Front matter and clean Markdown of a Markdown or MDX file.

    Raises:
        SourceError: the front matter is not valid YAML or TOML.
    """
    meta, content = _front_matter(raw.lstrip("\ufeff"))
    markdown = clean_markdown(content)
    if not re.search(
        r"\w", markdown
    ):  # list pages of Hugo and others: what is shown stands in the front matter
        markdown = next((str(meta[k]) for k in LEAD_KEYS if meta.get(k)), "")
    heading = re.search(r"^#\s+(.+?)\s*#*$", _FENCE.sub("", markdown), re.MULTILINE)
    return Document(
        markdown=markdown,
        title=str(meta.get("title") or (heading.group(1) if heading else "")),
        language=str(next((meta[k] for k in LANGUAGE_KEYS if isinstance(meta.get(k), str)), "")),
        meta=meta,
    )


def _front_matter(raw: str) -> tuple[dict[str, Any], str]:
    """Front matter between `---` (YAML) or `+++` (TOML), and what follows it."""
    import frontmatter
    import yaml
    from frontmatter.default_handlers import YAMLHandler

    toml = _TOML.match(raw)
    try:
        if toml:
            return tomllib.loads(toml["front"]), raw[toml.end() :]
        post = frontmatter.loads(raw, handler=YAMLHandler())
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date such as 2024-13-45 is a ValueError
        kind = "TOML" if toml else "YAML"
        raise SourceError(f"the front matter is not valid {kind}: {' '.join(str(error).split())}") from error
    return post.metadata, post.content


def clean_markdown(text: str) -> str:
    """What a reader sees: no imports, comments, component tags, shortcodes or directive marks; code untouched."""
    pieces, end = [], 0
    for fence in _FENCE.finditer(text):
        pieces += [_clean_prose(text[end : fence.start()]), fence.group()]
        end = fence.end()
    return "".join([*pieces, _clean_prose(text[end:])])


def _clean_prose(text: str) -> str:
    kept: list[str] = []

    def keep(code: str) -> str:
        kept.append(code)
        return f"\x00{len(kept) - 1}\x00"

    text = _each_inline_code(text.replace("\x00", ""), keep)
    text = _IMPORT.sub("", _between(_COMMENT.sub("", text), "{/*", "*/}"))
    text = _DIRECTIVE.sub(lambda m: f"\n**{m['title']}**\n" if m["title"] else "", text)
    for opens, closes in zip(_SHORTCODE_OPENS, _SHORTCODE_CLOSES, strict=True):
        text = _between(text, opens, closes)
    text = _TAG.sub("", _SCRIPT.sub("", text))
    text = _HEADING_ID.sub("", text)
    return re.sub(r"\x00(\d+)\x00", lambda m: kept[int(m.group(1))], text)


def _between(text: str, opens: str, closes: str) -> str:
    """`text` without what stands between the marks; an opening mark that is never closed is text."""
    pieces, at = [], 0
    while (start := text.find(opens, at)) >= 0 and (end := text.find(closes, start + len(opens))) >= 0:
        pieces.append(text[at:start])
        at = end + len(closes)
    return "".join([*pieces, text[at:]])


def _each_inline_code(text: str, change: Callable[[str], str]) -> str:
    """Inline code, from a run of backticks to the next run as long within the paragraph, through `change`.

    One pass from the end finds for each run the next of its length, so that thousands of unclosed ones cost nothing.
    """
    runs = list(_TICKS.finditer(text))
    breaks = [match.start() for match in re.finditer(r"\n[ \t]*\n", text)]
    closing: dict[int, re.Match[str]] = {}
    following: dict[int, re.Match[str]] = {}
    for run in reversed(runs):
        length = len(run.group())
        if length in following:
            closing[run.start()] = following[length]
        following[length] = run
    pieces, at = [], 0
    for run in runs:
        close = closing.get(run.start())
        if run.start() < at or close is None:
            continue
        gap = bisect.bisect_left(breaks, run.start())
        if gap < len(breaks) and breaks[gap] < close.start():
            continue
        pieces += [text[at : run.start()], change(text[run.start() : close.end()])]
        at = close.end()
    return "".join([*pieces, text[at:]])
