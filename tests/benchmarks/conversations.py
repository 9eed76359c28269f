"""Conversations of an agent that books boats, as messages of a chat API."""

from __future__ import annotations

import json
from typing import Any

from tersely.messages import Json

FIRST: list[Json] = [
    {"role": "system", "content": "You book boats."},
    {"role": "user", "content": "I am Ada. Book me a boat."},
]


def make_call(key: str, **arguments: Any) -> Json:
    """A message of the assistant that calls the tool `book`."""
    function = {"name": "book", "arguments": json.dumps(arguments)}
    call = {"id": key, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def make_result(key: str, text: str) -> Json:
    """The result of the call `key`."""
    return {"role": "tool", "tool_call_id": key, "content": text}


def make_steps(count: int, text: str) -> list[Json]:
    """Calls with results of the same text, in which {i} stands for the number of the call."""
    steps = ((make_call(f"c{i}", n=i), make_result(f"c{i}", text.format(i=i))) for i in range(count))
    return [message for step in steps for message in step]


REST: list[Json] = [
    make_call("1", name="Ada"),
    make_result("1", "Ada has the number BX-771 and the boats Elsa and Nora."),
    {"role": "user", "content": "Take the cheaper one."},
    make_call("2", boats=["Elsa", "Nora"], number="BX-771", seats=2),
    make_result("2", "Elsa costs 120, Nora 95."),
    make_call("3", boat={"name": "Nora"}, price=95),
    make_result("3", "Done."),
]
