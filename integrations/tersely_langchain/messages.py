"""LangChain's messages in OpenAI's format, and what a tool result was requested for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    convert_to_openai_messages,
)

Json = dict[str, Any]

_ROLES = {"ai": "assistant", "system": "system"}


def to_openai(message: BaseMessage) -> Json:
    """The message in OpenAI's format; a message of text where that format has no place for its content."""
    try:
        converted = convert_to_openai_messages(message)
    except ValueError:
        return to_text_message(message)
    assert isinstance(converted, dict)
    return json.loads(json.dumps(converted))


def to_text_message(message: BaseMessage) -> Json:
    """The message as text, without calls or call ids, so that it may stand anywhere in a transcript.

    Content that is not text is replaced by its type in brackets.
    """
    head = "[result of a tool] " if message.type == "tool" else ""
    types = [b.get("type") for b in message.content if isinstance(b, dict) and b.get("type") != "text"]
    tail = "".join(f" [{content_type}]" for content_type in types)
    return {"role": _ROLES.get(message.type, "user"), "content": f"{head}{message.text}{tail}"}


def find_user_text(messages: Sequence[AnyMessage]) -> str:
    """The text of the user's last message; empty where there is none."""
    return next((m.text for m in reversed(messages) if isinstance(m, HumanMessage)), "")


def find_query(messages: Sequence[AnyMessage], place: int) -> str:
    """What the tool result at `place` was requested for: its call's arguments, and the user's message before.

    Only what comes before it counts, so that the same result is always shortened to the same text.
    """
    result, earlier = messages[place], messages[:place]
    call_id = result.tool_call_id if isinstance(result, ToolMessage) else None
    calls = [call for message in earlier if isinstance(message, AIMessage) for call in message.tool_calls]
    arguments: Any = next((call["args"] for call in reversed(calls) if call["id"] == call_id), "")
    return f"{arguments} {find_user_text(earlier)}".strip() or "the task"
