"""What the models read of a conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.errors import InvalidRequest
from shared.records import ChatRequest, Message

OLD_ANSWER_CHARS = (
    1500  # of an earlier answer: enough to resolve "the second one", not enough to crowd out sources
)


def question_of(request: ChatRequest) -> str:
    """The visitor's last message.

    Raises:
        InvalidRequest: the last message is not the visitor's, or says nothing.
    """
    last = request.messages[-1]
    if last.role != "user":
        raise InvalidRequest("messages: the last message must have the role user")
    if not re.search(r"\w", last.content):
        raise InvalidRequest("messages: the last message is empty; send a question")
    return last.content.strip()


def remembered(messages: Sequence[Message], turns: int) -> list[dict[str, str]]:
    """The last `turns` questions with their answers before the last message, citation marks removed."""
    earlier = list(messages[:-1])
    starts = [i for i, message in enumerate(earlier) if message.role == "user"]
    kept = earlier[starts[-turns] :] if turns and len(starts) > turns else earlier if turns else []
    return [
        {"role": m.role, "content": re.sub(r"\s?\[\d+\]", "", m.content)[:OLD_ANSWER_CHARS]} for m in kept
    ]
