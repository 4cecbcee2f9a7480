"""What the models read of a conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.analysis import words
from shared.errors import InvalidRequest
from shared.records import ChatRequest, Message

OLD_MESSAGE_CHARS = (
    1500  # of an earlier message: enough to resolve "the second one" and to follow a quoted log
)
SHARE = 0.25  # of the words of the context: the sources need the rest
CHARS_PER_WORD = 8  # more than in any language: text without spaces counts by its length


def question_of(request: ChatRequest) -> str:
    """The visitor's last message.

    Raises:
        InvalidRequest: the last message is not the visitor's, or says nothing.
    """
    last = request.messages[-1]
    if last.role != "user":
        raise InvalidRequest("messages: the last message must have the role user")
    if not re.search(r"[^\W_]", last.content):
        raise InvalidRequest("messages: the last message is empty; send a question")
    return last.content.strip()


def remembered(messages: Sequence[Message], turns: int, context_words: int) -> list[dict[str, str]]:
    """The last `turns` questions with their answers before the last message, citation marks removed.

    At most two messages a turn and a share of the context's words; the newest are kept.
    """
    earlier = list(messages[:-1])
    starts = [i for i, message in enumerate(earlier) if message.role == "user"]
    last = earlier[starts[-turns] :] if turns and len(starts) > turns else earlier if turns else []
    kept: list[dict[str, str]] = []
    left = context_words * SHARE
    for message in reversed(last[-2 * turns :] if turns else []):
        text = re.sub(r"\s?\[\d+\]", "", message.content)[:OLD_MESSAGE_CHARS]
        left -= size(text)
        if left < 0:
            break
        kept.insert(0, {"role": message.role, "content": text})
    return kept


def size(text: str) -> int:
    """Words of a text for the budget."""
    return max(words(text), len(text) // CHARS_PER_WORD)
