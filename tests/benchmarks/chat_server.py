"""A chat server on loopback, whose replies a test decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.loopback import Answer

Respond = Callable[[str], tuple[int, str]]
"""A function that returns a status code and the text of the reply for the content of the last message."""


def answer_with(respond: Respond) -> Answer:
    """Answer `POST /chat/completions` with the reply that `respond` makes."""

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        code, text = respond(body["messages"][-1]["content"])
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        head = {"id": "1", "object": "chat.completion", "created": 0, "model": "m"}
        return code, {**head, "choices": [choice]} if code == 200 else b"busy"

    return answer
