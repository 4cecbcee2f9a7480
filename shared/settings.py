"""Settings: `portavoz.toml` for what is not secret, `PORTAVOZ_<SECTION>__<KEY>` to override, secrets by name.

Precedence: environment variable, then file, then the defaults below.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from zoneinfo import available_timezones

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from pydantic_settings import (
    SettingsError as EnvironmentNotJson,
)

from shared.errors import SettingsError
from shared.records import GENERAL
from shared.source_settings import (
    CONTACT,
    HINTS,
    WEB_OR_NONE,
    CrawlSource,
    FeedSource,
    FolderSource,
    Language,
    ProductId,
    Section,
    SitemapSource,
    Slug,
    Source,
    SqlSource,
    WebSource,
)

EMBEDDED, RULES, EXTRACTIVE = "embedded", "rules", "extractive"  # the built-in models
PREFIX = "PORTAVOZ_"
# pydantic puts the kind of a source into the place of an error
KINDS: dict[str, type[Section]] = {
    "folder": FolderSource, "sitemap": SitemapSource, "crawl": CrawlSource, "feed": FeedSource, "sql": SqlSource,
}  # fmt: skip


class SiteSettings(Section):
    """The site that is answered for."""

    name: str = "this site"
    url: Annotated[str, Field(pattern=WEB_OR_NONE)] = ""
    languages: Annotated[tuple[Language, ...], Field(min_length=1)] = ("en", "es")
    contact_url: Annotated[str, Field(pattern=CONTACT)] = ""
    tone: str = "friendly and to the point"


class StoreSettings(Section):
    """Where the table lives: a folder, or `s3://bucket/prefix` with keys from `AWS_*`."""

    uri: str = ".portavoz"
    endpoint: str = ""  # of an S3-compatible server
    region: str = ""


class Product(Section):
    """A product that enrichment may choose and a visitor may name."""

    id: ProductId
    name: str
    aliases: tuple[str, ...] = ()


class ModelSettings(Section):
    """An OpenAI-compatible model, or one of the built-in ones."""

    model: str = ""  # empty: the default (module docstring of functions/services.py)
    base_url: Annotated[str, Field(pattern=WEB_OR_NONE)] = ""
    api_key_env: str = ""  # empty: OPENAI_API_KEY, or no key where base_url is set
    connect_timeout_s: float = Field(
        5, gt=0
    )  # a server that is up accepts within a second; 5 covers a bad route
    first_token_timeout_s: float = Field(20, gt=0)  # visitors leave; a hosted small model starts within 3 s
    timeout_s: float = Field(60, gt=0)  # whole answer: 300 words at 10 tokens/s
    max_output_tokens: int = Field(800, gt=0)  # a short answer is 50–250 tokens; the rest is room for tables
    price_input: float = Field(0, ge=0)  # USD per million tokens
    price_output: float = Field(0, ge=0)

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        from urllib.parse import urlsplit

        try:
            parts = urlsplit(value)
            right = not value or (bool(parts.hostname) and (parts.port is None or parts.port > 0))
        except ValueError as error:
            raise ValueError(f"not an address: {error}") from error
        if not right:
            raise ValueError("not an address: the host is missing")
        return value

    @model_validator(mode="after")
    def _names_a_model(self) -> ModelSettings:
        if self.base_url and not self.model:
            raise ValueError("model is missing: name the model that the server at base_url shall use")
        return self


class Models(Section):
    """The models by role."""

    chat: ModelSettings = ModelSettings()
    fallback: ModelSettings = ModelSettings()
    enrichment: ModelSettings = ModelSettings(timeout_s=60)
    judge: ModelSettings = ModelSettings()
    embedding: ModelSettings = ModelSettings(timeout_s=60)


class IndexingSettings(Section):
    """Chunking and enrichment."""

    chunk_words: int = Field(150, ge=40, le=600)  # the size the enrichment prompt was tuned for (seed E)
    overlap_words: int = Field(
        50, ge=0
    )  # a third: a sentence cut from its context is whole in the next chunk
    enrichment_parallel: int = Field(
        5, ge=1, le=64
    )  # requests in flight; seed E stays below rate limits with 5
    batch_pause_ms: int = Field(300, ge=0)
    embedding_batch: int = Field(50, ge=1, le=2048)  # texts per embedding call; providers take at most 2048

    @model_validator(mode="after")
    def _overlap_leaves_room(self) -> IndexingSettings:
        if self.overlap_words > self.chunk_words // 2:
            raise ValueError(f"overlap_words must be at most half of chunk_words ({self.chunk_words // 2})")
        return self


class RetrievalSettings(Section):
    """How passages are found and which are good enough."""

    limit: int = Field(5, ge=1, le=50)
    threshold: Literal["auto"] | Annotated[float, Field(ge=-1, le=1)] = "auto"
    dense_weight: Annotated[float, Field(ge=0, le=1)] | None = None  # None: fitted for the embedding model
    auto_filter: bool = True


class Routes(Section):
    """Where the chat may look."""

    documents: bool = True
    database: bool = False
    web: bool = False


class Budgets(Section):
    """Limits of one answer and of a day; 0 means none."""

    answer_seconds: float = Field(90, ge=0)
    answer_usd: float = Field(0, ge=0)
    daily_usd: float = Field(0, ge=0)
    context_words: int = Field(2500, ge=200)  # of sources and history: some 4,000 tokens, fits an 8k context


class ChatSettings(Section):
    """The agent loop."""

    max_retrievals: int = Field(3, ge=1, le=10)
    memory_turns: int = Field(8, ge=0, le=50)
    sufficiency_check: bool = True
    routes: Routes = Routes()
    budgets: Budgets = Budgets()


class WebSettings(Section):
    """The public endpoint."""

    allowed_origins: tuple[str, ...] = ()
    starters: dict[Language, tuple[str, ...]] = Field({})  # questions that the widget offers, by language
    admin_token_env: str = "PORTAVOZ_ADMIN_TOKEN"


class ScheduleSettings(Section):
    """When all sources are reindexed."""

    reindex: str = "0 3 * * *"  # at night of the site's time zone; empty: never
    timezone: str = "UTC"

    @field_validator("reindex")
    @classmethod
    def _is_cron(cls, value: str) -> str:
        from datetime import datetime

        from cronsim import CronSim, CronSimError

        if value and len(value.split()) != 5:
            raise ValueError('five cron fields are needed, such as "0 3 * * *", or "" for never')
        try:
            CronSim(value or "0 3 * * *", datetime(2026, 1, 1))
        except CronSimError as error:
            raise ValueError(f"not a cron expression: {error}") from error
        return value

    @field_validator("timezone")
    @classmethod
    def _is_timezone(cls, value: str) -> str:
        if value not in available_timezones():
            raise ValueError("not an IANA time zone such as Europe/Madrid")
        return value


class Settings(BaseSettings):
    """All settings, validated. `config_file` tells where they were read."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True, case_sensitive=False
    )

    site: SiteSettings = SiteSettings()
    store: StoreSettings = StoreSettings()
    products: tuple[Product, ...] = ()
    content_types: Annotated[tuple[Slug, ...], Field(min_length=1)] = (
        "tutorial", "reference", "feature", "pricing", "faq", "demo", "overview", "guide",
    )  # fmt: skip
    sources: tuple[Source, ...] = ()
    models: Models = Models()
    indexing: IndexingSettings = IndexingSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    chat: ChatSettings = ChatSettings()
    web: WebSettings = WebSettings()
    schedule: ScheduleSettings = ScheduleSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Environment over file; `.env` has been read into the environment by the command line."""
        return env_settings, init_settings

    @property
    def folders(self) -> tuple[FolderSource, ...]:
        """The sources that are folders of this machine."""
        return tuple(source for source in self.sources if isinstance(source, FolderSource))

    @model_validator(mode="after")
    def _names_agree(self) -> Settings:
        products = [p.id for p in self.products]
        _unique(products, "products: id")
        _unique([s.name for s in self.sources], "sources: name")
        for source in self.sources:
            if source.product not in {None, GENERAL, *products}:
                raise ValueError(f"sources: product {source.product!r} is none of {[*products, GENERAL]}")
            if source.content_type not in {None, *self.content_types}:
                raise ValueError(
                    f"sources: content_type {source.content_type!r} is none of {list(self.content_types)}"
                )
        return self


def _unique(names: list[str], what: str) -> None:
    double = sorted({n for n in names if names.count(n) > 1})
    if double:
        raise ValueError(f"{what} {double[0]!r} is used twice")


def config_path() -> Path:
    """The settings file: `PORTAVOZ_CONFIG`, else `portavoz.toml` in the working directory."""
    return Path(os.environ.get("PORTAVOZ_CONFIG") or "portavoz.toml")


def load_settings(path: Path | None = None) -> Settings:
    """Read and check the settings. Relative paths in the file count from the file's folder.

    Without a file the defaults hold; a file that was asked for by `path` or `PORTAVOZ_CONFIG` must exist.

    Raises:
        SettingsError: one message naming the file or variable, the key, and what is allowed.
    """
    file = path or config_path()
    asked_for = path is not None or "PORTAVOZ_CONFIG" in os.environ
    if not file.exists():
        if asked_for:
            raise SettingsError(
                f"{file}: the settings file does not exist; create it or unset PORTAVOZ_CONFIG"
            )
        data: dict[str, Any] = {}
    else:
        try:
            data = tomllib.loads(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
            raise SettingsError(f"{file}: not a readable TOML file: {error}") from error
    _check_variables()
    try:
        settings = Settings(**data)
    except ValidationError as error:
        raise SettingsError("\n".join(dict.fromkeys(_explain(e, file) for e in _apart(error)))) from None
    except EnvironmentNotJson as error:
        raise SettingsError(
            f'{_variable_not_json(error)}: lists and tables are written as JSON in variables, such as ["en"]'
        ) from None
    return _resolve_paths(settings, file.parent)


def _apart(error: ValidationError) -> list[Any]:
    """The errors without those of the other half of a union: a number out of range is not also no "auto"."""
    found: list[Any] = list(error.errors())
    return [e for e in found if not (e["type"] == "literal_error" and isinstance(e["input"], int | float))]


def _check_variables() -> None:
    """Variables of an unknown section are errors, as unknown keys of the file are."""
    sections = set(Settings.model_fields)
    for name in os.environ:
        section = name.removeprefix(PREFIX).split("_")[0].lower()
        if name.startswith(PREFIX) and "__" not in name and section in sections and not _is_secret(name):
            right = f"{PREFIX}{section.upper()}__{name.removeprefix(PREFIX)[len(section) + 1 :]}"
            raise SettingsError(f"{name}: no such variable; two underscores follow the section: {right}")
        if name.startswith(PREFIX) and "__" in name:
            section = name.removeprefix(PREFIX).split("__")[0].lower()
            if section not in sections:
                raise SettingsError(
                    f"{name}: unknown section {section!r}; allowed: {', '.join(sorted(sections))}"
                )


def _is_secret(name: str) -> bool:
    """Whether the owner may have named a secret so (`…_env` keys)."""
    return name.endswith(("_KEY", "_TOKEN", "_SECRET", "_URL", "_PASSWORD"))


MEANT = {  # pydantic's word for it → what to write
    "tuple_type": 'a list is needed, such as ["en"]; of tables, each is headed by double brackets, such as [[sources]]',
    "path_type": "a path as text is needed",
    "string_pattern_mismatch": "this spelling is not allowed",
    "too_short": "at least one is needed",
}


def _explain(error: Any, file: Path) -> str:
    """One line for one pydantic error: where, which key, what is wrong, what is allowed."""
    place = [
        str(p) for p in error["loc"] if not str(p).startswith(("float", "constrained-float", "literal["))
    ]
    kind = place.pop(2) if place[:1] == ["sources"] and len(place) > 2 else ""
    if error["type"].startswith("union_tag"):
        place.append("kind")
    key = ".".join(place) or "settings"
    where = next((v for v in _variables_of(place) if v in os.environ), str(file))
    if error["type"] == "extra_forbidden":
        allowed = list(KINDS[kind].model_fields) if kind else _keys_allowed(place[:-1])
        return f"{where}: {key}: unknown key; allowed here: {', '.join(allowed)}"
    if error["type"] == "missing":
        return f"{where}: {key}: this key is missing; it is required"
    message = MEANT.get(error["type"], error["msg"].removeprefix("Value error, "))
    if error["type"] == "string_pattern_mismatch":
        message += "; " + HINTS.get(error["ctx"]["pattern"], f"the pattern is {error['ctx']['pattern']}")
    given = error.get("input")
    shown = f" (given: {given!r})" if isinstance(given, str | int | float | bool) else ""
    return f"{where}: {key}: {message}{shown}"


def _variables_of(place: list[str]) -> list[str]:
    """The variables that may have set the key at `place`, longest first."""
    return [PREFIX + "__".join(place[:n]).upper() for n in range(len(place), 0, -1)]


def _variable_not_json(error: EnvironmentNotJson) -> str:
    """The variable whose value was not the JSON that it should have been."""
    value = getattr(error.__cause__, "doc", None)
    named = (name for name in sorted(os.environ) if name.startswith(PREFIX) and os.environ[name] == value)
    return next(named, f"environment: {error}")


def _keys_allowed(place: list[str]) -> list[str]:
    """The keys of the section at `place`."""
    model: type[BaseModel] = Settings
    for name in place:
        if name.isdigit() or name not in model.model_fields:
            continue
        annotation = model.model_fields[name].annotation
        inner = [
            a for a in (annotation, *get_args(annotation)) if isinstance(a, type) and issubclass(a, BaseModel)
        ]
        if inner:
            model = inner[0]
    return list(model.model_fields)


def _resolve_paths(settings: Settings, folder: Path) -> Settings:
    """Make the store's folder and the sources' folders independent of the working directory."""
    uri = settings.store.uri
    store = (
        settings.store
        if "://" in uri
        else settings.store.model_copy(update={"uri": str((folder / uri).resolve())})
    )
    sources = tuple(
        s.model_copy(update={"path": (folder / s.path).resolve()})
        if isinstance(s, FolderSource)
        else s.below(folder)
        if isinstance(s, SqlSource)
        else s
        for s in settings.sources
    )
    return settings.model_copy(update={"store": store, "sources": sources})


def secret(name: str) -> str | None:
    """The value of the environment variable `name`, None when unset or empty."""
    return os.environ.get(name) or None


__all__ = [
    "EMBEDDED", "EXTRACTIVE", "RULES", "CrawlSource", "FeedSource", "FolderSource", "Section", "Settings",
    "SitemapSource", "Source", "SqlSource", "WebSource", "load_settings", "secret",
]  # fmt: skip
