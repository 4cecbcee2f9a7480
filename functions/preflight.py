"""The checks before a deployment, each with what to do; and the line that embeds the widget after it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from functions.indexing.sources import check
from shared.errors import PortavozError, SettingsError
from shared.settings import Settings, Source, SqlSource, config_path, load_settings


def problems(settings: Settings, folder: Path) -> list[str]:
    """What would make the deployment fail or the deployed app useless, in words that say what to do."""
    found = []
    if "://" not in settings.store.uri:
        found.append(
            f"{config_path()}: store.uri is a folder of this machine ({settings.store.uri}); "
            'containers share only object storage: set it to "s3://bucket/prefix"'
        )
    for source in settings.folders:
        if not source.path.is_relative_to(folder):
            found.append(
                f"source {source.name!r}: {source.path} lies outside of {folder}; only what is below is shipped"
            )
        elif not source.path.exists():
            found.append(f"source {source.name!r}: there is no folder {source.path}")
    found += [problem for source in settings.sources if (problem := _unfit(source))]
    token = os.environ.get("MODAL_TOKEN_ID") and os.environ.get("MODAL_TOKEN_SECRET")
    if not token and not Path(os.environ.get("MODAL_CONFIG_PATH", "~/.modal.toml")).expanduser().is_file():
        found.append(
            "there is no Modal token; run `.venv/bin/modal token new`, or set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET"
        )
    return found


def _unfit(source: Source) -> str | None:
    """What a container could not do with the source."""
    if isinstance(source, SqlSource) and source.url.startswith("sqlite"):
        return (
            f"source {source.name!r}: {source.url} is a file of this machine, which containers cannot read; index it from "
            "here with `portavoz index`, or name a database server"
        )
    try:
        check(source, elsewhere=True)
    except SettingsError as error:
        return str(error)
    return None


def widget_line(deploy_output: str) -> str | None:
    """The line for the site's pages, with the address of the chat function that `modal deploy` printed."""
    found = re.search(r"Chat\.web [-=]> (https?://\S+)", re.sub(r"\s*\n\s*(?=https?://)", " ", deploy_output))
    return f'<script src="{found.group(1).rstrip("/")}/widget.js" defer></script>' if found else None


def main() -> int:
    """Without input on `--urls`: the checks, exit status 1 where one fails. With it: the widget's line."""
    if "--urls" in sys.argv:
        line = widget_line(sys.stdin.read())
        print(
            f"Put this line into your pages:\n\n  {line}\n"
            if line
            else "The widget's address is shown above."
        )
        return 0
    try:
        found = problems(load_settings(), Path.cwd())
    except PortavozError as error:
        found = [str(error)]
    for problem in found:
        print(f"deploy.sh: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
