"""What a model asks for, and what comes of it: replies, their tool calls, and running these."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from tersely.agent.tools import Tool, ToolError
from tersely.chat.protocol import ChatError, ChatModel, Message, Reply, ToolCall, without_thought
from tersely.memory import AgentMemory


def said(model: ChatModel, memory: AgentMemory, schemas: Sequence[Mapping[str, Any]]) -> Reply:
    """The model's next turn. A turn that holds nothing is asked for once more. Raises ChatError where it
    stays empty."""
    prompt = memory.prepare(model, tools=schemas)
    reminder: Message = {"role": "user", "content": "You said nothing. Call a tool, or give your answer."}
    for messages in (prompt, [*prompt, reminder]):
        reply = model.complete(messages, tools=schemas, tool_choice="auto")
        if reply.tool_calls or without_thought(reply.text):
            return reply
    raise ChatError(f"{model.name} twice said nothing")


def run_tool(tool: Tool, arguments: Mapping[str, str]) -> tuple[str, str | None]:
    """What the tool gives, and what it complains about. A tool that breaks is data for the model, not the
    end."""
    try:
        tool.check(arguments)
        result = cast("object", tool.run(arguments))
        if not isinstance(result, str):
            raise TypeError(f"{tool.name} gave a {type(result).__name__} and not a text")
        return result, None
    except ToolError as error:
        return f"[error: {error}]", str(error)
    except Exception as error:  # noqa: BLE001 - tools are the user's, and the model may know another way
        told = f"{type(error).__name__}: {error}"
        return f"[error: {told}]", told


def with_ids(calls: Sequence[ToolCall], turn: int) -> tuple[ToolCall, ...]:
    """The calls with an id each, which some servers leave out or repeat."""
    seen: set[str] = set()
    found: list[ToolCall] = []
    for number, call in enumerate(calls):
        own = replace(call, id=f"call_{turn}_{number}") if not call.id or call.id in seen else call
        seen.add(own.id)
        found.append(own)
    return tuple(found)


def read_call(call: ToolCall, tools: Sequence[Tool]) -> tuple[Tool | None, dict[str, str], str]:
    """The tool and its arguments as texts; without a tool, the complaint."""
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        return None, {}, f"[error: there is no tool {call.name!r}, only {', '.join(t.name for t in tools)}]"
    try:
        values: object = json.loads(call.arguments or "{}")
    except (ValueError, TypeError) as error:
        return None, {}, f"[error: the arguments are no JSON: {error}]"
    if not isinstance(values, dict):
        return None, {}, "[error: the arguments are no JSON object]"
    given = cast("dict[str, object]", values)
    told = {k: v if isinstance(v, str) else json.dumps(v) for k, v in given.items() if v is not None}
    return tool, told, ""
