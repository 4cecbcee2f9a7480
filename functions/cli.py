"""The command `portavoz`: the functions in process. Exit status 0 ok, 1 failed, 2 bad usage."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from shared.errors import InvalidRequest, PortavozError, SettingsError
from shared.settings import load_settings

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__, pretty_exceptions_enable=False)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        out.print(f"portavoz {version('portavoz')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False,
) -> None:
    """Portavoz answers visitors' questions only from the pages of a site."""


out, err = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False, soft_wrap=True)
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def main() -> None:
    """Entry point: expected errors become one line on standard error."""
    from dotenv import load_dotenv

    load_dotenv(Path.cwd() / ".env")
    try:
        app()
    except (SettingsError, InvalidRequest) as error:
        err.print(f"portavoz: {error}", markup=False)
        sys.exit(2)
    except PortavozError as error:
        err.print(f"portavoz: {error}", markup=False)
        sys.exit(1)
    except KeyboardInterrupt:
        err.print("portavoz: interrupted; what was committed stays, run again to go on")
        sys.exit(130)


def _run(work: Coroutine[Any, Any, int]) -> None:
    try:
        code = asyncio.run(work)
    except KeyboardInterrupt:  # click would only say "Aborted!"
        err.print("portavoz: interrupted; what was committed stays, run again to go on")
        raise typer.Exit(130) from None
    if code:
        raise typer.Exit(code)


@app.command()
def index(
    sources: Annotated[
        list[str] | None, typer.Argument(help="Names of portavoz.toml, folders or files.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Make every chunk anew.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; write nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Let any share of a source's pages vanish.")] = False,
    json: Json = False,
) -> None:
    """Index all sources, or those named. Only what changed is done."""
    from functions.commands import index as command

    settings = load_settings()
    _run(command(settings, sources or [], full=full, dry_run=dry_run, yes=yes, json=json))


@app.command()
def search(
    queries: Annotated[list[str], typer.Argument(help="One to five queries.")],
    product: Annotated[list[str] | None, typer.Option(help="Only this product; may be repeated.")] = None,
    content_type: Annotated[list[str] | None, typer.Option(help="Only this content type.")] = None,
    language: Annotated[list[str] | None, typer.Option(help="Only pages of this language.")] = None,
    source: Annotated[list[str] | None, typer.Option(help="Only this source.")] = None,
    page_id: Annotated[list[str] | None, typer.Option(help="Only these pages; may be repeated.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Metadata: author=Ann, views>=10, day<=2024-12-31, author= (none); may be repeated."
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Chunks per query.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Similarity that a chunk must exceed.")] = None,
    json: Json = False,
) -> None:
    """Search with one to five queries in one retrieval."""
    from functions.commands import search as command

    named = {
        "product": product, "content_type": content_type, "language": language, "source": source, "page_id": page_id,
    }  # fmt: skip
    request = {
        "queries": queries, "limit": limit, "threshold": threshold,
        "filters": {name: values for name, values in named.items() if values},
    }  # fmt: skip
    _run(command(load_settings(), request, where or [], json=json))


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="What a visitor would ask.")],
    trace: Annotated[bool, typer.Option("--trace", help="Print every step afterwards.")] = False,
    json: Json = False,
) -> None:
    """Answer one question, streamed, with citations."""
    from functions.commands import ask as command

    _run(command(load_settings(), question, trace=trace, json=json))


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 8000,
) -> None:
    """Serve the API and a page with the widget."""
    from functions.commands import serve as command

    command(load_settings(), host, port)


@app.command()
def status(json: Json = False) -> None:
    """What the index holds, with what it was built, and how the last run went."""
    from functions.operations import status as command

    _run(command(load_settings(), json=json))


@app.command()
def versions(json: Json = False) -> None:
    """Versions of the index that can be gone back to, with what changed."""
    from functions.operations import versions as command

    _run(command(load_settings(), json=json))


@app.command()
def rollback(
    version: Annotated[int, typer.Argument(help="A number that `portavoz versions` shows.")],
    json: Json = False,
) -> None:
    """Make the index what it was at a version."""
    from functions.operations import rollback as command

    _run(command(load_settings(), version, json=json))


if __name__ == "__main__":
    main()
