"""Read chat completions, the answers of OpenAI's protocol."""

from __future__ import annotations

import json
from typing import Any, cast

from tersely.runtime.limits import drop_surrogates
from tersely_agents.chat.protocol import Reply, Token, ToolCall, Usage

MALFORMED_ERRORS = (ValueError, AttributeError, TypeError, KeyError, IndexError, RecursionError)
"""Errors of reading an answer that is not a chat completion."""
_MAX_COUNT = 2**53


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
    return drop_surrogates(value or "")


def _read_text(value: Any) -> str:
    """Read a text that some servers send as a list of parts or, if it is JSON, as an object."""
    if isinstance(value, list):
        parts = cast("list[dict[str, Any]]", value)
        text = "".join(str(part.get("text", "")) for part in parts)
    else:
        text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
    return drop_surrogates(text)


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
    return tuple(Token(drop_surrogates(str(row["token"])), float(row["logprob"])) for row in rows)
