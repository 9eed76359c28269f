"""LlamaIndex's chat messages in OpenAI's format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage


def to_openai(message: ChatMessage) -> dict[str, Any]:
    """The message in OpenAI's format. Calls and their results become text: quoted in a prompt, they need no
    partners."""
    text = message.content or ""
    if message.role.value == "tool":
        return {"role": "assistant", "content": f"Result of a tool: {text}"}
    lines = [text, *(f"Call of a tool: {call}" for call in _describe_calls(message))]
    role = "user" if message.role.value == "user" else "assistant"
    return {"role": role, "content": "\n".join(lines).strip()}


def find_user_text(messages: Sequence[ChatMessage]) -> str:
    """The text of the user's last message that has one; empty where there is none."""
    texts = (m.content for m in reversed(messages) if m.role.value == "user" and m.content)
    return next(texts, "")


def _describe_calls(message: ChatMessage) -> list[str]:
    calls: list[str] = []
    for block in message.blocks:
        # By its type's name: only newer versions of LlamaIndex have a class for it.
        if getattr(block, "block_type", "") == "tool_call":
            call: Any = block
            calls.append(f"{call.tool_name} {call.tool_kwargs}")
    return calls or [str(call) for call in message.additional_kwargs.get("tool_calls") or ()]
