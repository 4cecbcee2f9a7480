"""What is asked: checked, and cleaned of what does not matter."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from pydantic import ValidationError

from shared.errors import InvalidRequest
from shared.records import MAX_QUERIES, MAX_QUERY_CHARS, RetrieveRequest

MEANT = {  # pydantic's word for it → what to send
    "missing": "this key is missing",
    "extra_forbidden": "there is no such key",
    "tuple_type": "a list is needed",
    "model_type": "an object is needed",
    "model_attributes_type": "an object is needed",
}


def request_from(data: Any) -> RetrieveRequest:
    """A retrieval request from JSON.

    Raises:
        InvalidRequest: in words that a caller, be it a program or a model, can act on.
    """
    if not isinstance(data, dict):
        raise InvalidRequest('the body must be a JSON object such as {"queries": ["how much is it?"]}')
    queries = data.get("queries")
    if isinstance(queries, str):
        queries = [queries]
    if not isinstance(queries, list | tuple) or not queries:
        raise InvalidRequest(f"queries: send 1 to {MAX_QUERIES} search queries as a list of strings")
    if len(queries) > MAX_QUERIES:
        raise InvalidRequest(
            f"queries: {len(queries)} were sent, at most {MAX_QUERIES} are taken; split the call"
        )
    for number, query in enumerate(queries, start=1):
        if not isinstance(query, str):
            raise InvalidRequest(f"queries: query {number} is not a string")
        if len(query) > MAX_QUERY_CHARS:
            raise InvalidRequest(
                f"queries: query {number} has {len(query)} characters, at most {MAX_QUERY_CHARS} are taken; shorten it"
            )
        if not re.search(r"[^\W_]", query):
            raise InvalidRequest(f"queries: query {number} is empty; send words to search for")
    try:
        return RetrieveRequest(**{**data, "queries": queries})
    except ValidationError as error:
        raise InvalidRequest(explain(error)) from None


def explain(error: ValidationError) -> str:
    """One line for the first errors of a request."""
    found = [e for e in error.errors() if "after validation" not in e["msg"]] or error.errors()
    return "; ".join(
        f"{'.'.join(map(str, e['loc'])) or 'body'}: {MEANT.get(e['type'], e['msg'])}" for e in found[:3]
    )


def normalise(query: str) -> str:
    """One line of composed characters without control characters; the words stay as they are."""
    text = unicodedata.normalize("NFC", query)
    text = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in text)
    return " ".join(text.split())
