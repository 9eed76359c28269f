"""Tool calls of a model: reading them and running the tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from tersely_agents.agent.tools import Tool, ToolError
from tersely_agents.chat.protocol import ToolCall


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave."""

    text: str
    """For the model; an error too."""
    error: str | None = None
    is_broken: bool = False
    """Whether the tool itself failed. Else an error is the model's: arguments that the tool cannot use."""


def run_tool(tool: Tool, arguments: Mapping[str, str]) -> Result:
    """Run the tool. One that breaks is data for the model, not the end."""
    try:
        tool.check(arguments)
        result = cast("object", tool.run(arguments))
        if not isinstance(result, str):
            raise TypeError(f"{tool.name} gave a {type(result).__name__} and not a text")
        return Result(result)
    except ToolError as error:
        return Result(f"[error: {error}]", str(error))
    except Exception as error:  # noqa: BLE001 - tools are the user's, and the model may know another way
        message = f"{type(error).__name__}: {error}"
        return Result(f"[error: {message}]", message, is_broken=True)


def with_ids(calls: Sequence[ToolCall], turn: int) -> tuple[ToolCall, ...]:
    """The calls with an id each, which some servers leave out or repeat."""
    seen: set[str] = set()
    named: list[ToolCall] = []
    for number, call in enumerate(calls):
        own = replace(call, id=f"call_{turn}_{number}") if not call.id or call.id in seen else call
        seen.add(own.id)
        named.append(own)
    return tuple(named)


def read_call(call: ToolCall, tools: Sequence[Tool]) -> tuple[Tool | None, dict[str, str], str]:
    """The tool and its arguments as texts; where there is no such tool, None and the complaint."""
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        return None, {}, f"[error: there is no tool {call.name!r}, only {', '.join(t.name for t in tools)}]"
    try:
        values: object = json.loads(call.arguments or "{}")
    except (ValueError, TypeError, RecursionError) as error:
        return None, {}, f"[error: the arguments are no JSON: {error}]"
    if not isinstance(values, dict):
        return None, {}, "[error: the arguments are no JSON object]"
    given = cast("dict[str, object]", values)
    texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in given.items() if v is not None}
    return tool, texts, ""
