"""What a turn costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Unpack

from tersely.chat.protocol import ChatModel, Message, Options, Reply
from tersely.chat.transcript import size


class Billed:
    """A chat model, and the tokens and seconds since it was made.

    Tokens are the server's where it tells them, else those of `count`.
    """

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
        if reply.usage is not None:
            self.tokens_in += reply.usage.input_tokens
            self.tokens_out += reply.usage.output_tokens
        else:
            self.tokens_in += size(messages, self._count)
            self.tokens_out += self._count(reply.text)
            self.tokens_out += sum(self._count(call.arguments) for call in reply.tool_calls)
        return reply
