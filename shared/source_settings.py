"""Settings of the sources that pages are read from, one class a kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

WEB_OR_NONE = r"^(https?://[^\s/]+\S*)?$"
CONTACT = r"^((https?://[^\s/]|mailto:|tel:)\S+)?$"
HINTS = {  # what a pattern asks for, in words
    r"^[A-Za-z0-9][A-Za-z0-9._-]*$": "letters, digits, dots, hyphens and underscores, without blanks",
    r"^[A-Za-z0-9][A-Za-z0-9._/-]*$": "letters, digits, dots, hyphens, underscores and slashes, without blanks",
    r"^[a-z]{2,3}$": 'a code of two or three letters, such as "es"',
    r"^https?://[^\s/]+": "an address that starts with http:// or https://",
    WEB_OR_NONE: "an address that starts with http:// or https://",
    CONTACT: "an address that starts with http://, https://, mailto: or tel:",
}
ProductId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$")]  # a slash, as in guides/cms
Slug = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}$", description="ISO 639 code, such as es")]
Column = Annotated[str, Field(min_length=1)]
WebAddress = Annotated[str, Field(pattern=r"^https?://[^\s/]+", description="an http(s) address")]


class Section(BaseModel):
    """Base of all sections: immutable, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceBase(Section):
    """What every source may pin for its pages."""

    name: Slug
    category: str = ""
    product: str | None = None
    content_type: str | None = None
    language: Language | None = None


class FolderSource(SourceBase):
    """A folder of Markdown, MDX, HTML, text and PDF files."""

    kind: Literal["folder"]
    path: Path
    base_url: str = ""  # page URL = base_url + path without suffix
    include: tuple[str, ...] = (
        "**/*.md", "**/*.mdx", "**/*.html", "**/*.htm", "**/*.txt", "**/*.pdf",
    )  # fmt: skip
    exclude: tuple[str, ...] = ()


class WebSource(SourceBase):
    """What the sources that fetch pages have in common. Patterns match the URL's path, as in `/docs/**`."""

    url: WebAddress
    include: tuple[str, ...] = ()  # empty: all
    exclude: tuple[str, ...] = ()
    max_pages: int = Field(10_000, ge=1)
    requests_per_second: float = Field(4, gt=0)  # what a small shared host serves without notice
    respect_robots: bool = True
    allow_hosts: tuple[str, ...] = ()  # hosts that may be fetched although their address is private
    user_agent: str = "Portavoz/0.1 (+https://github.com/portavoz/portavoz)"


class SitemapSource(WebSource):
    """The pages that a sitemap lists; `url` is a sitemap, a sitemap index, or a site whose robots.txt names one."""

    kind: Literal["sitemap"]


class CrawlSource(WebSource):
    """The pages reached from `url` by links of the same origin."""

    kind: Literal["crawl"]
    max_depth: int = Field(10, ge=0)  # clicks from the start; deeper pages are archives and calendars


class FeedSource(WebSource):
    """The entries of an RSS or Atom feed; an entry that leaves the feed stays until its page is gone."""

    kind: Literal["feed"]
    full_text: Literal["auto", "feed", "page"] = (
        "auto"  # auto: the feed's text, or the page where it is short
    )


class SqlSource(SourceBase):
    """The rows of a table or of one SELECT, read only. `url` is a SQLAlchemy URL; secrets go to `url_env`.

    Columns that are named here and are not in the table are errors when the source is read.
    """

    kind: Literal["sql"]
    url: str = ""
    url_env: str = ""  # the environment variable that holds the URL
    table: str = ""  # a table or a view, as `name` or `schema.name`
    query: str = ""  # instead of `table`: one SELECT
    key: str  # a column whose values are unique: the page is named `source/key`
    text: Annotated[
        tuple[Column, ...], BeforeValidator(lambda v: (v,) if isinstance(v, str) else v), Field(min_length=1)
    ]  # columns of long text, joined in this order
    title: str = ""  # a column
    page_url: str = ""  # a column, or a template such as https://example.com/articles/{slug}
    published_at: str = ""  # a column
    updated_at: str = ""  # a column that changes with each change of a row: other rows are not read again
    metadata: tuple[
        Annotated[str, Field(pattern=r"^\w+$")], ...
    ] = ()  # columns mirrored as filterable fields
    category_column: str = ""  # where it is empty, `category` holds
    language_column: str = ""
    format: Literal["markdown", "html", "text"] = "markdown"

    @model_validator(mode="after")
    def _one_of_two(self) -> SqlSource:
        for one, other, hint in (
            ("url", "url_env", "url_env names the environment variable that holds it"),
            ("table", "query", "query is one SELECT"),
        ):
            if bool(getattr(self, one)) == bool(getattr(self, other)):
                both = "both are set" if getattr(self, one) else "neither is set"
                raise ValueError(f"{one} or {other}: {both}; set one of them ({hint})")
        template = "{" in self.page_url or "://" in self.page_url
        if template and not re.fullmatch(r"https?://[^{}]+(\{[^{}]+\}[^{}]*)+", self.page_url):
            raise ValueError(
                "page_url: give a column, or a template with columns in braces such as https://example.com/{slug}"
            )
        return self

    @property
    def template_columns(self) -> tuple[str, ...]:
        """The columns that `page_url` names."""
        found = tuple(re.findall(r"\{([^{}]+)\}", self.page_url))
        return found or ((self.page_url,) if self.page_url else ())

    def below(self, folder: Path) -> SqlSource:
        """With the file of a SQLite database counted from `folder`."""
        match = re.fullmatch(r"(sqlite(?:\+\w+)?:///)([^/:].*)", self.url)
        if match is None:
            return self
        return self.model_copy(update={"url": match[1] + str((folder / match[2]).resolve())})


Source = Annotated[
    FolderSource | SitemapSource | CrawlSource | FeedSource | SqlSource, Field(discriminator="kind")
]
