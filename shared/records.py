"""The records that pass from step to step: page → chunk → enriched chunk → row → passage → answer."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
)

GENERAL = "general"  # the product of what belongs to no product
MAX_QUERIES = 5  # one retrieval call; contract 1.3
MAX_QUERY_CHARS = 2000  # some 350 words: longer is a pasted document, not a question
MAX_MESSAGE_CHARS = 8000  # a visitor's message may quote an error log; the body limit is 256 KiB
MAX_LIMIT = 50  # chunks per query: more than any model reads

MAX_CONDITIONS, MAX_VALUES = (
    20,
    100,
)  # of a metadata filter: each value of a list column is a comparison of its own

MetadataValue = StrictStr | StrictBool | StrictInt | StrictFloat | datetime | tuple[StrictStr, ...]
Verdict = Literal["matched", "weak", "nothing_matched"]
AnswerVerdict = Literal["answered", "partial", "not_in_site", "out_of_scope", "unavailable"]


class Record(BaseModel):
    """Base of all records: immutable, and unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# --- indexing ------------------------------------------------------------------------------------


class Page(Record):
    """One page of a source, as clean Markdown."""

    id: str
    source: str
    url: str
    title: str
    text: str
    language: str
    language_declared: bool = False  # by the source, the page or its folder; else it was detected
    category: str = ""
    product: str | None = None  # pinned by the source or the page; None: enrichment decides
    content_type: str | None = None
    published_at: datetime | None = None
    metadata: dict[str, MetadataValue] = {}  # mirrored into columns of the table; no value: not named here
    # starts of what was cut because it speaks to a model (functions/indexing/quarantine.py); not part of the content
    quarantined: tuple[str, ...] = Field((), exclude=True)


class Chunk(Record):
    """A passage of a page, about 150 words. `section` is its heading path, `A › B`.

    `language` is set where it is surely written in another language of the site than its page.
    """

    id: str
    ordinal: int
    section: str
    text: str
    language: str = ""


class Enrichment(Record):
    """What a model (or the rules) says of a chunk, in the chunk's language."""

    summary: str
    keywords: tuple[str, ...]
    questions: tuple[str, ...]
    product: str
    content_type: str
    enriched_by: str  # "rules", or the model's name


class EnrichedChunk(Record):
    """A chunk with its enrichment. `reuse_key` is equal for chunks whose enrichment may be shared."""

    page: Page
    chunk: Chunk
    enrichment: Enrichment
    reuse_key: str


class Row(Record):
    """One row of the table."""

    id: str
    page_id: str
    source: str
    ordinal: int
    url: str
    title: str
    section: str
    category: str
    text: str
    summary: str
    keywords: tuple[str, ...]
    questions: tuple[str, ...]
    product: str
    content_type: str
    language: str
    published_at: datetime | None
    enriched_by: str
    reuse_key: str  # hash of everything the enrichment depends on
    vector_key: str  # hash of the embedding input
    page_hash: str  # hash of everything the page's rows depend on
    terms: str  # analysed words for the full-text index
    vector: tuple[float, ...]
    metadata: dict[str, MetadataValue] = {}  # the columns `meta_<name>`


# --- retrieval -----------------------------------------------------------------------------------


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value


Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
Instant = Annotated[datetime, AfterValidator(_utc)]


Scalar = StrictStr | StrictBool | StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)] | None


class Span(Record):
    """A range, both ends included; an end that is not given is open."""

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)

    start: Scalar = Field(None, alias="from")
    end: Scalar = Field(None, alias="to")


Condition = Scalar | Annotated[tuple[Scalar, ...], Field(max_length=MAX_VALUES)] | Span


class Filters(Record):
    """A pre-filter: every field given must hold; a field with several values holds for any of them."""

    product: Names | None = None
    content_type: Names | None = None
    language: Names | None = None
    source: Names | None = None
    page_id: Names | None = None
    published_after: Instant | None = None  # inclusive
    published_before: Instant | None = None  # exclusive
    metadata: Annotated[dict[str, Condition], Field(max_length=MAX_CONDITIONS)] | None = None


class RetrieveRequest(Record):
    """One retrieval of one to five queries; a lone string is taken as a list of one."""

    queries: Annotated[
        tuple[Annotated[str, Field(max_length=MAX_QUERY_CHARS)], ...],
        BeforeValidator(_as_tuple),
        Field(min_length=1, max_length=MAX_QUERIES),
    ]
    filters: Filters = Filters()
    limit: int | None = Field(None, ge=1, le=MAX_LIMIT)
    threshold: float | None = Field(None, ge=-1, le=1)


class Passage(Record):
    """A chunk found by a query. `score` is the cosine similarity, two decimals."""

    id: str
    page_id: str
    text: str
    summary: str
    title: str
    section: str
    url: str
    product: str
    content_type: str
    language: str
    source: str
    score: float
    category: str = Field("", exclude=True)  # read by the chat model, not part of the HTTP contract
    keywords: tuple[str, ...] = Field((), exclude=True)


class QueryResult(Record):
    """What one query found: its passages, best first, or a message that says that nothing matched."""

    query: str
    verdict: Verdict
    message: str | None = None
    filters_applied: dict[str, Any] = {}
    filters_relaxed: tuple[str, ...] = ()
    chunks: tuple[Passage, ...] = ()


class RetrieveResponse(Record):
    """One result for each query, in the order asked."""

    results: tuple[QueryResult, ...]
    threshold: float
    index_version: int
    trace_id: str


# --- chat ----------------------------------------------------------------------------------------


class Message(Record):
    """One message of a conversation; clients may not speak as system or tool."""

    role: Literal["user", "assistant"]
    content: str = Field(max_length=MAX_MESSAGE_CHARS)


class ChatRequest(Record):
    """A conversation whose last message is the visitor's."""

    messages: Annotated[tuple[Message, ...], Field(min_length=1, max_length=200)]
    session: str | None = None
    page_url: str | None = Field(None, max_length=2000)
    filters: Filters = Filters()
    stream: bool = True


class Feedback(Record):
    """A visitor's vote on an answer."""

    answer_id: str = Field(min_length=1, max_length=100)
    rating: Literal[1, -1]
    comment: str = Field("", max_length=2000)


class Source(Record):
    """A passage as the visitor sees it, numbered from 1."""

    n: int
    title: str
    section: str
    url: str
    score: float


class Citation(Record):
    """A source used by the answer, with the words of the page that support it."""

    n: int
    url: str
    title: str
    quote: str
    supported: bool


class Usage(Record):
    """Tokens that a model read and wrote."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


class Answer(Record):
    """The payload of `done`: the checked answer and how it came about."""

    answer_id: str
    answer: str
    citations: tuple[Citation, ...]
    verdict: AnswerVerdict
    model: str
    fallback_used: bool
    retrievals: int
    usage: Usage
    cost_usd: float
    trace_id: str
    follow_ups: tuple[str, ...] = ()


class Event(Record):
    """One server-sent event of `/chat`."""

    event: Literal["status", "sources", "token", "restart", "done", "error"]
    data: dict[str, Any]
