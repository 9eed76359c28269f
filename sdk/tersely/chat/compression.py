"""A chat transcript with shorter tool results: what fills the context of most agents.

Every message stays where it is, with its role, its ids and its tool calls; only the texts of tool results
become shorter. `tersely.memory.AgentMemory` goes further and forgets whole steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from tersely.chat.protocol import Message
from tersely.chat.transcript import Json, call_ids, check_message, size, text_of, with_text
from tersely.errors import InvalidInputError
from tersely.inputs import check_query
from tersely.options import CompressionOptions
from tersely.types import Compression

if TYPE_CHECKING:
    from tersely.compressor import Compressor

SHORTENED = "[shortened]\n"
"""In front of a tool result of which something is missing."""
LEFT_OUT = "[left out]"
"""In place of one of which nothing is kept, because servers refuse an empty one. Results that are no longer
than these stay as they are."""


@dataclass(frozen=True, slots=True)
class CompressedMessages:
    """The transcript and the receipt of what it lost."""

    messages: list[Json]
    """As many as before, in the same order."""
    results: tuple[int, ...]
    """Positions of the tool results that were compressed, the newest first: document i of the receipt is
    message results[i]."""
    receipt: Compression
    tokens_before: int
    """Of all messages, with what roles and calls add."""
    tokens_after: int


def compress_messages(
    compressor: Compressor,
    messages: Sequence[Message],
    *,
    query: str | None = None,
    budget: int | None = None,
    rate: float | None = None,
) -> CompressedMessages:
    """See `Compressor.compress_messages`."""
    before = _checked(messages)
    query = check_query(_last_question(before) if query is None else query)
    options = CompressionOptions(budget=budget, rate=rate)
    count = compressor.count_tokens
    least = max(LEFT_OUT, SHORTENED, key=count)
    long = [i for i, m in enumerate(before) if m["role"] == "tool" and count(text_of(m)) > count(least)]
    results = long[::-1]  # of two that say the same, the newer one is kept
    texts = [text_of(before[i]) for i in results]
    tokens_before = size(before, count)
    limit = options.limit(tokens_before)

    def done(receipt: Compression) -> CompressedMessages:
        if receipt.status != "compressed":
            return CompressedMessages(before, tuple(results), receipt, tokens_before, tokens_before)
        kept = {document.source: document.text for document in receipt.documents}
        after = list(before)
        for number, place in enumerate(results):
            text = SHORTENED + kept[number] if number in kept else LEFT_OUT
            whole = number in kept and kept[number].strip() == texts[number].strip()
            if not whole and count(text) < count(texts[number]):
                after[place] = with_text(before[place], text)
        return CompressedMessages(after, tuple(results), receipt, tokens_before, size(after, count))

    if not options.is_limited:
        return done(compressor.compress(query, texts))
    if limit >= tokens_before:
        return done(compressor.compress(query, texts, rate=1.0))
    bare = tokens_before - sum(count(text) - count(least) for text in texts)
    if bare > limit:
        raise InvalidInputError(
            f"Only tool results become shorter; without them the messages take {bare} tokens, and the limit "
            f"is {limit}. Raise it, or use tersely.memory.AgentMemory, which forgets whole steps."
        )
    room = max(1, limit - bare)
    while True:
        found = done(compressor.compress(query, texts, budget=room))
        # Counters need not add up: the same texts may cost more in messages than together.
        if found.tokens_after <= limit or found.receipt.status == "failed_open" or room == 1:
            return found
        room = max(1, room - (found.tokens_after - limit))


def _checked(messages: object) -> list[Json]:
    """Copies of the messages. Raises InvalidInputError where they are no transcript."""
    if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
        raise InvalidInputError(
            f"The messages are a {type(messages).__name__}. Pass a list of mappings with role and content."
        )
    checked: list[Json] = []
    waiting: list[str] = []
    for message in cast("Sequence[object]", messages):
        checked.append(check_message(message, waiting))
        if checked[-1]["role"] == "tool":
            waiting.remove(checked[-1]["tool_call_id"])
        else:
            waiting = call_ids(checked[-1])
    return checked


def _last_question(messages: Sequence[Json]) -> str:
    for message in reversed(messages):
        if message["role"] == "user" and text_of(message).strip():
            return text_of(message)
    raise InvalidInputError("No message of the user's says what is wanted. Pass query.")
