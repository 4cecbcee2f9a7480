"""The errors that Portavoz raises; SDK exceptions are translated into these at the edge."""

from __future__ import annotations

from typing import ClassVar


class PortavozError(Exception):
    """Base of every expected failure. `code` and `status` are what an HTTP caller sees."""

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500


class SettingsError(PortavozError):
    """The settings cannot be used; the message names file or variable, key, and what is allowed."""

    code = "bad_settings"


class InvalidRequest(PortavozError):
    """The caller sent something that cannot be answered; the message says what to send instead."""

    code, status = "invalid_request", 400


class NotAuthorized(PortavozError):
    """A token or signature is missing or wrong."""

    code, status = "not_authorized", 401


class SourceError(PortavozError):
    """A source cannot be read; the run goes on with the other sources and reports it."""

    code = "source_error"


class TableUnavailable(PortavozError):
    """The table cannot be opened, read or written."""

    code, status = "table_unavailable", 503


class NoIndex(TableUnavailable):
    """The store can be reached, and nothing was indexed into it yet."""


class EmbeddingMismatch(PortavozError):
    """The index was built with another embedding model than the one configured."""

    code, status = "embedding_mismatch", 503


class ModelUnavailable(PortavozError):
    """A model did not answer: connection, timeout, status code, cut stream.

    `reason` is a short machine-readable word (`timeout`, `connection`, `http_429`, …) and `permanent`
    tells that a retry of the same call is useless (wrong key, wrong model name). `retry_after` is the wait in
    seconds that the server asked for.
    """

    code, status = "model_unavailable", 503

    def __init__(
        self, message: str, *, reason: str, permanent: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.permanent = permanent
        self.retry_after = retry_after


class ModelOutputInvalid(ModelUnavailable):
    """A model answered, but with nothing usable: empty, filtered, or not of the schema asked for."""
