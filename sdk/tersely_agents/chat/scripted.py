"""A chat model with prepared replies, for tests and demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tersely.inputs import check_members
from tersely_agents.chat.protocol import ChatError, Message, Reply

Answer = str | Reply | Exception


class ScriptedChat:
    """A model that replies from a script.

    Args:
        script: the answers in their order, or a function from messages to an answer. An answer is a text, a
            `Reply`, or an exception to raise.

    Attributes:
        requests: messages and options of every call so far.
    """

    name = "scripted"

    def __init__(self, script: Iterable[Answer] | Callable[[Sequence[Message]], Answer]) -> None:
        if not callable(script):
            check_members(script, ("__iter__",), "The script", "Pass a list of answers, or a function.")
        self._script = script if callable(script) else iter(script)
        self.requests: list[tuple[list[Message], dict[str, Any]]] = []

    def complete(self, messages: Sequence[Message], **options: Any) -> Reply:
        """Return the next answer of the script. Raises ChatError at the end of the list."""
        self.requests.append((list(messages), options))
        if callable(self._script):
            answer = self._script(messages)
        else:
            answer = next(self._script, ChatError("the script has no more answers"))
        if isinstance(answer, Exception):
            raise answer
        return Reply(answer) if isinstance(answer, str) else answer

    async def acomplete(self, messages: Sequence[Message], **options: Any) -> Reply:
        """Do the same as `complete`."""
        return self.complete(messages, **options)
