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

from tersely.adapters import NOTE_KEY
from tersely.messages import join_query
from tersely_agents.memory.shortening import Shortener
from tersely_langchain.content import read_texts, replace_texts

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


def find_query(messages: Sequence[AnyMessage], place: int) -> str | None:
    """What the tool result at `place` was requested for: its call's arguments, and the user's message before.

    Only what comes before it counts, so that the same result is always shortened to the same text.
    """
    result, earlier = messages[place], messages[:place]
    call_id = result.tool_call_id if isinstance(result, ToolMessage) else None
    calls = [call for message in earlier if isinstance(message, AIMessage) for call in message.tool_calls]
    arguments: Any = next((call["args"] for call in reversed(calls) if call["id"] == call_id), "")
    return join_query(arguments, find_user_text(earlier))


def find_tools(messages: Sequence[AnyMessage]) -> dict[int, str]:
    """The name of the tool of each tool result, by its place: its own, or else that of its call."""
    called: dict[str | None, str] = {}
    names: dict[int, str] = {}
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage):
            called |= {call["id"]: call["name"] for call in message.tool_calls}
        elif isinstance(message, ToolMessage):
            names[place] = message.name or called.get(message.tool_call_id, "")
    return names


def shorten_result(
    message: Any, limit: int, query: str | None, shortener: Shortener
) -> tuple[Any, list[tuple[str, str]]]:
    """A tool result whose texts have at most `limit` tokens together, and their original (id, text).

    Errors are needed whole. They stay as they are, and so does everything that is no tool result.
    """
    if not isinstance(message, ToolMessage) or message.status == "error":
        return message, []
    texts = read_texts(message.content)
    if not texts:
        return message, []
    # The note, and not the text, says whether it was shortened before: a tool may write what it likes.
    note = message.additional_kwargs.get(NOTE_KEY)
    shortened, originals = shortener.shorten_texts(texts, limit, query, note and note["id"])
    if shortened == texts:
        return message, []
    update: Json = {"content": replace_texts(message.content, shortened)}
    if originals:
        update["additional_kwargs"] = {**message.additional_kwargs, NOTE_KEY: {"id": originals[0][0]}}
    return message.model_copy(update=update), originals
