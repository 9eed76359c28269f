"""The texts in the content of a tool result: it is a text, or a list of blocks.

Blocks of text are those of LangChain, OpenAI and Anthropic, and resources of MCP. All other blocks, such as
images, have no text here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Change = Callable[[str], str]

_TEXT_KEYS = {
    "text": "text",
    "text-plain": "text",
    "input_text": "text",
    "output_text": "text",
    "custom_tool_call_output": "output",
}
"""The key of a block's text, by its type."""
_NESTED_TYPES = ("search_result", "tool_result")
_OF_THE_TEXT = ("annotations", "citations")
"""Keys of a block of text that speak of places in it."""


def read_texts(content: Any) -> list[str]:
    """All texts of the content, in order."""
    texts: list[str] = []

    def collect(text: str) -> str:
        texts.append(text)
        return text

    _change(content, collect)
    return texts


def replace_texts(content: Any, texts: Sequence[str]) -> Any:
    """A copy of the content with `texts` in place of those that `read_texts` gives. Blocks of text that
    become empty are left out, because providers refuse them; all others stay."""
    following = iter(texts)
    return _change(content, lambda _: next(following))


def _change(content: Any, change: Change) -> Any:
    if isinstance(content, str):
        return change(content)
    if not isinstance(content, list):
        return content
    changed = [_change_block(block, change) for block in content]
    return [block for block in changed if block is not None]


def _change_block(block: Any, change: Change) -> Any:
    """The changed block; None where its text has become empty."""
    if isinstance(block, str):
        return change(block) or None
    if not isinstance(block, dict):
        return block
    kind = block.get("type")
    if kind in _TEXT_KEYS:
        return _change_key(block, _TEXT_KEYS[kind], change)
    if kind in _NESTED_TYPES:
        return _change_nested(block, "content", change)
    inner = {"document": "source", "resource": "resource"}.get(str(kind))
    if inner is None or not isinstance(block.get(inner), dict):
        return block
    holder = block[inner]
    if kind == "resource":
        changed = _change_key(holder, "text", change)
    elif holder.get("type") == "text":
        changed = _change_key(holder, "data", change)
    else:
        changed = _change_nested(holder, "content", change)
    return None if changed is None else {**block, inner: changed}


def _change_key(block: dict[str, Any], key: str, change: Change) -> dict[str, Any] | None:
    text = block.get(key)
    if not isinstance(text, str):
        return block
    changed = change(text)
    if changed == text:
        return block
    return {**{k: v for k, v in block.items() if k not in _OF_THE_TEXT}, key: changed} if changed else None


def _change_nested(block: dict[str, Any], key: str, change: Change) -> dict[str, Any] | None:
    content = block.get(key)
    if not isinstance(content, str | list):
        return block
    changed = _change(content, change)
    return {**block, key: changed} if changed else None
