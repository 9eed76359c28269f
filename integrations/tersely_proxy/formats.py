"""The texts of a request that may be shortened, for each of the interfaces that the proxy knows.

What a text is needed for is read from what comes before it alone. So the same text in the same conversation
is always shortened to the same bytes, and the provider's cache of the prompt still fits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tersely.messages import join_query
from tersely_proxy.json_strings import Place

CONTEXT = "context"
"""Name of blocks of context, where tools have theirs."""
_TAGS = ("document_content", "document", CONTEXT)
"""Elements in a user's text whose content is context. Only the first of these that occurs counts."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a string of the request: a tool's result, or context in a message."""

    place: Place
    text: str
    start: int
    """Where the text begins in the string."""
    tool: str
    query: str | None
    """What the text is needed for; None where nobody says so."""


def read_chat(body: Any) -> Iterator[Block]:
    """OpenAI's chat completions."""
    asked = ""
    calls: dict[Any, tuple[str, str]] = {}
    for number, message in enumerate(_list(body, "messages")):
        role, place = message.get("role"), ("messages", number, "content")
        texts = list(_texts(message.get("content"), place, "text"))
        if role == "user":
            asked = _question(texts) or asked
            yield from _contexts(texts, asked)
        elif role == "tool":
            tool, arguments = calls.get(message.get("tool_call_id"), ("", ""))
            yield from _results(texts, tool, join_query(arguments, asked))
        for call in _list(message, "tool_calls"):
            function = call.get("function")
            if isinstance(function, dict):
                calls[call.get("id")] = str(function.get("name")), str(function.get("arguments"))


def read_responses(body: Any) -> Iterator[Block]:
    """OpenAI's responses."""
    asked = ""
    calls: dict[Any, tuple[str, str]] = {}
    if isinstance(body.get("input"), str):
        texts = [(("input",), body["input"])]
        yield from _contexts(texts, _question(texts))
        return
    for number, item in enumerate(_list(body, "input")):
        kind = item.get("type", "message")
        if kind == "message" and item.get("role") == "user":
            texts = list(_texts(item.get("content"), ("input", number, "content"), "input_text"))
            asked = _question(texts) or asked
            yield from _contexts(texts, asked)
        elif kind in ("function_call", "custom_tool_call"):
            arguments = item.get("arguments", item.get("input"))
            calls[item.get("call_id")] = str(item.get("name")), str(arguments)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            tool, arguments = calls.get(item.get("call_id"), ("", ""))
            texts = list(_texts(item.get("output"), ("input", number, "output"), "input_text"))
            yield from _results(texts, tool, join_query(arguments, asked))


def read_messages(body: Any) -> Iterator[Block]:
    """Anthropic's messages."""
    asked = ""
    calls: dict[Any, tuple[str, str]] = {}
    for number, message in enumerate(_list(body, "messages")):
        place = ("messages", number, "content")
        texts = list(_texts(message.get("content"), place, "text"))
        before = asked
        if message.get("role") == "user":
            asked = _question(texts) or asked
            yield from _contexts(texts, asked)
        for position, block in enumerate(_list(message, "content")):
            kind, here = block.get("type"), (*place, position)
            if kind == "tool_use":
                arguments = json.dumps(block.get("input"), ensure_ascii=False)
                calls[block.get("id")] = str(block.get("name")), arguments
            elif kind == "tool_result" and not block.get("is_error"):
                tool, arguments = calls.get(block.get("tool_use_id"), ("", ""))
                own = _texts(block.get("content"), (*here, "content"), "text")
                yield from _results(list(own), tool, join_query(arguments, before or asked))
            elif kind in ("document", "search_result"):
                yield from _results(list(_source_texts(block, here)), CONTEXT, asked or None)


READERS: dict[str, Callable[[Any], Iterator[Block]]] = {
    "/chat/completions": read_chat,
    "/responses": read_responses,
    "/messages": read_messages,
}
"""By the end of a request's path."""

Texts = Sequence[tuple[Place, str]]


def _source_texts(block: dict[str, Any], place: Place) -> Iterator[tuple[Place, str]]:
    """The texts of a document or a search result. Citations count characters, so texts that get some stay."""
    citations = block.get("citations")
    if isinstance(citations, dict) and citations.get("enabled"):
        return
    source = block.get("source")
    if isinstance(source, dict) and source.get("type") == "text" and isinstance(source.get("data"), str):
        yield (*place, "source", "data"), source["data"]
    yield from _texts(block.get("content"), (*place, "content"), "text")


def _texts(content: Any, place: Place, part_type: str) -> Iterator[tuple[Place, str]]:
    """The texts of a content: a string, or a list of parts."""
    if isinstance(content, str):
        yield place, content
    for number, part in enumerate(content if isinstance(content, list) else ()):
        if isinstance(part, dict) and part.get("type") == part_type and isinstance(part.get("text"), str):
            yield (*place, number, "text"), part["text"]


def _results(texts: Texts, tool: str, query: str | None) -> Iterator[Block]:
    return (Block(place, text, 0, tool, query) for place, text in texts)


def _contexts(texts: Texts, query: str) -> Iterator[Block]:
    """The context in a message of the user's, who may yet ask about it where they have asked nothing."""
    for place, text in texts if query else ():
        for inner, _ in _find_contexts(text):
            yield Block(place, text[inner], inner.start, CONTEXT, query)


def _question(texts: Texts) -> str:
    """What a user asks: the texts without their blocks of context."""
    parts: list[str] = []
    for _, text in texts:
        end = 0
        for _, outer in _find_contexts(text):
            parts.append(text[end : outer.start])
            end = outer.stop
        parts.append(text[end:])
    return " ".join(part.strip() for part in parts if part.strip())


def _find_contexts(text: str) -> list[tuple[slice, slice]]:
    """The blocks of context in a text, in order: what is in the element, and the element with its tags."""
    for tag in _TAGS:
        found: list[tuple[slice, slice]] = []
        opening, closing = re.compile(rf"<{tag}(?:\s[^<>]*)?>\n?"), f"</{tag}>"
        end = 0
        while match := opening.search(text, end):
            close = text.find(closing, match.end())
            if close < 0:
                break
            end = close + len(closing)
            inner = slice(match.end(), match.end() + len(text[match.end() : close].rstrip()))
            found.append((inner, slice(match.start(), end)))
        if found:
            return found
    return []


def _list(value: Any, key: str) -> list[dict[str, Any]]:
    """The objects in the list under `key`; others are replaced by empty ones, so that numbers stay places."""
    items = value.get(key) if isinstance(value, dict) else None
    return [item if isinstance(item, dict) else {} for item in items] if isinstance(items, list) else []
