"""Markdown and MDX files to clean Markdown with their metadata."""

from __future__ import annotations

import re

from functions.indexing.html import html_document as html_document
from functions.indexing.pages import LANGUAGE_KEYS, Document
from shared.errors import SourceError

LEAD_KEYS = ("description", "summary", "deck", "excerpt", "lead")
# indented as in a list item or a component; a backtick fence has no backtick in its info string
_FENCE = re.compile(
    r"^[ \t]*(?P<fence>`{3,}(?=[^`\n]*$)|~{3,}).*?(?:^[ \t]*(?P=fence)[`~]*\s*$|\Z)", re.MULTILINE | re.DOTALL
)
_INLINE_CODE = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)\1(?!`)", re.DOTALL)
_IMPORT = re.compile(
    r"^(?:import\s(?:[^;'\"]*?\sfrom\s*)?['\"][^'\"\n]+['\"];?[ \t]*$|export\s+(?:default|const|let|function)\b.*?(?:\n\s*\n|\Z))",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|\{/\*.*?\*/\}", re.DOTALL)
_SCRIPT = re.compile(r"<(script|style|svg|template|noscript)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
# a tag may carry JSX attributes: name={…} with braces one level deep, quoted strings with > in them
_TAG = re.compile(
    r"</?[A-Za-z][\w.:-]*(?:\s+(?:[^<>{}\"']|\"[^\"]*\"|'[^']*'|\{(?:[^{}]|\{[^{}]*\})*\})*)?\s*/?>|</?>"
)
_SHORTCODE = re.compile(r"\{\{[<%].*?[%>]\}\}", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*:::+[ \t]*(?:\w+)?(?:\[(?P<title>[^\]\n]*)\])?[^\n]*$", re.MULTILINE)
_HEADING_ID = re.compile(r"[ \t]*\{#[\w-]+\}[ \t]*$", re.MULTILINE)


def markdown_document(raw: str) -> Document:
    """Front matter and clean Markdown of a Markdown or MDX file.

    Raises:
        SourceError: the front matter is not valid YAML.
    """
    import frontmatter
    import yaml

    try:
        post = frontmatter.loads(raw.lstrip("\ufeff"))
    except yaml.YAMLError as error:
        raise SourceError(f"the front matter is not valid YAML: {' '.join(str(error).split())}") from error
    meta = post.metadata
    markdown = clean_markdown(post.content)
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


def clean_markdown(text: str) -> str:
    """What a reader sees: no imports, comments, component tags, shortcodes or directive marks; code untouched."""
    pieces, end = [], 0
    for fence in _FENCE.finditer(text):
        pieces += [_clean_prose(text[end : fence.start()]), fence.group()]
        end = fence.end()
    return "".join([*pieces, _clean_prose(text[end:])])


def _clean_prose(text: str) -> str:
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match.group())
        return f"\x00{len(kept) - 1}\x00"

    text = _INLINE_CODE.sub(keep, text.replace("\x00", ""))
    text = _IMPORT.sub("", _COMMENT.sub("", text))
    text = _DIRECTIVE.sub(lambda m: f"\n**{m['title']}**\n" if m["title"] else "", text)
    text = _SHORTCODE.sub("", text)
    text = _TAG.sub("", _SCRIPT.sub("", text))
    text = _HEADING_ID.sub("", text)
    return re.sub(r"\x00(\d+)\x00", lambda m: kept[int(m.group(1))], text)
