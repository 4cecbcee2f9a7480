"""Settings of the sources that pages are read from, one class a kind."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

WEB_OR_NONE = r"^(https?://[^\s/]+\S*)?$"
CONTACT = r"^((https?://[^\s/]|mailto:|tel:)\S+)?$"
HINTS = {  # what a pattern asks for, in words
    r"^[A-Za-z0-9][A-Za-z0-9._-]*$": "letters, digits, dots, hyphens and underscores, without blanks",
    r"^[a-z]{2,3}$": 'a code of two or three letters, such as "es"',
    r"^https?://[^\s/]+": "an address that starts with http:// or https://",
    WEB_OR_NONE: "an address that starts with http:// or https://",
    CONTACT: "an address that starts with http://, https://, mailto: or tel:",
}
Slug = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}$", description="ISO 639 code, such as es")]
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
    """The rows of a table or of one SELECT, read only. `url` is a SQLAlchemy URL; secrets go to `url_env`."""

    kind: Literal["sql"]
    url: str = ""
    url_env: str = ""  # the environment variable that holds the URL
    table: str = ""
    query: str = ""  # instead of `table`: one SELECT
    key: str
    text: str | tuple[str, ...]  # columns of long text, joined in this order
    title: str = ""
    page_url: str = ""  # a column, or a template such as https://example.com/articles/{slug}
    published_at: str = ""  # a column
    updated_at: str = ""  # a column: rows that are not newer than the last run's newest are not read again
    metadata: tuple[str, ...] = ()  # columns mirrored with their types into filterable fields
    category_column: str = ""
    language_column: str = ""
    format: Literal["markdown", "html", "text"] = "markdown"


Source = Annotated[
    FolderSource | SitemapSource | CrawlSource | FeedSource | SqlSource, Field(discriminator="kind")
]
