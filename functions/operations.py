"""The commands by which an owner sees and mends the index: status, versions, rollback."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rich.table import Table

from functions.commands import err, out, print_json
from functions.indexing.report import Breakdown, RunReport, breakdown
from functions.services import Services, build_services, model_for
from shared.errors import InvalidRequest
from shared.journal import RUNS
from shared.records import Record
from shared.settings import Settings


class Status(Record):
    """What the index holds, with what it was built, and how the last run went."""

    uri: str
    index_version: int
    rows: int
    pages: int
    embedding_model: str
    configured_embedding: str
    embedding_dimensions: int
    thresholds: dict[str, float]
    models: dict[str, str]
    breakdown: dict[str, dict[str, int]]
    integrity: dict[str, int]
    unnamed_sources: tuple[str, ...]  # in the index, but no longer in the settings
    last_run: RunReport | None


async def status(settings: Settings, *, json: bool) -> int:
    """Print what the index holds; 1 where rows, vectors and enrichments do not agree."""
    services = await build_services(settings, any_model=True)
    held = await breakdown(services.table)
    found = await _status(services, held)
    if json:
        print_json(found)
        return 0 if held.sound else 1
    out.print(
        f"[bold]{found.uri}[/], version {found.index_version}: {found.rows} chunks of {found.pages} pages"
    )
    models = ", ".join(f"{role} {name or 'none'}" for role, name in found.models.items())
    out.print(
        f"embedding: {found.embedding_model} ({found.embedding_dimensions} dimensions); models: {models}",
        markup=False,
    )
    matched, weak = found.thresholds["matched"], found.thresholds["weak"]
    out.print(f"threshold: matched from {matched}, weak from {weak}")
    table = Table("by", "value", "chunks")
    for name, counts in found.breakdown.items():
        for value, count in counts.items():
            table.add_row(name, _plain(value or "–"), str(count))
    out.print(table)
    _print_troubles(found, held)
    return 0 if held.sound else 1


def _print_troubles(found: Status, held: Breakdown) -> None:
    if not held.sound:
        err.print(f"the rows do not agree: {found.integrity}; `portavoz index --full` builds them anew")
    if found.embedding_model != found.configured_embedding:
        err.print(
            f"the settings say {found.configured_embedding}: nothing is answered until `portavoz index --full` has run"
        )
    for name in found.unnamed_sources:
        err.print(
            f"source {name!r} is in the index but not in the settings; `portavoz index {name} --yes` removes its pages",
            markup=False,
        )
    last = found.last_run
    if last is None:
        return
    out.print(
        f"last run: {last.at:%Y-%m-%d %H:%M} UTC, {last.seconds} s, {last.cost_usd:.4f} USD"
        + (f"; it broke off: {last.error}" if last.error else ""),
        markup=False,
    )
    for source in last.sources:
        for trouble in filter(None, (source.error, source.incomplete)):
            err.print(f"  {source.source}: {trouble}", markup=False)


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


async def _status(services: Services, held: Breakdown) -> Status:
    table, settings = services.table, services.settings
    matched, weak = services.retriever.thresholds(None)
    roles = ("chat", "fallback", "enrichment", "judge")
    runs = await services.journal.all(RUNS, RunReport)
    named = {source.name for source in settings.sources}
    return Status(
        uri=table.uri,
        index_version=await table.version(),
        rows=held.rows,
        pages=held.pages,
        embedding_model=table.identity.model,
        configured_embedding=services.embedder.identity.model,
        embedding_dimensions=table.identity.dim,
        thresholds={"matched": matched, "weak": weak},
        models={role: model_for(role, settings).model for role in roles},
        breakdown=held.chunks,
        integrity=held.integrity,
        unnamed_sources=tuple(sorted(held.chunks["source"].keys() - named)) if named else (),
        last_run=list(runs.values())[-1] if runs else None,
    )


class NamedVersion(Record):
    """A version to go back to, with what the run that made it did."""

    version: int
    at: datetime
    name: str
    live: bool
    changes: str


async def versions(settings: Settings, *, json: bool) -> int:
    """Print the versions of the index that can be gone back to, newest last."""
    services = await build_services(settings, any_model=True)
    runs = {r.index_version: r for r in (await services.journal.all(RUNS, RunReport)).values()}
    now = await services.table.version()
    found = [
        NamedVersion(
            version=v.number,
            at=v.at.astimezone(UTC),
            name=v.name,
            live=v.number == now,
            changes=_changes(runs.get(v.number)),
        )
        for v in await services.table.versions()
    ]
    if json:
        print_json({"versions": [v.model_dump(mode="json") for v in found]})
        return 0
    table = Table("version", "made (UTC)", "what changed", "")
    for one in found:
        table.add_row(
            str(one.version), f"{one.at:%Y-%m-%d %H:%M:%S}", one.changes, "live" if one.live else ""
        )
    out.print(table)
    return 0


def _changes(run: RunReport | None) -> str:
    if run is None:
        return "a rollback, or a run whose report is no longer kept"
    kind = "full run; " if run.full else ""
    return kind + "; ".join(
        f"{s.source}: {s.pages_changed} pages changed, {s.pages_removed} removed, "
        f"{s.chunks_added} chunks added, {s.chunks_removed} removed"
        for s in run.sources
    )


async def rollback(settings: Settings, number: int, *, json: bool) -> int:
    """Make the index what it was at a version; the next run brings the sources' changes back."""
    services = await build_services(settings, any_model=True)
    known: dict[int, Any] = {v.number: v for v in await services.table.versions()}
    if number not in known:
        kept = ", ".join(map(str, known)) or "none"
        raise InvalidRequest(f"there is no version {number} to go back to; there are: {kept}")
    version = await services.indexer.restore(number)
    if json:
        print_json({"restored": number, "index_version": version})
    else:
        out.print(f"the index is as it was at version {number}, as version {version}")
    return 0
