"""A stand-in for OpenAI and Anthropic that reports usage as their APIs do, streamed or not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from tests.servers import read_body, serve_app, start_and_stop

Json = dict[str, Any]
Count = Callable[[Json], tuple[int, int, int]]
"""A function that returns the tokens of a request's body: prompt without cache, prompt from the cache,
answer."""


class Provider:
    """A server that answers chat completions, responses and messages. `bodies` holds the requests."""

    def __init__(self, count: Count = lambda _: (900, 100, 20)) -> None:
        self.url, self.count = "", count
        self.bodies: list[Json] = []
        self.status, self.zips = 200, False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await start_and_stop(receive, send)
        body = json.loads(await read_body(receive))
        self.bodies.append(body)
        make = next(make for end, make in _ANSWERS.items() if scope["path"].endswith(end))
        answer, events = make(body, *self.count(body))
        kind = b"application/json"
        parts = [json.dumps(answer).encode()]
        if self.status >= 400:
            parts = [b'{"error": {"message": "no", "type": "invalid_request_error"}}']
        elif body.get("stream"):
            kind, parts = b"text/event-stream; charset=utf-8", [_write_event(event) for event in events]
        headers = [(b"content-type", kind)]
        if self.zips:
            assert b"gzip" in dict(scope["headers"])[b"accept-encoding"]
            parts, headers = [gzip.compress(b"".join(parts))], [*headers, (b"content-encoding", b"gzip")]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        for part in parts:
            # In the middle of a line, as networks do.
            await send({"type": "http.response.body", "body": part[:33], "more_body": True})
            await send({"type": "http.response.body", "body": part[33:], "more_body": True})
        return await send({"type": "http.response.body", "body": b""})


def _write_event(event: Json | str) -> bytes:
    if isinstance(event, str):
        return f"data: {event}\n\n".encode()
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


def _answer_chat(body: Json, fresh: int, cached: int, output: int) -> tuple[Json, Sequence[Json | str]]:
    usage = {
        "prompt_tokens": fresh + cached,
        "completion_tokens": output,
        "total_tokens": fresh + cached + output,
        "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
    }
    head = {"id": "chatcmpl-1", "created": 1, "model": "gpt-stand-in"}
    whole = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Ada."}}
    chunk = {**head, "object": "chat.completion.chunk"}
    asked = (body.get("stream_options") or {}).get("include_usage")
    extra: Json = {"usage": None} if asked else {}
    events: list[Json | str] = [
        {**chunk, "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}], **extra}
        for text in ('The "usage"', ": Ada.")
    ]
    if asked:
        events.append({**chunk, "choices": [], "usage": usage})
    return {**head, "object": "chat.completion", "choices": [whole], "usage": usage}, [*events, "[DONE]"]


def _answer_responses(body: Json, fresh: int, cached: int, output: int) -> tuple[Json, Sequence[Json | str]]:
    part = {"type": "output_text", "text": "Ada.", "annotations": []}
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    response = {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-stand-in", "status": "completed",
        "output": [message], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "usage": {
            "input_tokens": fresh + cached, "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": fresh + cached + output,
        },
    }  # fmt: skip
    started = {**response, "status": "in_progress", "output": [], "usage": None}
    delta = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0}
    events: list[Json | str] = [
        {"type": "response.created", "sequence_number": 0, "response": started},
        {**delta, "sequence_number": 1, "delta": "Ada.", "logprobs": []},
        {"type": "response.completed", "sequence_number": 2, "response": response},
    ]
    return response, events


def _answer_messages(_: Json, fresh: int, cached: int, output: int) -> tuple[Json, Sequence[Json | str]]:
    written = fresh // 2
    usage = {
        "input_tokens": fresh - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "output_tokens": output,
    }
    text = {"type": "text", "text": "Ada."}
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-stand-in", "content": [text],
        "stop_reason": "end_turn", "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    started = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    events: list[Json | str] = [
        {"type": "message_start", "message": started},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Ada."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": output}},
        {"type": "message_stop"},
    ]
    return message, events


_ANSWERS = {
    "/chat/completions": _answer_chat,
    "/responses": _answer_responses,
    "/messages": _answer_messages,
}


@pytest.fixture
def provider() -> Iterator[Provider]:
    server = Provider()
    with serve_app(server) as server.url:
        yield server
