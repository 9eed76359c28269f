"""Check and measure chat messages, and compress their tool results, which fill the context of most agents.

Messages have OpenAI's format: mappings with "role", "content" and so on. Every message keeps its place, its
role, its ids and its tool calls. Only the texts of tool results become shorter.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from tersely.errors import InvalidInputError
from tersely.inputs import check_query, show_value, type_name
from tersely.options import CompressionOptions
from tersely.types import Compression
from tersely.user_text import find_last_request

Message = Mapping[str, Any]

ROLES = ("system", "developer", "user", "assistant", "tool")
PER_MESSAGE = 4
"""Number of tokens that the templates of common models add to the texts of a message."""
PER_IMAGE = 1000
"""Number of tokens of a part that is not text. Images have between 85 and about 1,500."""

_COUNTED_OTHERWISE = ("role", "content", "tool_calls", "tool_call_id", "name")
"""Keys that are not counted as JSON. Roles, names and ids count as PER_MESSAGE, whatever their length."""

Json = dict[str, Any]


def check_message(message: object, expected: Iterable[str] = (), name: str = "The message") -> Json:
    """Check a message before it is appended to a chat.

    Args:
        message: any object that the caller passes as a message.
        expected: ids of the tool calls before it that have no result yet.
        name: name of the message in errors, such as "Message 7".

    Returns:
        A copy of the message.

    Raises:
        InvalidInputError: the message is malformed, or cannot follow calls without results.
    """
    if not isinstance(message, Mapping):
        raise InvalidInputError(f"{name} is {type_name(message)}. Pass a mapping with 'role' and 'content'.")
    try:
        checked: Json = json.loads(json.dumps(dict(cast("Mapping[str, Any]", message))))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"{name} cannot be written as JSON ({error}). Pass plain values.") from error
    role = checked.get("role")
    if role not in ROLES:
        known = ", ".join(ROLES)
        raise InvalidInputError(f"{name} has the unknown role {show_value(role)}. Pass one of {known}.")
    if checked.get("tool_calls") is not None and role != "assistant":
        raise InvalidInputError(
            f"{name} has the role {role!r} and tool_calls. Only an assistant message may have them."
        )
    may_be_empty = any(checked.get(key) for key in ("tool_calls", "refusal", "audio"))
    _check_content(role, checked.get("content"), may_be_empty, name)
    unanswered = list(expected)
    if role == "tool":
        _check_result(checked.get("tool_call_id"), unanswered)
    elif unanswered:
        raise InvalidInputError(
            f"The tool calls {show_value(unanswered)} have no result yet, so a message with the role "
            f"{role!r} cannot follow. Append their results first. AgentMemory.interrupt() adds placeholders "
            "instead."
        )
    if role == "assistant":
        _check_calls(checked.get("tool_calls"))
    return checked


def _check_content(role: str, content: object, may_be_empty: bool, name: str) -> None:
    if isinstance(content, str) or (content is None and role == "assistant"):
        if content is None and not may_be_empty:
            raise InvalidInputError(f"{name} has neither content nor tool calls. Add either.")
        return
    parts = cast("list[object]", content) if isinstance(content, list) else [None]
    if not all(isinstance(part, dict) and "type" in part for part in parts):
        raise InvalidInputError(
            f"{name}, with the role {role!r}, has a content that is neither text nor a list of parts. "
            "Pass text."
        )


def _check_result(call: object, unanswered: list[str]) -> None:
    if call not in unanswered:
        waiting = f"only {show_value(unanswered)} wait" if unanswered else "no call waits"
        raise InvalidInputError(
            f"A tool result answers the call {show_value(call)}, but {waiting} for a result. Append the "
            "assistant message with its tool_calls first, and each result once."
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
    """Return the ids of a message's tool calls."""
    return [call["id"] for call in message.get("tool_calls") or ()]


def join_query(arguments: object, request: str | None) -> str | None:
    """Return a query for a tool's result: the arguments of its call and the user's request; None if empty."""
    words = "" if arguments in (None, "", "{}", {}) else arguments
    return f"{words} {request or ''}".strip() or None


def get_text(message: Message) -> str:
    """Return the text of a message, without parts such as images."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or "") for part in content or () if part["type"] == "text")


def replace_text(message: Message, text: str) -> Json:
    """Return a copy of the message with `text` in place of its text. Parts such as images stay."""
    changed = copy.deepcopy(dict(message))
    content = changed.get("content")
    if isinstance(content, list):
        parts = cast("list[Json]", content)
        positions = [position for position, part in enumerate(parts) if part["type"] == "text"]
        first = positions[0] if positions else 0
        text_part: Json = {**parts[first], "text": text} if positions else {"type": "text", "text": text}
        before = [part for part in parts[:first] if part["type"] != "text"]
        after = [part for part in parts[first:] if part["type"] != "text"]
        changed["content"] = [*before, text_part, *after]
    else:
        changed["content"] = text
    return changed


def measure_tokens(messages: Sequence[Message], count: Callable[[str], int]) -> int:
    """Count the tokens of the messages, including roles and calls. `count` counts the tokens of a text."""
    total = 0
    for message in messages:
        total += PER_MESSAGE + count(get_text(message))
        content = message.get("content")
        if isinstance(content, list):
            total += PER_IMAGE * sum(part["type"] != "text" for part in cast("list[Json]", content))
        others = {k: v for k, v in message.items() if k not in _COUNTED_OTHERWISE and v is not None}
        total += count(json.dumps(others, ensure_ascii=False)) if others else 0
        for call in message.get("tool_calls") or ():
            total += PER_MESSAGE + count(json.dumps(call, ensure_ascii=False))
    return total


def render_messages(messages: Sequence[Message]) -> str:
    """Render the messages and tool calls as plain text, with a blank line between them."""
    lines: list[str] = []
    for message in messages:
        text = get_text(message)
        if text.strip():
            lines.append(f"{message['role']}: {text}")
        for call in message.get("tool_calls") or ():
            function = call.get("function", {})
            lines.append(f"{message['role']} calls {function.get('name')}: {function.get('arguments')}")
    return "\n\n".join(lines)


SHORTENED = "[shortened]\n"
"""Start of a shortened tool result."""
LEFT_OUT = "[left out]"
"""Text in place of a tool result that was dropped whole. It is not empty, because servers refuse an empty
result. A result with no more tokens than the longer of this and `SHORTENED` stays unchanged."""
MIN_TIME_S = 0.001
"""Time limit of a further attempt if no time is left."""


class TextCompressor(Protocol):
    """The part of `tersely.Compressor` that `compress_messages` uses."""

    def compress(
        self,
        query: str | None,
        docs: Sequence[str],
        *,
        budget: int | None = ...,
        rate: float | None = ...,
        timeout: float | None = ...,
    ) -> Compression:
        """Keep the parts of each text that the query needs. Without a query, cover as much of the texts as
        possible."""
        ...

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text. Limits are in these tokens."""
        ...


@dataclass(frozen=True, slots=True)
class CompressedMessages:
    """The messages, and the receipt for the texts left out."""

    messages: list[Json]
    """The messages: one for each input message, in the same order."""
    results: tuple[int, ...]
    """Positions of the tool results that were given to the compressor, newest first."""
    receipt: Compression
    """The compression of the texts of these tool results, with its kept and dropped spans. A document of the
    receipt with source i belongs to message results[i]."""
    tokens_before: int
    """Number of tokens of all messages, including those that roles and calls add."""
    tokens_after: int


def compress_messages(
    compressor: TextCompressor,
    messages: Sequence[Message],
    *,
    query: str | None = None,
    budget: int | None = None,
    rate: float | None = None,
    timeout: float | None = None,
) -> CompressedMessages:
    """Compress the tool results of `messages` for a query.

    Args:
        compressor: chooses the parts to keep, and counts tokens.
        messages: in OpenAI's format.
        query: the question that the results should answer; None for the last words of the user. Without
            either, the parts that cover as much of the results as possible are kept; then `budget` or `rate`
            is needed.
        budget: the largest number of tokens of all messages, including those that roles and calls add.
        rate: the same limit, as a share of `tokens_before`, in (0, 1]. With neither `budget` nor `rate`, the
            results keep the parts that score above the model's own threshold.
        timeout: seconds until the result is due, as in `Compressor.compress`.

    Raises:
        InvalidInputError: an argument cannot be used, or the messages exceed the limit even with every
            long tool result left out.
    """
    before = _check_messages(messages)
    query = _find_last_request(before) if query is None else check_query(query)
    options = CompressionOptions(budget=budget, rate=rate, timeout=timeout)
    if query is None and not options.is_limited:
        raise InvalidInputError(
            "There is no query, and no message has words of the user, so nothing says how much is enough. "
            "Pass query, budget or rate."
        )
    started = time.monotonic()
    count = compressor.count_tokens
    placeholder_tokens = max(map(count, (LEFT_OUT, SHORTENED)))
    results = _find_long_results(before, placeholder_tokens, count)
    texts = [get_text(before[position]) for position in results]
    tokens_before = measure_tokens(before, count)
    limit = options.limit(tokens_before)

    def apply(**limits: Any) -> CompressedMessages:
        if options.timeout is not None:
            limits["timeout"] = max(MIN_TIME_S, options.timeout - (time.monotonic() - started))
        compression = compressor.compress(query, texts, **limits)
        # Above the limit, leave out results without text, whatever the status of the others.
        if limit >= tokens_before and compression.status not in ("compressed", "degraded"):
            return CompressedMessages(before, results, compression, tokens_before, tokens_before)
        after = _replace_results(before, results, compression, count)
        return CompressedMessages(after, results, compression, tokens_before, measure_tokens(after, count))

    if not options.is_limited:
        return apply()
    if limit >= tokens_before:
        return apply(rate=1.0)
    smallest = tokens_before - sum(count(text) - placeholder_tokens for text in texts)
    room = max(1, limit - smallest)
    while smallest <= limit:
        result = apply(budget=room)
        # A text may have more tokens in its message than in the joined text, so measure again.
        if result.tokens_after <= limit:
            return result
        if room == 1:
            smallest = result.tokens_after
        room = max(1, room - (result.tokens_after - limit))
    raise InvalidInputError(
        f"Only tool results become shorter; even with every long one left out, the messages take {smallest} "
        f"tokens, and the limit is {limit}. Raise it, or use tersely_agents.memory.AgentMemory, which "
        "replaces most messages with notes."
    )


def _find_long_results(messages: Sequence[Json], limit: int, count: Callable[[str], int]) -> tuple[int, ...]:
    """Return the positions of tool results with more than `limit` tokens, newest first.

    If two results say the same, the compressor keeps the one that it gets first, which is then the newer one.
    """
    long = [i for i, m in enumerate(messages) if m["role"] == "tool" and count(get_text(m)) > limit]
    return tuple(reversed(long))


def _replace_results(
    messages: Sequence[Json], results: Sequence[int], compression: Compression, count: Callable[[str], int]
) -> list[Json]:
    """Return the messages with the compressed texts of `results`, if those are shorter."""
    kept = {document.source: document.text for document in compression.documents}
    after = list(messages)
    for number, position in enumerate(results):
        before = get_text(messages[position])
        text = SHORTENED + kept[number] if number in kept else LEFT_OUT
        is_whole = number in kept and kept[number].strip() == before.strip()
        if not is_whole and count(text) < count(before):
            after[position] = replace_text(messages[position], text)
    return after


def _check_messages(messages: object) -> list[Json]:
    """Return copies of the messages. Raises InvalidInputError if they are not a valid chat."""
    if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
        raise InvalidInputError(
            f"The messages are {type_name(messages)}. Pass a list of mappings with role and content."
        )
    checked: list[Json] = []
    unanswered: list[str] = []
    for index, message in enumerate(cast("Sequence[object]", messages)):
        checked.append(check_message(message, unanswered, f"Message {index}"))
        if checked[-1]["role"] == "tool":
            unanswered.remove(checked[-1]["tool_call_id"])
        else:
            unanswered = get_call_ids(checked[-1])
    return checked


def _find_last_request(messages: Sequence[Json]) -> str | None:
    texts = (get_text(message) for message in reversed(messages) if message["role"] == "user")
    return find_last_request(texts) or None
