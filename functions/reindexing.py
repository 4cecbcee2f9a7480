"""Reindexing in the process that serves: one run at a time, and its failure in the log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from functions.services import build_services
from shared.settings import Settings


def one_run_at_a_time(settings: Settings) -> Callable[[], Awaitable[dict[str, Any]]]:
    """What starts a run over all sources, unless one is under way."""
    running: set[asyncio.Task[Any]] = set()
    starting = False

    def ended(task: asyncio.Task[Any]) -> None:
        running.discard(task)
        if not task.cancelled() and task.exception():
            logging.getLogger("portavoz").error("the reindexing failed", exc_info=task.exception())

    async def reindex() -> dict[str, Any]:
        nonlocal starting
        if running or starting:
            return {"started": False, "reason": "a run is under way"}
        starting = True  # before anything is waited for: two may ask at once
        try:
            services = await build_services(settings, writes=True)
            task = asyncio.create_task(services.indexer.run(settings.sources))
            running.add(task)
            task.add_done_callback(ended)
        finally:
            starting = False
        return {"started": True}

    return reindex
