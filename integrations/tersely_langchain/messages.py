"""LangChain's messages: convert them to OpenAI's format, and shorten the texts of tool results.

The content of a tool result is text or a list of blocks. Text blocks are those of LangChain, OpenAI and
Anthropic, and resources of MCP. Other blocks, such as images, hold no text here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
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
from tersely.user_text import find_last_request
from tersely_agents.memory.shortening import Shortener

Json = dict[str, Any]
Change = Callable[[str], str]

_ROLES = {"ai": "assistant", "system": "system"}
_TEXT_PATHS = {
    "text": ("text",),
    "text-plain": ("text",),
    "input_text": ("text",),
    "output_text": ("text",),
    "custom_tool_call_output": ("output",),
    "search_result": ("content",),
    "tool_result": ("content",),
    "resource": ("resource", "text"),
}
"""Path to the text, or to inner blocks, by the type of a block."""
_OFFSET_KEYS = ("annotations", "citations")
"""Keys of a text block that refer to places in its text."""


def to_openai(message: BaseMessage) -> Json:
    """Convert a message to OpenAI's format. If that format cannot hold its content, make it a text
    message."""
    try:
        converted = convert_to_openai_messages(message)
    except ValueError:
        return to_text_message(message)
    assert isinstance(converted, dict)
    return json.loads(json.dumps(converted))


def to_text_message(message: BaseMessage) -> Json:
    """Convert a message to text, without calls or call ids, so that it may be anywhere in a transcript.

    Content that is not text is replaced by its type in brackets.
    """
    head = "[result of a tool] " if message.type == "tool" else ""
    types = [b.get("type") for b in message.content if isinstance(b, dict) and b.get("type") != "text"]
    tail = "".join(f" [{content_type}]" for content_type in types)
    return {"role": _ROLES.get(message.type, "user"), "content": f"{head}{message.text}{tail}"}


def find_user_text(messages: Sequence[AnyMessage]) -> str:
    """Return the text of the last user message that has words of the user; empty without one."""
    return find_last_request(m.text for m in reversed(messages) if isinstance(m, HumanMessage))


def find_query(messages: Sequence[AnyMessage], place: int) -> str | None:
    """Return the query for the tool result at `place`: its call's arguments, and the last user message.

    Only earlier messages count, so that the same result is always shortened to the same text.
    """
    result, earlier = messages[place], messages[:place]
    call_id = result.tool_call_id if isinstance(result, ToolMessage) else None
    calls = [call for message in earlier if isinstance(message, AIMessage) for call in message.tool_calls]
    arguments: Any = next((call["args"] for call in reversed(calls) if call["id"] == call_id), "")
    return join_query(arguments, find_user_text(earlier))


def find_tools(messages: Sequence[AnyMessage]) -> dict[int, str]:
    """Return the tool name of each tool result by its place: its own name, or else that of its call."""
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
    """Shorten the texts of a tool result to `limit` tokens together; return it and its original (id, text).

    Errors, which are needed whole, and messages that are not tool results stay unchanged.
    """
    if not isinstance(message, ToolMessage) or message.status == "error":
        return message, []
    texts = read_texts(message.content)
    if not texts:
        return message, []
    # Only the note says whether it was shortened before. The text does not, because a tool may write
    # anything.
    note = message.additional_kwargs.get(NOTE_KEY)
    shortened, originals, _ = shortener.shorten_texts(texts, limit, query, note and note["id"])
    if shortened == texts:
        return message, []
    update: Json = {"content": replace_texts(message.content, shortened)}
    if originals:
        update["additional_kwargs"] = {**message.additional_kwargs, NOTE_KEY: {"id": originals[0][0]}}
    return message.model_copy(update=update), originals


def read_texts(content: Any) -> list[str]:
    """Return all texts of the content, in order."""
    texts: list[str] = []

    def collect(text: str) -> str:
        texts.append(text)
        return text

    _change(content, collect)
    return texts


def replace_texts(content: Any, texts: Sequence[str]) -> Any:
    """Return a copy of the content with other texts, in the order of `read_texts`.

    Text blocks that become empty are left out, because providers refuse them.
    """
    following = iter(texts)
    return _change(content, lambda _: next(following))


def _change(content: Any, change: Change) -> Any:
    if isinstance(content, str):
        return change(content)
    if not isinstance(content, list):
        return content
    changed = [_change_block(block, change) for block in content]
    return [block for block in changed if block is not None]


def _change_block(block: Any, change: Change) -> Any:
    """Return the changed block; None if its text has become empty."""
    if isinstance(block, str):
        return change(block) or None
    if not isinstance(block, dict):
        return block
    path = _TEXT_PATHS.get(str(block.get("type")), ())
    if block.get("type") == "document" and isinstance(block.get("source"), dict):
        path = ("source", "data" if block["source"].get("type") == "text" else "content")
    return _change_at(block, path, change)


def _change_at(holder: Json, path: Sequence[str], change: Change) -> Json | None:
    value = holder.get(path[0]) if path else None
    if len(path) > 1 and isinstance(value, dict):
        changed = _change_at(value, path[1:], change)
    elif len(path) == 1 and isinstance(value, str | list):
        changed = _change(value, change)
    else:
        return holder
    if changed == value:
        return holder
    kept = {k: v for k, v in holder.items() if not (isinstance(value, str) and k in _OFFSET_KEYS)}
    return {**kept, path[0]: changed} if changed else None
