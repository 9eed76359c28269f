"""What a turn costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Unpack

from tersely.chat.protocol import ChatModel, Message, Options, Reply
from tersely.chat.transcript import size


def count_call(messages: Sequence[Message], reply: Reply, count: Callable[[str], int]) -> tuple[int, int]:
    """Tokens of a call, in and out: the server's where it tells them, else those of `count`."""
    if reply.usage is not None:
        return reply.usage.input_tokens, reply.usage.output_tokens
    written = count(reply.text) + sum(count(call.arguments) for call in reply.tool_calls)
    return size(messages, count), written


class Billed:
    """A chat model, and the tokens and seconds since it was made."""

    def __init__(self, model: ChatModel, count: Callable[[str], int]) -> None:
        self._model, self._count = model, count
        self._started = perf_counter()
        self.name = model.name
        self.tokens_in = 0
        self.tokens_out = 0

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """See `ChatModel.complete`."""
        return self.add(messages, self._model.complete(messages, **options))

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """See `ChatModel.acomplete`."""
        return self.add(messages, await self._model.acomplete(messages, **options))

    def seconds(self) -> float:
        return perf_counter() - self._started

    def add(self, messages: Sequence[Message], reply: Reply) -> Reply:
        """Count a call; its reply."""
        tokens_in, tokens_out = count_call(messages, reply, self._count)
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out
        return reply
