"""What a chat model is. Messages are OpenAI's: mappings with "role", "content", and so on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypedDict, Unpack, runtime_checkable

from tersely.errors import TerselyError

Message = Mapping[str, Any]

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


class ChatError(TerselyError):
    """The model did not answer: it is down, too slow, refuses the request, or what came back is no answer."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, as the server counts them."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    """Those of the input that its prompt cache held."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: str
    """JSON, exactly as the model wrote it."""


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    """Empty where the model only calls tools."""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"
    """Why it ended, in the server's words: "stop", "length", "tool_calls", ..."""
    usage: Usage | None = None
    """None where the server does not say."""


class Sampling(TypedDict, total=False):
    """How a reply is written; what is missing or None is left to the server."""

    max_tokens: int | None
    temperature: float | None
    stop: Sequence[str] | None


class Options(Sampling, total=False):
    """What a call may say beside its messages."""

    tools: Sequence[Mapping[str, Any]] | None
    tool_choice: Literal["auto", "none", "required"] | None


def without_thought(text: str) -> str:
    """A reply without what a reasoning model thinks aloud, also where it was cut off in the middle of it."""
    return _THOUGHT.sub("", text).rpartition("</think>")[2].strip()


@runtime_checkable
class ChatModel(Protocol):
    """Takes messages, gives a reply. Both methods may be called from several threads or tasks at once."""

    name: str
    """For traces and receipts."""

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """The model's next message; what is not given is left to the model. Raises ChatError where there
        is none."""
        ...

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """`complete` without blocking the event loop."""
        ...
