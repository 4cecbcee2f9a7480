"""What the commands do, and how their results are shown."""

from __future__ import annotations

import re
import socket
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from functions.services import Services, build_services, model_for
from shared.errors import InvalidRequest
from shared.records import MAX_MESSAGE_CHARS, ChatRequest, Message, Record
from shared.settings import FolderSource, Settings, Source
from shared.trace import current_trace, start_trace

if TYPE_CHECKING:
    from functions.indexing.report import RunReport, SourceReport

out, err = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False, soft_wrap=True)
BREAKDOWN = ("source", "category", "language", "product", "content_type", "enriched_by")


async def index(
    settings: Settings, names: list[str], *, full: bool, dry_run: bool, yes: bool, json: bool
) -> int:
    """Run the indexer; 1 where a source could not be read."""
    import stamina.instrumentation
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    stamina.instrumentation.set_on_retry_hooks([])  # the report counts what failed; a line per retry hides it
    sources = list({s.name: s for s in (_source(n, settings) for n in names)}.values()) or list(
        settings.sources
    )
    if not sources:
        raise InvalidRequest("there is nothing to index: name a folder, or add [[sources]] to portavoz.toml")
    services = await build_services(settings, writes=True, replace_table=full and not dry_run)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.completed} pages"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=json) as bar:
        tasks = {source.name: bar.add_task(source.name, total=None) for source in sources}
        report = await services.indexer.run(
            sources, full=full, dry_run=dry_run, confirmed=yes,
            progress=lambda source, pages: bar.update(tasks[source], completed=pages),
        )  # fmt: skip
    _print_json(report) if json else _print_report(report)
    return 1 if report.failed else 0


def _source(name: str, settings: Settings) -> Source:
    """A source of the settings by name or by a path within its folder, or a folder or file of its own."""
    path = Path(name).resolve()
    for source in settings.sources:
        if name == source.name:
            return source
    for folder in settings.folders:
        if path.exists() and path.is_relative_to(folder.path):  # unchanged pages of it cost nothing
            return folder
    if not path.exists():
        known = ", ".join(s.name for s in settings.sources) or "none"
        raise InvalidRequest(f"{name!r} is neither a source of the settings ({known}) nor a folder or file")
    own = (
        re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem if path.is_file() else path.name).strip(".-_") or "folder"
    )
    if own in {source.name for source in settings.sources}:
        raise InvalidRequest(
            f"{name!r} would take the name of the source {own!r} of the settings; add it there under another name"
        )
    return FolderSource(name=own, kind="folder", path=path)


def _print_report(report: RunReport) -> None:
    for source in report.sources:
        _print_source(source, dry_run=report.dry_run)
    what = "dry run, nothing was written" if report.dry_run else f"cost {report.cost_usd:.4f} USD"
    out.print(f"{what}; {report.seconds} s; index version {report.index_version}")


def _print_source(source: SourceReport, *, dry_run: bool) -> None:
    out.print(
        f"[bold]{source.source}[/]: {source.pages_seen} pages seen, {source.pages_changed} changed, "
        f"{source.pages_unchanged} unchanged, {source.pages_removed} removed, {source.pages_failed} failed; "
        f"chunks: {source.chunks_added} added, {source.chunks_removed} removed"
    )
    if not dry_run and source.pages_changed:
        out.print(
            f"  enriched: {source.enriched_by_model} by the model, {source.enriched_by_rules} by rules, "
            f"{source.enrichments_reused} reused; vectors reused: {source.vectors_reused}"
        )
    if source.removal_withheld:
        err.print(
            f"  {source.removal_withheld} pages vanished at once, so none was removed; "
            "run again with --yes if that is right"
        )
    if not source.pages_seen and not source.error:
        err.print("  no page was found; see path, include and exclude of this source")
    for skipped in source.pages_skipped:
        err.print(f"  {skipped.id}: {skipped.reason}", markup=False)
    for trouble in filter(None, (source.incomplete, source.error)):
        err.print(f"  {trouble}", markup=False)


async def search(settings: Settings, request: dict[str, Any], *, json: bool) -> int:
    """One retrieval."""
    from functions.retrieval.queries import request_from

    wanted = request_from(request)
    response = await (await build_services(settings)).retriever.retrieve(wanted)
    if json:
        _print_json(response)
        return 0
    for result in response.results:
        out.print(f"[bold]{_safe(result.query)}[/]: {result.verdict} (threshold {response.threshold})")
        if result.message:
            out.print(f"  {result.message}")
        for chunk in result.chunks:
            out.print(
                f"  {chunk.score:.2f}  {' › '.join(filter(None, (chunk.title, chunk.section)))}  "
                f"{chunk.url or chunk.page_id}\n        {_shortened(chunk.text)}",
                markup=False,
            )
    return 0


async def ask(settings: Settings, question: str, *, trace: bool, json: bool) -> int:
    """One answer; 1 where none could be made."""
    from functions.chat.memory import question_of
    from functions.web import guarded

    start_trace()
    if len(question) > MAX_MESSAGE_CHARS:
        raise InvalidRequest(
            f"the question has {len(question)} characters, at most {MAX_MESSAGE_CHARS} are taken; shorten it"
        )
    request = ChatRequest(messages=(Message(role="user", content=question),))
    question_of(request)
    agent = (await build_services(settings)).agent
    done: dict[str, Any] = {}
    async for event in guarded(agent.chat(request)):
        if event.event == "status" and not json:
            queries = event.data["detail"].get("queries")
            err.print(
                f"· {event.data['stage']}" + (f": {'; '.join(queries)}" if queries else ""), markup=False
            )
        elif event.event == "token" and not json:
            out.print(event.data["text"], end="", markup=False)
        elif event.event == "restart" and not json:
            out.print(f"\n— {event.data['reason']}; starting over —")
        elif event.event in {"done", "error"}:
            done = event.data
    if json:
        _print_json(done)
    else:
        _print_answer(done)
    if trace:
        for step in current_trace().steps:
            err.print(f"{step.at_ms:8.0f} ms  +{step.took_ms:.0f}  {step.name}  {step.detail}", markup=False)
    return 0 if "answer" in done else 1


def _print_answer(done: dict[str, Any]) -> None:
    """The checked answer, which stands above what was streamed."""
    if "answer" not in done:
        err.print(done["message"])
        return
    out.print(f"\n{done['answer']}\n", markup=False)
    for citation in done["citations"]:
        out.print(
            f"[{citation['n']}] {citation['title']}  {citation['url']}\n    “{citation['quote']}”",
            markup=False,
        )
    fallback = ", by the fallback" if done["fallback_used"] else ""
    out.print(
        f"{done['verdict']}, {done['model'] or 'no model'}{fallback}, {done['cost_usd']:.5f} USD", style="dim"
    )


def serve(settings: Settings, host: str, port: int) -> None:
    """All three functions in one server, until interrupted."""
    import uvicorn

    from functions.reindexing import one_run_at_a_time
    from functions.web import create_app

    web = create_app(settings, lambda: build_services(settings), one_run_at_a_time(settings))
    shown = "127.0.0.1" if host in {"0.0.0.0", "::"} else host
    try:
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except OSError as error:
        raise InvalidRequest(
            f"{host}:{port} cannot be listened on ({error.strerror}); choose another with --port"
        ) from None
    out.print(f"Portavoz serves the API and a page with the widget on http://{shown}:{port}  (Ctrl-C stops)")
    uvicorn.Server(uvicorn.Config(web, log_level="warning")).run(sockets=[listener])


class Status(Record):
    """What the index holds."""

    uri: str
    index_version: int
    rows: int
    pages: int
    embedding_model: str
    embedding_dimensions: int
    thresholds: dict[str, float]
    models: dict[str, str]
    breakdown: dict[str, dict[str, int]]
    integrity: dict[str, int]


async def status(settings: Settings, *, json: bool) -> int:
    """Print what the index holds."""
    found = await _status(await build_services(settings))
    if json:
        _print_json(found)
        return 0
    out.print(
        f"[bold]{found.uri}[/], version {found.index_version}: {found.rows} chunks of {found.pages} pages"
    )
    models = ", ".join(f"{role} {name or 'none'}" for role, name in found.models.items())
    out.print(
        f"embedding: {found.embedding_model} ({found.embedding_dimensions} dimensions); models: {models}"
    )
    table = Table("by", "value", "chunks")
    for name, counts in found.breakdown.items():
        for value, count in sorted(counts.items(), key=lambda item: -item[1]):
            table.add_row(name, value or "–", str(count))
    out.print(table)
    return 0


async def _status(services: Services) -> Status:
    table, settings = services.table, services.settings
    rows = await table.columns(["id", "page_id", *BREAKDOWN, "vector_key", "reuse_key"])
    matched, weak = services.retriever.thresholds(None)
    roles = ("chat", "fallback", "enrichment", "judge")
    return Status(
        uri=table.uri,
        index_version=await table.version(),
        rows=len(rows),
        pages=len({row["page_id"] for row in rows}),
        embedding_model=table.identity.model,
        embedding_dimensions=table.identity.dim,
        thresholds={"matched": matched, "weak": weak},
        models={role: model_for(role, settings).model for role in roles},
        breakdown={name: dict(Counter(row[name] for row in rows)) for name in BREAKDOWN},
        integrity={
            "rows": len(rows),
            "distinct_ids": len({row["id"] for row in rows}),
            "with_vector": sum(bool(row["vector_key"]) for row in rows),
            "with_enrichment": sum(bool(row["reuse_key"]) for row in rows),
        },
    )


def _shortened(text: str) -> str:
    """The beginning of a text in one line of a terminal."""
    from textwrap import shorten

    return shorten(text, 100, placeholder=" …")


def _safe(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _print_json(value: Record | dict[str, Any]) -> None:
    import json

    data = value.model_dump(mode="json") if isinstance(value, Record) else value
    print(json.dumps(data, ensure_ascii=False, indent=2))
