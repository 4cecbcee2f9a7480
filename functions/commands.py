"""What the commands do, and how their results are shown."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rich.console import Console

from functions.services import Services, build_services
from shared.errors import InvalidRequest, NoIndex
from shared.records import MAX_MESSAGE_CHARS, ChatRequest, Message, Record
from shared.settings import FolderSource, Settings, Source, StoreSettings
from shared.trace import current_trace, start_trace

if TYPE_CHECKING:
    from functions.indexing.report import RunReport, SourceReport

out, err = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False, soft_wrap=True)


async def index(
    settings: Settings, names: list[str], *, full: bool, dry_run: bool, yes: bool, json: bool
) -> int:
    """Run the indexer; 1 where a source could not be read."""
    import stamina.instrumentation

    from functions.indexing.sources import check

    stamina.instrumentation.set_on_retry_hooks([])  # the report counts what failed; a line per retry hides it
    try:
        sources = _sources(names, settings)
    except InvalidRequest:
        if len(names) == 1 and await _removed(names[0], settings, confirmed=yes, dry_run=dry_run):
            return 0
        raise
    for source in sources:
        check(source)
    with TemporaryDirectory() as empty:
        services = await _services(settings, full=full, dry_run=dry_run, empty=empty)
        report = await _run(services, sources, full=full, dry_run=dry_run, yes=yes, json=json)
    print_json(report) if json else _print_report(report)
    return 1 if report.failed else 0


async def _services(settings: Settings, *, full: bool, dry_run: bool, empty: str) -> Services:
    """With the table to write to; a dry run makes none: where there is none, it reads an empty one elsewhere."""
    if not dry_run:
        return await build_services(settings, writes=True, any_model=full)
    try:
        return await build_services(settings, any_model=full)
    except NoIndex:
        elsewhere = settings.model_copy(update={"store": StoreSettings(uri=empty)})
        return await build_services(elsewhere, writes=True)


async def _run(
    services: Services, sources: list[Source], *, full: bool, dry_run: bool, yes: bool, json: bool
) -> RunReport:
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.completed} pages"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=json) as bar:
        tasks = {source.name: bar.add_task(source.name, total=None) for source in sources}
        return await services.indexer.run(
            sources, full=full, dry_run=dry_run, confirmed=yes,
            progress=lambda source, pages: bar.update(tasks[source], completed=pages),
        )  # fmt: skip


async def _removed(name: str, settings: Settings, *, confirmed: bool, dry_run: bool) -> bool:
    """Remove the pages of a source that the settings no longer name; False where the index has none of it."""
    try:
        services = await build_services(settings, any_model=True)
    except NoIndex:
        return False
    if name not in await services.indexer.sources():
        return False
    if not confirmed:
        raise InvalidRequest(
            f"source {name!r} is not in the settings any more; --yes removes all of its pages from the index"
        )
    pages = await services.indexer.remove_source(name, dry_run=dry_run)
    print(f"{name}: {pages} pages {'would be ' if dry_run else ''}removed", file=sys.stderr)
    return True


def _sources(names: list[str], settings: Settings) -> list[Source]:
    """The sources named, each once, or all of the settings."""
    chosen: dict[str, Source] = {}
    for source in [_source(name, settings) for name in names]:
        if chosen.setdefault(source.name, source) != source:
            raise InvalidRequest(
                f"two folders would both be the source {source.name!r}; name them in portavoz.toml"
            )
    sources = [*chosen.values()] if names else list(settings.sources)
    if not sources:
        raise InvalidRequest("there is nothing to index: name a folder, or add [[sources]] to portavoz.toml")
    return sources


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
    if report.estimate:
        todo = report.estimate
        out.print(
            f"dry run, nothing was written: {todo.chunks} chunks to do, {todo.model_calls} model calls, about "
            f"{todo.input_tokens} tokens read and {todo.output_tokens} written, {todo.embedding_tokens} embedded, "
            f"{todo.cost_usd:.4f} USD"
        )
        return
    tokens = ", ".join(
        f"{role} {s.calls} calls, {s.usage.input_tokens} + {s.usage.output_tokens} tokens"
        for role, s in report.spent.items()
    )
    out.print(
        f"cost {report.cost_usd:.4f} USD{f' ({tokens})' if tokens else ''}; {report.seconds} s; "
        f"index version {report.index_version}"
    )


def _print_source(source: SourceReport, *, dry_run: bool) -> None:
    out.print(
        f"[bold]{source.source}[/]: {source.pages_seen} pages seen, {source.pages_changed} changed, "
        f"{source.pages_unchanged} unchanged, {source.pages_removed} removed, {source.pages_failed} failed; "
        f"chunks: {source.chunks_added} added, {source.chunks_kept} kept, {source.chunks_removed} removed"
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
    for page in source.quarantined:
        err.print(
            f"  {page.id}: not indexed, since it speaks to a model: {'; '.join(page.quotes)}", markup=False
        )
    for trouble in filter(None, (source.incomplete, source.error)):
        err.print(f"  {trouble}", markup=False)


async def search(settings: Settings, request: dict[str, Any], where: list[str], *, json: bool) -> int:
    """One retrieval; `where` are conditions on metadata such as `views>=10`."""
    from functions.retrieval.queries import request_from
    from functions.retrieval.where import metadata_filter

    wanted = request_from(request)
    services = await build_services(settings)
    if where:
        metadata = metadata_filter(where, await services.table.metadata())
        filters = wanted.filters.model_copy(update={"metadata": metadata})
        wanted = wanted.model_copy(update={"filters": filters})
    response = await services.retriever.retrieve(wanted)
    if json:
        print_json(response)
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
        print_json(done)
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


def _shortened(text: str) -> str:
    """The beginning of a text in one line of a terminal."""
    from textwrap import shorten

    return shorten(text, 100, placeholder=" …")


def _safe(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def print_json(value: Record | dict[str, Any]) -> None:
    """A result as JSON, on standard output."""
    import json

    data = value.model_dump(mode="json") if isinstance(value, Record) else value
    print(json.dumps(data, ensure_ascii=False, indent=2))
