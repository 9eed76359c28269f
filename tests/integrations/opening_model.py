"""A stand-in for a model that opens originals, with answers in the form of three interfaces."""

from __future__ import annotations

import json
import re
from typing import Any

from starlette.types import Receive, Scope, Send

from tersely_proxy.interfaces import TOOL
from tests.integrations.samples import KEY_ANSWER, make_page
from tests.servers import read_body, start_and_stop

Json = dict[str, Any]

HIDDEN = "The room has a lamp of the kind number 7."
PAGE = make_page("room", KEY_ANSWER)
SEEN, UNSEEN = "I have read the original.", "I have not read the original."
SEARCH = {"type": "object", "properties": {}}


class Model:
    """A stand-in for a model that opens the first original that it is offered, and then answers.

    `also` makes it call `search` in the same turn as the original, and `after` in the last turn. `rounds` is
    how often it asks for the original.
    """

    def __init__(self) -> None:
        self.url = ""
        self.bodies: list[Json] = []
        self.reset()

    def reset(self, *, also: bool = False, after: bool = False, rounds: int = 1, fails: bool = False) -> None:
        self.bodies.clear()
        self.also, self.after, self.rounds, self.fails = also, after, rounds, fails

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await start_and_stop(receive, send)
        body = json.loads(await read_body(receive))
        self.bodies.append(body)
        texts = json.dumps(body)
        opened = len(self.bodies) - 1
        status = 400 if self.fails and opened else 200
        calls: list[tuple[str, Json]] = []
        found = re.search(r"id of the original: ([0-9a-f]{12})\]", texts)
        if f'"name": "{TOOL}"' in texts and opened < self.rounds:
            calls = [(TOOL, {"id": found[1] if found else "0" * 12})]
        if self.also and calls:
            calls.insert(0, ("search", {}))
        if self.after and not calls:
            calls = [("search", {})]
        text = "Let me look." if opened < self.rounds and calls else SEEN if HIDDEN in texts else UNSEEN
        make = next(make for end, make in MAKERS.items() if scope["path"].endswith(end))
        answer, events = make(text, calls, len(self.bodies))
        parts = [json.dumps(answer).encode()]
        if status != 200:
            parts = [b'{"error": {"message": "too long"}}']
        elif body.get("stream"):
            parts = events
        kind = b"text/event-stream" if body.get("stream") and status == 200 else b"application/json"
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
        for part in parts:  # in the middle of a line, as networks do
            await send({"type": "http.response.body", "body": part[:31], "more_body": True})
            await send({"type": "http.response.body", "body": part[31:], "more_body": True})
        return await send({"type": "http.response.body", "body": b""})


def event(data: Json) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


def make_chat(text: str, calls: list[tuple[str, Json]], number: int) -> tuple[Json, list[bytes]]:
    made = [
        {
            "id": f"c{number}{i}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        for i, (name, given) in enumerate(calls)
    ]
    message: Json = {
        "role": "assistant",
        "content": text,
        "refusal": None,
        **({"tool_calls": made} if made else {}),
    }
    usage = {"prompt_tokens": 10, "completion_tokens": number, "total_tokens": 10 + number}
    head = {"id": f"chatcmpl-{number}", "created": number, "model": "m"}
    reason = "tool_calls" if made else "stop"
    answer = {**head, "object": "chat.completion", "usage": usage}
    answer["choices"] = [{"index": 0, "finish_reason": reason, "message": message}]
    deltas: list[Json] = [{"role": "assistant", "content": text[:5]}, {"content": text[5:]}]
    for i, call in enumerate(made):
        function = call["function"]
        deltas.append({"tool_calls": [{**call, "index": i, "function": {**function, "arguments": ""}}]})
        deltas.append({"tool_calls": [{"index": i, "function": {"arguments": function["arguments"]}}]})
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    chunks.append({"choices": [], "usage": usage})
    chunks = [{**head, "object": "chat.completion.chunk", **chunk} for chunk in chunks]
    return answer, [*(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks), b"data: [DONE]\n\n"]


def make_messages(text: str, calls: list[tuple[str, Json]], number: int) -> tuple[Json, list[bytes]]:
    thought = {"type": "thinking", "thinking": f"thought {number}", "signature": f"signature {number}"}
    blocks: list[Json] = [thought]
    blocks.append({"type": "text", "text": text})
    blocks += [
        {"type": "tool_use", "id": f"t{number}{i}", "name": name, "input": given}
        for i, (name, given) in enumerate(calls)
    ]
    usage = {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": number}
    reason = "tool_use" if calls else "end_turn"
    message = {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "content": blocks,
        "stop_reason": reason, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    started = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events = [event({"type": "message_start", "message": started}), event({"type": "ping"})]
    for index, block in enumerate(blocks):
        empty, deltas = dict(block), []
        if block["type"] == "thinking":
            empty |= {"thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        elif block["type"] == "text":
            empty["text"] = ""
            deltas = [{"type": "text_delta", "text": part} for part in (text[:5], text[5:])]
        else:
            empty["input"] = {}
            given = json.dumps(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in (given[:4], given[4:])]
        events.append(event({"type": "content_block_start", "index": index, "content_block": empty}))
        events += [event({"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas]
        events.append(event({"type": "content_block_stop", "index": index}))
    stop = {"stop_reason": reason, "stop_sequence": None}
    events.append(event({"type": "message_delta", "delta": stop, "usage": {"output_tokens": number}}))
    return message, [*events, event({"type": "message_stop"})]


def make_responses(text: str, calls: list[tuple[str, Json]], number: int) -> tuple[Json, list[bytes]]:
    part = {"type": "output_text", "text": text, "annotations": []}
    items: list[Json] = [{"type": "reasoning", "id": f"rs_{number}", "summary": []}]
    if not calls or calls[0][0] == "search":
        items.append({"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"})
        items[-1]["content"] = [part]
    items += [
        {"type": "function_call", "id": f"fc_{number}{i}", "call_id": f"r{number}{i}", "name": name,
         "arguments": json.dumps(given), "status": "completed"}
        for i, (name, given) in enumerate(calls)
    ]  # fmt: skip
    usage = {
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": number,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 10 + number,
    }  # fmt: skip
    response = {
        "id": f"resp_{number}", "object": "response", "created_at": 1, "model": "m", "status": "completed",
        "output": items, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": usage,
    }  # fmt: skip
    started = {**response, "status": "in_progress", "output": [], "usage": None}
    events: list[Json] = [{"type": "response.created", "response": started}]
    for index, item in enumerate(items):
        place: Json = {"output_index": index, "item_id": item["id"]}
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        if item["type"] == "message":
            delta = {"type": "response.output_text.delta", "content_index": 0, "delta": text, "logprobs": []}
            events.append({**delta, **place})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": response})
    return response, [event({**one, "sequence_number": i}) for i, one in enumerate(events)]


MAKERS = {"/chat/completions": make_chat, "/messages": make_messages, "/responses": make_responses}
