"""Compress the tool results of a chat, which fill the context of most agents.

Every message keeps its place, its role, its ids and its tool calls. Only the texts of tool results become
shorter. `tersely.memory.AgentMemory` goes further and forgets whole steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from tersely.chat.messages import Json, check_message, get_call_ids, get_text, measure_tokens, with_text
from tersely.chat.protocol import Message
from tersely.errors import InvalidInputError
from tersely.inputs import check_query
from tersely.options import CompressionOptions
from tersely.types import Compression

SHORTENED = "[shortened]\n"
"""Start of a tool result of which something was left out."""
LEFT_OUT = "[left out]"
"""Replaces a tool result of which nothing is kept, because servers refuse an empty one. Results that are not
longer than this or `SHORTENED` stay as they are."""
LEAST_TIME_S = 0.001
"""Seconds for a further try where no time is left."""


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
        """Keep what the query needs of each text; for None, what tells most about them."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, by which limits are measured."""
        ...


@dataclass(frozen=True, slots=True)
class CompressedMessages:
    """The messages, and the receipt for what was left out."""

    messages: list[Json]
    """As many as before, in the same order."""
    results: tuple[int, ...]
    """Positions of the compressed tool results, the newest first. Document i of the receipt is message
    results[i]."""
    receipt: Compression
    tokens_before: int
    """Tokens of all messages, including what roles and calls add."""
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
        compressor: chooses what is kept, and counts tokens.
        messages: in OpenAI's format.
        query: what the results are needed for; None for the user's last message. Where there is none, what
            tells most about the results is kept, which needs a limit.
        budget: most tokens of all messages, including what roles and calls add.
        rate: the same as a share of the tokens before. With neither, the results keep what scores above the
            model's own threshold.
        timeout: seconds after which the model stops reading, as in `Compressor.compress`.

    Raises:
        InvalidInputError: an argument cannot be used, or the messages without the tool results exceed the
            limit.
    """
    before = _check_messages(messages)
    query = _find_last_question(before) if query is None else check_query(query)
    options = CompressionOptions(budget=budget, rate=rate, timeout=timeout)
    started = time.monotonic()
    count = compressor.count_tokens
    least = max(map(count, (LEFT_OUT, SHORTENED)))
    results = _find_long_results(before, least, count)
    texts = [get_text(before[position]) for position in results]
    tokens_before = measure_tokens(before, count)
    limit = options.limit(tokens_before)

    def apply(**limits: Any) -> CompressedMessages:
        if options.timeout is not None:
            limits["timeout"] = max(LEAST_TIME_S, options.timeout - (time.monotonic() - started))
        receipt = compressor.compress(query, texts, **limits)
        if receipt.status not in ("compressed", "degraded"):
            return CompressedMessages(before, results, receipt, tokens_before, tokens_before)
        after = _replace_results(before, results, receipt, count)
        return CompressedMessages(after, results, receipt, tokens_before, measure_tokens(after, count))

    if not options.is_limited:
        return apply()
    if limit >= tokens_before:
        return apply(rate=1.0)
    bare = tokens_before - sum(count(text) - least for text in texts)
    if bare > limit:
        raise InvalidInputError(
            f"Only tool results become shorter; without them the messages take {bare} tokens, and the limit "
            f"is {limit}. Raise it, or use tersely.memory.AgentMemory, which forgets whole steps."
        )
    room = max(1, limit - bare)
    while True:
        result = apply(budget=room)
        # Token counts need not add up: texts may cost more inside messages than together.
        if result.tokens_after <= limit or room == 1:
            return result
        room = max(1, room - (result.tokens_after - limit))


def _find_long_results(messages: Sequence[Json], least: int, count: Callable[[str], int]) -> tuple[int, ...]:
    """Positions of tool results with more than `least` tokens, the newest first.

    If two results say the same, the compressor keeps the one that it gets first, so the newer one.
    """
    long = [i for i, m in enumerate(messages) if m["role"] == "tool" and count(get_text(m)) > least]
    return tuple(reversed(long))


def _replace_results(
    messages: Sequence[Json], results: Sequence[int], receipt: Compression, count: Callable[[str], int]
) -> list[Json]:
    """The messages with the compressed texts of `results`, where those are shorter."""
    kept = {document.source: document.text for document in receipt.documents}
    after = list(messages)
    for number, position in enumerate(results):
        before = get_text(messages[position])
        text = SHORTENED + kept[number] if number in kept else LEFT_OUT
        is_whole = number in kept and kept[number].strip() == before.strip()
        if not is_whole and count(text) < count(before):
            after[position] = with_text(messages[position], text)
    return after


def _check_messages(messages: object) -> list[Json]:
    """Copies of the messages. Raises InvalidInputError if they are not a valid chat."""
    if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
        raise InvalidInputError(
            f"The messages are a {type(messages).__name__}. Pass a list of mappings with role and content."
        )
    checked: list[Json] = []
    unanswered: list[str] = []
    for message in cast("Sequence[object]", messages):
        checked.append(check_message(message, unanswered))
        if checked[-1]["role"] == "tool":
            unanswered.remove(checked[-1]["tool_call_id"])
        else:
            unanswered = get_call_ids(checked[-1])
    return checked


def _find_last_question(messages: Sequence[Json]) -> str | None:
    for message in reversed(messages):
        if message["role"] == "user" and get_text(message).strip():
            return get_text(message)
    return None
