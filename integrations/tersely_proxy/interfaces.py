"""The tool that opens shortened texts, in the words of each chat interface."""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tersely_proxy.json_strings import append_items

Json = dict[str, Any]

TOOL = "tersely_original"
"""Name of the tool."""
_DESCRIPTION = (
    "Return the whole text of a tool result or document that begins with a line such as [shortened from 2140 "
    "tokens; id of the original: 6f0c2a9d41b7]. Call it only if the shortened text lacks what you need."
)
_SCHEMA: Json = {
    "type": "object",
    "properties": {"id": {"type": "string", "description": "the id in that line"}},
    "required": ["id"],
    "additionalProperties": False,
}
UNKNOWN = "There is no original with this id in this conversation. Call the tool again that gave the result."


class Call(NamedTuple):
    """A call of the tool."""

    id: str
    key: str
    """Id of the original that is asked for."""


class Interface(ABC):
    """A chat interface: the proxy needs these values to offer the tool and to answer its calls."""

    turns: str
    """Key of the request's list that holds the conversation."""

    def offer(self, text: str, body: Any) -> str | None:
        """Return a request's JSON text with the tool; None if the tool cannot be offered in it."""
        return append_items(text, "tools", [self.make_tool()]) if self.can_offer(body) else None

    def can_offer(self, body: Any) -> bool:
        """Return whether the tool can be offered in a request."""
        tools = body.get("tools", []) if isinstance(body, dict) else None
        if not isinstance(tools, list) or not self.can_answer(body):
            return False
        return not any(self.read_name(tool) == TOOL for tool in tools if isinstance(tool, dict))

    def extend(self, text: str, answer: Json, results: Mapping[str, str]) -> str:
        """Return the next request: the last one, the model's answer, and the results by the calls' ids."""
        return append_items(text, self.turns, self.write_turns(answer, results))

    @abstractmethod
    def can_answer(self, body: Json) -> bool:
        """Return whether a call in the answer to this request could be answered by a further request."""

    @abstractmethod
    def make_tool(self) -> Json: ...

    @abstractmethod
    def read_name(self, tool: Json) -> Any: ...

    @abstractmethod
    def find_calls(self, answer: Json) -> list[Call]:
        """Return the calls of the tool in a complete answer."""

    @abstractmethod
    def write_turns(self, answer: Json, results: Mapping[str, str]) -> list[Json]:
        """Return the turns of the model and of the tool. Calls of other tools are left out."""

    @abstractmethod
    def hide(self, answer: Json, *, all_calls: bool) -> Json:
        """Return an answer without calls of the tool; with `all_calls`, without any call.

        Thoughts at the end that belong to a call left out may be left out with it.
        """

    @abstractmethod
    def join(self, first: Json, second: Json) -> Json:
        """Return the second answer with the visible parts of the first, and with the tokens of both."""


class Chat(Interface):
    """OpenAI's chat completions."""

    turns = "messages"

    def can_answer(self, body: Json) -> bool:
        return body.get("n") in (None, 1) and isinstance(body.get("messages"), list)

    def make_tool(self) -> Json:
        return {
            "type": "function",
            "function": {"name": TOOL, "description": _DESCRIPTION, "parameters": _SCHEMA},
        }

    def read_name(self, tool: Json) -> Any:
        function = tool.get("function")
        return function.get("name") if isinstance(function, dict) else None

    def find_calls(self, answer: Json) -> list[Call]:
        choice = answer["choices"][0]
        if choice.get("finish_reason") not in ("tool_calls", "stop", "function_call"):
            return []
        calls = choice["message"].get("tool_calls") or []
        return [
            Call(call["id"], _read_key(call["function"]["arguments"]))
            for call in calls
            if self.read_name(call) == TOOL
        ]

    def write_turns(self, answer: Json, results: Mapping[str, str]) -> list[Json]:
        message = {key: value for key, value in answer["choices"][0]["message"].items() if value}
        message.pop("annotations", None)
        message["tool_calls"] = [call for call in message["tool_calls"] if call["id"] in results]
        return [
            message,
            *({"role": "tool", "tool_call_id": key, "content": text} for key, text in results.items()),
        ]

    def hide(self, answer: Json, *, all_calls: bool) -> Json:
        shown = copy.deepcopy(answer)
        choice = shown["choices"][0]
        calls = choice["message"].pop("tool_calls", None) or []
        left = [call for call in calls if self.read_name(call) != TOOL and not all_calls]
        if left:
            choice["message"]["tool_calls"] = left
        elif calls:
            choice["finish_reason"] = "stop"
        return shown

    def join(self, first: Json, second: Json) -> Json:
        joined = {**second, "usage": add_usage(first.get("usage"), second.get("usage"))}
        message = joined["choices"][0]["message"]
        texts = [one["choices"][0]["message"].get("content") for one in (first, second)]
        message["content"] = "\n\n".join(text for text in texts if text) or None
        return joined


class Messages(Interface):
    """Anthropic's messages."""

    turns = "messages"

    def can_answer(self, body: Json) -> bool:
        return isinstance(body.get("messages"), list)

    def make_tool(self) -> Json:
        return {"name": TOOL, "description": _DESCRIPTION, "input_schema": _SCHEMA}

    def read_name(self, tool: Json) -> Any:
        return tool.get("name")

    def find_calls(self, answer: Json) -> list[Call]:
        if answer.get("stop_reason") != "tool_use":
            return []
        return [Call(block["id"], _read_key(block["input"])) for block in answer["content"] if is_ours(block)]

    def write_turns(self, answer: Json, results: Mapping[str, str]) -> list[Json]:
        said = [b for b in answer["content"] if b.get("type") != "tool_use" or b["id"] in results]
        opened = [
            {"type": "tool_result", "tool_use_id": key, "content": text} for key, text in results.items()
        ]
        return [{"role": "assistant", "content": said}, {"role": "user", "content": opened}]

    def hide(self, answer: Json, *, all_calls: bool) -> Json:
        left = [
            b for b in answer["content"] if not (b.get("type") == "tool_use" if all_calls else is_ours(b))
        ]
        if all_calls:
            left = _drop_last_thoughts(left)
        reason = answer.get("stop_reason")
        if reason == "tool_use" and not any(block.get("type") == "tool_use" for block in left):
            reason = "end_turn"
        return {**answer, "content": left, "stop_reason": reason}

    def join(self, first: Json, second: Json) -> Json:
        later = second["content"]
        if first["content"]:  # the client lacks the call that later thoughts follow
            later = [block for block in later if not is_thought(block)]
        usage = add_usage(first.get("usage"), second.get("usage"))
        return {**second, "content": [*first["content"], *later], "usage": usage}


class Responses(Interface):
    """OpenAI's responses."""

    turns = "input"

    def can_answer(self, body: Json) -> bool:
        return not (body.get("conversation") or body.get("background")) and isinstance(
            body.get("input"), str | list
        )

    def make_tool(self) -> Json:
        return {
            "type": "function",
            "name": TOOL,
            "description": _DESCRIPTION,
            "parameters": _SCHEMA,
            "strict": False,
        }

    def read_name(self, tool: Json) -> Any:
        return tool.get("name")

    def find_calls(self, answer: Json) -> list[Call]:
        if answer.get("status") != "completed":
            return []
        return [
            Call(item["call_id"], _read_key(item["arguments"])) for item in answer["output"] if is_ours(item)
        ]

    def extend(self, text: str, answer: Json, results: Mapping[str, str]) -> str:
        body = json.loads(text)
        if isinstance(body["input"], str):
            text = json.dumps({**body, "input": [{"role": "user", "content": body["input"]}]})
        turns = self.write_turns(answer, results)
        if body.get("store") is False:  # the server keeps no thoughts
            turns = [one for one in turns if one.get("type") != "reasoning" or one.get("encrypted_content")]
        return append_items(text, self.turns, turns)

    def write_turns(self, answer: Json, results: Mapping[str, str]) -> list[Json]:
        said = [item for item in answer["output"] if not is_call(item) or item.get("call_id") in results]
        return [
            *said,
            *(
                {"type": "function_call_output", "call_id": key, "output": text}
                for key, text in results.items()
            ),
        ]

    def hide(self, answer: Json, *, all_calls: bool) -> Json:
        left = [item for item in answer["output"] if not (is_call(item) if all_calls else is_ours(item))]
        return {**answer, "output": _drop_last_thoughts(left)}

    def join(self, first: Json, second: Json) -> Json:
        usage = add_usage(first.get("usage"), second.get("usage"))
        return {**second, "output": [*first["output"], *second["output"]], "usage": usage}


INTERFACES: dict[str, Interface] = {
    "/chat/completions": Chat(),
    "/responses": Responses(),
    "/responses/input_tokens": Responses(),
    "/messages": Messages(),
    "/messages/count_tokens": Messages(),
    ":rawPredict": Messages(),
    ":streamRawPredict": Messages(),
}
"""The interface of each request that may get the tool, by the end of its path. Requests that only count
tokens get it too, so that it is counted."""


def is_call(item: Json) -> bool:
    """Return whether a block or an item is a call of a tool that the client runs."""
    return item.get("type") in (
        "tool_use",
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "shell_call",
    )


def is_ours(item: Json) -> bool:
    """Return whether a block or an item is a call of the tool that the proxy answers."""
    return is_call(item) and item.get("name") == TOOL


def is_thought(item: Json) -> bool:
    """Return whether a block or an item is a thought of the model, which belongs to the one after it."""
    return item.get("type") in ("thinking", "redacted_thinking", "reasoning")


def add_usage(first: Any, second: Any) -> Any:
    """Return the sums of the counts of two usage objects."""
    if isinstance(first, dict) and isinstance(second, dict):
        return {**first, **{key: add_usage(first.get(key), value) for key, value in second.items()}}
    if type(first) is int and type(second) is int:
        return first + second
    return first if second is None else second


def _drop_last_thoughts(items: Sequence[Json]) -> list[Json]:
    """Leave out thoughts at the end, because the call that they belong to is not shown."""
    left = list(items)
    while left and is_thought(left[-1]):
        left.pop()
    return left


def _read_key(arguments: Any) -> str:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return ""
    return str(arguments.get("id", "")) if isinstance(arguments, dict) else ""
