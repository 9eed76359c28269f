"""The clients that call a server: the chat client, blocking or not, and the HTTP reranker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tersely import Document
from tersely.rerank import RerankEndpoint
from tersely_agents.chat import OpenAIChat

ASK = [{"role": "user", "content": "Which day?"}]
DOCS = [Document("Thursday."), Document("Friday.")]

Open = Callable[..., Callable[[], object]]
"""A function that makes a client's call of the server, from an address and options."""


def open_chat(url: str, **options: Any) -> Callable[[], object]:
    model = OpenAIChat("small", base_url=url, **options)
    return lambda: model.complete(ASK).text


def open_async_chat(url: str, **options: Any) -> Callable[[], object]:
    model = OpenAIChat("small", base_url=url, **options)

    async def call() -> str:
        try:
            return (await model.acomplete(ASK)).text
        finally:
            await model.aclose()

    return lambda: asyncio.run(call())


def open_reranker(url: str, **options: Any) -> Callable[[], object]:
    endpoint = RerankEndpoint(url, **options)
    return lambda: endpoint.rank("q", DOCS)


def completion(content: str | None = "Thursday.", **message: Any) -> dict[str, Any]:
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "small",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **message},
                "finish_reason": "tool_calls" if message else "stop",
            }
        ],
        "usage": {
            "prompt_tokens": 12,
            "completion_tokens": 3,
            "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 8},
        },
    }
