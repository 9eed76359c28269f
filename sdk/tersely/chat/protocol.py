"""The protocol of chat models. Messages have OpenAI's format: mappings with "role", "content" and so on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypedDict, Unpack, runtime_checkable

from tersely.errors import TerselyError

Message = Mapping[str, Any]

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


class ChatError(TerselyError):
    """The model gave no answer: it is down or too slow, refuses the request, or its reply is malformed."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, as the server counts them."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    """Input tokens that came from the server's prompt cache."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool by the model."""

    id: str
    name: str
    arguments: str
    """JSON, exactly as the model wrote it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The next message of a model."""

    text: str
    """Empty if the model only calls tools."""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"
    """Why the reply ended, as the server names it: "stop", "length", "tool_calls", ..."""
    usage: Usage | None = None
    """None if the server does not report it."""


class Sampling(TypedDict, total=False):
    """How a reply is generated. The server decides about what is missing or None."""

    max_tokens: int | None
    temperature: float | None
    stop: Sequence[str] | None


class Options(Sampling, total=False):
    """What a call may contain in addition to its messages."""

    tools: Sequence[Mapping[str, Any]] | None
    tool_choice: Literal["auto", "none", "required"] | None


def remove_thoughts(text: str) -> str:
    """A reply without the <think> blocks of a reasoning model, also if the last block was cut off."""
    return _THOUGHT.sub("", text).rpartition("</think>")[2].strip()


@runtime_checkable
class ChatModel(Protocol):
    """Replies to messages. Several threads or tasks may call both methods at once."""

    name: str
    """For traces and receipts."""

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """The model's next message. Raises ChatError if there is none."""
        ...

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """`complete` without blocking the event loop."""
        ...
