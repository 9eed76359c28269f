"""Check, measure and render messages in OpenAI's chat format. Pure functions."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from tersely.chat.protocol import Message
from tersely.errors import InvalidInputError
from tersely.inputs import show_value

ROLES = ("system", "developer", "user", "assistant", "tool")
PER_MESSAGE = 4
"""Tokens of a message in addition to its texts, in the templates of common models."""
PER_IMAGE = 1000
"""Tokens of a part that is not text. Images have between 85 and about 1,500."""

_COUNTED = ("role", "content", "tool_calls", "tool_call_id", "name")

Json = dict[str, Any]


def check_message(message: object, expected: Iterable[str] = ()) -> Json:
    """Check a message that follows others.

    Args:
        message: what the caller passes as a message.
        expected: ids of the tool calls before it that have no result yet.

    Returns:
        A copy of the message.

    Raises:
        InvalidInputError: the message is malformed, or cannot follow calls without results.
    """
    if not isinstance(message, Mapping):
        raise InvalidInputError(
            f"A message is a {type(message).__name__}. Pass a mapping with 'role' and 'content'."
        )
    try:
        checked: Json = json.loads(json.dumps(dict(cast("Mapping[str, Any]", message))))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"A message cannot be written as JSON ({error}). Pass plain values."
        ) from error
    role = checked.get("role")
    if role not in ROLES:
        raise InvalidInputError(f"A message has the role {show_value(role)}. Pass one of {', '.join(ROLES)}.")
    if checked.get("tool_calls") is not None and role != "assistant":
        raise InvalidInputError(
            f"A message with the role {role!r} has tool_calls, which only assistants have."
        )
    may_be_empty = any(checked.get(key) for key in ("tool_calls", "refusal", "audio"))
    _check_content(role, checked.get("content"), may_be_empty)
    unanswered = list(expected)
    if role == "tool":
        _check_result(checked.get("tool_call_id"), unanswered)
    elif unanswered:
        raise InvalidInputError(
            f"The tool calls {show_value(unanswered)} have no result yet, so a message with the role "
            f"{role!r} cannot follow. Append their results first, or call interrupt()."
        )
    if role == "assistant":
        _check_calls(checked.get("tool_calls"))
    return checked


def _check_content(role: str, content: object, may_be_empty: bool) -> None:
    if isinstance(content, str) or (content is None and role == "assistant"):
        if content is None and not may_be_empty:
            raise InvalidInputError("An assistant message has neither content nor tool calls. Add either.")
        return
    parts = cast("list[object]", content) if isinstance(content, list) else [None]
    if not all(isinstance(part, dict) and "type" in part for part in parts):
        raise InvalidInputError(
            f"A message with the role {role!r} has a content that is neither text nor a list of parts. "
            "Pass text."
        )


def _check_result(call: object, unanswered: list[str]) -> None:
    if call not in unanswered:
        raise InvalidInputError(
            f"A tool result answers the call {show_value(call)}, but "
            + (f"{show_value(unanswered)} are unanswered." if unanswered else "no call is unanswered.")
            + " Append the assistant message with its tool_calls first, and each result once."
        )


def _check_calls(calls: object) -> None:
    if calls is None:
        return
    if not isinstance(calls, list) or not all(isinstance(c, dict) for c in cast("list[object]", calls)):
        raise InvalidInputError("tool_calls is not a list of mappings. Pass a list, or leave it out.")
    for call in cast("list[Json]", calls):
        function: object = call.get("function")
        fields = cast("Json", function) if isinstance(function, dict) else {}
        if not isinstance(fields.get("name"), str) or not isinstance(fields.get("arguments"), str):
            raise InvalidInputError(
                f"The tool call {show_value(call.get('id'))} needs a function with a name and arguments, "
                "both text."
            )
    ids = [call.get("id") for call in cast("list[Json]", calls)]
    if not all(isinstance(i, str) and i for i in ids) or len(set(ids)) < len(ids):
        raise InvalidInputError(f"tool_calls have the ids {show_value(ids)}. Each needs an id of its own.")


def get_call_ids(message: Message) -> list[str]:
    """Ids of the message's tool calls."""
    return [call["id"] for call in message.get("tool_calls") or ()]


def join_query(arguments: object, request: str | None) -> str | None:
    """What a tool's result is needed for: the arguments of its call, and the user's request. None where
    neither says anything."""
    given = "" if arguments in (None, "", "{}", {}) else arguments
    return f"{given} {request or ''}".strip() or None


def get_text(message: Message) -> str:
    """The text of a message, without parts such as images."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or () if part["type"] == "text")


def with_text(message: Message, text: str) -> Json:
    """A copy of the message with another text, in the place of its first text. Other parts stay."""
    changed = copy.deepcopy(dict(message))
    content = changed.get("content")
    if isinstance(content, list):
        parts = cast("list[Json]", content)
        positions = [position for position, part in enumerate(parts) if part["type"] == "text"]
        first = positions[0] if positions else 0
        own: Json = {**parts[first], "text": text} if positions else {"type": "text", "text": text}
        before = [part for part in parts[:first] if part["type"] != "text"]
        after = [part for part in parts[first:] if part["type"] != "text"]
        changed["content"] = [*before, own, *after]
    else:
        changed["content"] = text
    return changed


def measure_tokens(messages: Sequence[Message], count: Callable[[str], int]) -> int:
    """Tokens of the messages, including what roles and calls add. `count` counts the tokens of a text."""
    total = 0
    for message in messages:
        total += PER_MESSAGE + count(get_text(message))
        content = message.get("content")
        if isinstance(content, list):
            total += PER_IMAGE * sum(part["type"] != "text" for part in cast("list[Json]", content))
        others = {key: value for key, value in message.items() if key not in _COUNTED and value is not None}
        total += count(json.dumps(others, ensure_ascii=False)) if others else 0
        for call in message.get("tool_calls") or ():
            total += PER_MESSAGE + count(json.dumps(call, ensure_ascii=False))
    return total


def render_messages(messages: Sequence[Message]) -> str:
    """The messages and tool calls as plain text, with a blank line between them."""
    lines: list[str] = []
    for message in messages:
        text = get_text(message)
        if text.strip():
            lines.append(f"{message['role']}: {text}")
        for call in message.get("tool_calls") or ():
            function = call.get("function", {})
            lines.append(f"{message['role']} calls {function.get('name')}: {function.get('arguments')}")
    return "\n\n".join(lines)
