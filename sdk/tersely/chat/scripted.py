"""A chat model without a model, for tests and demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tersely.chat.protocol import ChatError, Message, Reply

Answer = str | Reply | Exception


class ScriptedChat:
    """Gives what it is told to give: the next of a list, or what a function makes of the messages.

    An exception among the answers is raised. `asked` remembers the messages and options of every call.
    """

    name = "scripted"

    def __init__(self, script: Iterable[Answer] | Callable[[Sequence[Message]], Answer]) -> None:
        self._script = script if callable(script) else iter(script)
        self.asked: list[tuple[list[Message], dict[str, Any]]] = []

    def complete(self, messages: Sequence[Message], **options: Any) -> Reply:
        """See `ChatModel.complete`. Raises ChatError at the end of the list."""
        self.asked.append((list(messages), options))
        if callable(self._script):
            answer = self._script(messages)
        else:
            answer = next(self._script, ChatError("the script has no more answers"))
        if isinstance(answer, Exception):
            raise answer
        return Reply(answer) if isinstance(answer, str) else answer

    async def acomplete(self, messages: Sequence[Message], **options: Any) -> Reply:
        """See `ChatModel.acomplete`."""
        return self.complete(messages, **options)
