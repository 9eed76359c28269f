"""The protocol of chat models, and the chat completions of servers with OpenAI's protocol.

Messages have OpenAI's format: mappings with "role", "content" and so on.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, Protocol, TypedDict, Unpack, cast, runtime_checkable

from tersely.errors import InvalidInputError, TerselyError
from tersely.inputs import check_count, check_list, show_value, type_name
from tersely.messages import Message, measure_tokens
from tersely.runtime.limits import repair_surrogates

_KINDS: dict[str, type] = {"temperature": Real, "top_p": Real, "top_k": Integral, "seed": Integral}
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
MALFORMED_ERRORS = (ValueError, AttributeError, TypeError, KeyError, IndexError, RecursionError)
"""Errors that reading raises if an answer is not a chat completion."""
_MAX_COUNT = 2**53


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
    """Arguments of the call: JSON, exactly as the model wrote it."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reply."""

    text: str
    logprob: float
    """Log-probability in nats, as the server reports it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The next message of a model."""

    text: str
    """The text of the message; empty if the model only calls tools."""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"
    """The reason why the reply ended, in the server's words: "stop", "length", "tool_calls", ..."""
    usage: Usage | None = None
    """Tokens of the request and the reply; None if the server does not report them."""
    tokens: tuple[Token, ...] = ()
    """The tokens, with the option `logprobs`; empty if the server does not report them."""


class Sampling(TypedDict, total=False):
    """Options for the generation of a reply. The server chooses the values that are missing or None."""

    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    seed: int | None
    stop: Sequence[str] | None


class Options(Sampling, total=False):
    """Options that a call may have in addition to its messages."""

    tools: Sequence[Mapping[str, Any]] | None
    tool_choice: Literal["auto", "none", "required"] | None
    logprobs: bool | None
    grammar: str | None
    """The form of the reply, in llama.cpp's GBNF. Only `LocalChat` and llama.cpp's server know it."""
    continue_last: bool | None
    """True to continue the last message, which must be the assistant's. The servers of vLLM, SGLang and
    llama.cpp can do that."""


def check_sampling(sampling: Mapping[str, Any]) -> Sampling:
    """Return the options. Raises InvalidInputError for an unknown option or a value that cannot be used."""
    for name, value in sampling.items():
        if name not in Sampling.__annotations__:
            known = ", ".join(Sampling.__annotations__)
            raise InvalidInputError(f"There is no option {show_value(name)}. The options are: {known}.")
        if value is None:
            continue
        if name == "max_tokens":
            check_count(value, name, "tokens")
        elif name == "stop":
            check_list(value, str, name, "Pass a list of texts, even for one.")
        elif isinstance(value, bool) or not isinstance(value, _KINDS[name]):
            raise InvalidInputError(f"{name} is {type_name(value)}. Pass a number.")
        elif name in ("temperature", "top_p") and not (math.isfinite(value) and value >= 0):
            raise InvalidInputError(f"{name} is {value}. Pass a number, 0 or more.")
    return cast("Sampling", sampling)


def count_call(messages: Sequence[Message], reply: Reply, count: Callable[[str], int]) -> tuple[int, int]:
    """Return input and output tokens of a call: those that the server reports, or else those of `count`."""
    if reply.usage is not None:
        return reply.usage.input_tokens, reply.usage.output_tokens
    written = count(reply.text) + sum(count(call.arguments) for call in reply.tool_calls)
    return measure_tokens(messages, count), written


def remove_thoughts(text: str) -> str:
    """Remove the <think> blocks of a reasoning model, even if the last block was cut off."""
    return _THOUGHT.sub("", text).rpartition("</think>")[2].strip()


@runtime_checkable
class ChatModel(Protocol):
    """A model that replies to messages. Several threads or tasks may call both methods at once."""

    name: str
    """The model's name in traces and receipts."""

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """Return the model's next message. Raises ChatError if the model gives none."""
        ...

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """Do the same as `complete` without blocking the event loop."""
        ...


def complete_safely(model: ChatModel, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
    """Call `model.complete`. Raises ChatError for any exception, and for anything but a `Reply`."""
    with _raise_chat_errors(model):
        return _check_reply(model.complete(messages, **options))


async def acomplete_safely(
    model: ChatModel, messages: Sequence[Message], **options: Unpack[Options]
) -> Reply:
    """Call `model.acomplete`. Raises ChatError for any exception, and for anything but a `Reply`."""
    with _raise_chat_errors(model):
        return _check_reply(await model.acomplete(messages, **options))


@contextmanager
def _raise_chat_errors(model: ChatModel) -> Generator[None]:
    try:
        yield
    except ChatError:
        raise
    except Exception as error:  # a caller's model may raise anything
        name = getattr(model, "name", None) or type(model).__name__
        cause = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        raise ChatError(f"{name} gave no reply ({cause}). Check the model.") from error


def _check_reply(reply: object) -> Reply:
    if not isinstance(reply, Reply):
        raise TypeError(f"the reply is a {type(reply).__name__}, not a tersely_agents.chat.Reply")
    texts: list[object] = [reply.text, reply.finish]
    for call in cast("Sequence[object]", reply.tool_calls):
        if not isinstance(call, ToolCall):
            raise TypeError(f"a tool call is a {type(call).__name__}, not a tersely_agents.chat.ToolCall")
        texts += [call.id, call.name, call.arguments]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text of the reply is not a str")
    if not isinstance(cast("object", reply.usage), Usage | None):
        raise TypeError(f"the usage is a {type(reply.usage).__name__}, not a tersely_agents.chat.Usage")
    return reply


def parse_reply(answer: Any) -> Reply:
    """Return the reply in a chat completion. Raises one of `MALFORMED_ERRORS` for anything else."""
    choice = answer["choices"][0]
    message = choice["message"]
    if not isinstance(message, dict):
        raise TypeError("the message is not an object")
    fields = cast("dict[str, Any]", message)
    calls = tuple(
        ToolCall(
            _read_name(call.get("id")), _read_name(function.get("name")), _read_text(function["arguments"])
        )
        for call in fields.get("tool_calls") or ()
        if (function := call.get("function")) is not None
    )
    text, finish = _read_text(fields.get("content")), _read_name(choice.get("finish_reason"))
    usage, tokens = _read_usage(answer.get("usage")), _read_tokens(choice.get("logprobs"))
    return Reply(text, calls, finish or "stop", usage, tokens)


def _read_name(value: Any) -> str:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"a name is {type(value).__name__}")
    return repair_surrogates(value or "")


def _read_text(value: Any) -> str:
    """Read a text that some servers send as a list of parts or, if it is JSON, as an object."""
    if isinstance(value, list):
        parts = cast("list[dict[str, Any]]", value)
        text = "".join(str(part.get("text") or "") for part in parts)
    else:
        text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
    return repair_surrogates(text)


def _read_usage(usage: Any) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    counts = cast("dict[str, Any]", usage)
    details = counts.get("prompt_tokens_details")
    cached = cast("dict[str, Any]", details).get("cached_tokens") if isinstance(details, dict) else None
    return Usage(*map(_read_count, (counts.get("prompt_tokens"), counts.get("completion_tokens"), cached)))


def _read_count(count: Any) -> int:
    """Return a number of tokens; 0 for anything else, such as one that a database could not hold."""
    is_count = isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= _MAX_COUNT
    return count if is_count else 0


def _read_tokens(logprobs: Any) -> tuple[Token, ...]:
    """Return the tokens of a reply with their log-probabilities; none if the server sends none."""
    if not isinstance(logprobs, dict):
        return ()
    rows: Any = cast("dict[str, Any]", logprobs).get("content") or ()
    return tuple(Token(repair_surrogates(str(row["token"])), float(row["logprob"])) for row in rows)
