"""Count the tokens and seconds of a chat model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Unpack

from tersely.messages import measure_tokens
from tersely_agents.chat.protocol import ChatModel, Message, Options, Reply


def count_call(messages: Sequence[Message], reply: Reply, count: Callable[[str], int]) -> tuple[int, int]:
    """Input and output tokens of a call: those that the server reports, or else those of `count`."""
    if reply.usage is not None:
        return reply.usage.input_tokens, reply.usage.output_tokens
    written = count(reply.text) + sum(count(call.arguments) for call in reply.tool_calls)
    return measure_tokens(messages, count), written


class MeteredChat:
    """A chat model that adds up the tokens of its calls (`count_call`), and the seconds since it was made."""

    def __init__(self, model: ChatModel, count: Callable[[str], int]) -> None:
        self._model, self._count = model, count
        self._started = perf_counter()
        self.name = model.name
        self.tokens_in = 0
        self.tokens_out = 0

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """The model's next message. Raises ChatError if there is none."""
        return self.add(messages, self._model.complete(messages, **options))

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """`complete` without blocking the event loop."""
        return self.add(messages, await self._model.acomplete(messages, **options))

    def seconds(self) -> float:
        """Seconds since this object was made."""
        return perf_counter() - self._started

    def add(self, messages: Sequence[Message], reply: Reply) -> Reply:
        """Add the tokens of a call. Returns its reply."""
        tokens_in, tokens_out = count_call(messages, reply, self._count)
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out
        return reply
