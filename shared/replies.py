"""What OpenAI-compatible servers send, read with patience: streams, content in parts, usage as text, headers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.characters import Joiner
from shared.records import Usage
from shared.thoughts import Thoughts

Prompt = Sequence[dict[str, str]]  # OpenAI's messages: role and content
MOST_CHARS_PER_TOKEN = 16  # the longest words; a server that sends more does not keep to max_output_tokens
CHARS_PER_TOKEN = 4  # of European languages; only for servers that report no usage


@dataclass
class Reading:
    """What is known of a stream so far."""

    first: float  # until when the first token may take
    ends: float
    most: int  # characters
    usage: Any = None
    finish: str | None = None
    characters: int = 0
    begun: bool = False
    full: bool = False  # more came than may come
    joiner: Joiner = field(default_factory=Joiner)
    thoughts: Thoughts = field(default_factory=Thoughts)

    @property
    def deadline(self) -> float:
        """Until when the next part may take."""
        return self.ends if self.begun else self.first

    def take(self, part: Any) -> str:
        """The words of a part of the stream."""
        self.usage = part.usage or self.usage
        said = ""
        for choice in part.choices:
            self.finish = choice.finish_reason or self.finish
            if choice.delta is None:
                continue
            text = text_of(choice.delta.content)
            # thoughts come in the text or in a field of their own; they too show that the model is at work
            self.begun = self.begun or bool(text or getattr(choice.delta, "reasoning_content", None))
            said += self._spoken(self.thoughts.feed(self.joiner.feed(text)))
        return said

    def rest(self) -> str:
        """What was held back until the end."""
        return self._spoken(self.thoughts.feed(self.joiner.rest()) + self.thoughts.rest())

    def _spoken(self, text: str) -> str:
        text = text if self.characters else text.lstrip()  # the blank lines after the thoughts
        if self.characters + len(text) > self.most:
            text, self.full = text[: self.most - self.characters], True
        self.characters += len(text)
        return text


def json_within(text: str) -> str:
    """The JSON object in a reply that may have a fence or a sentence around it."""
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text


def seconds(header: str | None) -> float | None:
    """A Retry-After header (RFC 9110, 10.2.3) in seconds, as a number or a date."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        from email.utils import parsedate_to_datetime

        try:
            return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
        except ValueError:
            return None


def reported_usage(reported: Any, prompt: Prompt = (), characters: int = 0) -> Usage:
    """The tokens that a server reports, in whatever form, else an estimate from what was read and written."""
    if reported is not None:
        return Usage(
            input_tokens=_count(getattr(reported, "prompt_tokens", 0)),
            output_tokens=_count(getattr(reported, "completion_tokens", 0)),
        )
    read = sum(len(m["content"]) for m in prompt)
    return Usage(input_tokens=read // CHARS_PER_TOKEN, output_tokens=characters // CHARS_PER_TOKEN)


def _count(value: Any) -> int:
    """A number of tokens; some servers send it as text or with a fraction."""
    try:
        return max(0, int(float(value)))
    except (TypeError, ValueError, OverflowError):
        return 0


def text_of(content: Any) -> str:
    """The text of a message, which some servers send as a list of parts.

    Raises:
        ValueError: it is neither.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        texts = [part.get("text", "") for part in content if part.get("type", "text") == "text"]
        if all(isinstance(text, str) for text in texts):
            return "".join(texts)
    raise ValueError(f"content is a {type(content).__name__}")
