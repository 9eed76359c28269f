"""Find the texts of a request that may be shortened, for each chat interface that the proxy knows.

The query of a text depends only on the messages before it. So the same text in the same conversation is
always shortened to the same bytes, and the provider's prompt cache still fits.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tersely.messages import join_query
from tersely.user_text import strip_agent_blocks
from tersely_hook.protected import call_prints_file
from tersely_proxy.json_strings import Place

CONTEXT = "context"
"""Tool name of blocks of context."""
_TAGS = ("document_content", "document", CONTEXT)
"""Elements of a user's text that hold context. Only the first of these that occurs counts."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a string of the request: a tool's result, or context in a message."""

    place: Place
    text: str
    start: int
    """Offset of the text in the string."""
    tool: str
    query: str | None
    """Question that the text should answer; None if the request has no question."""


def read_chat(body: Any) -> Iterator[Block]:
    """Read OpenAI's chat completions, and Ollama's chats, in which a result names its tool."""
    question = ""
    calls: dict[Any, tuple[str, str]] = {}
    for number, message in enumerate(_list(body, "messages")):
        role, place = message.get("role"), ("messages", number, "content")
        texts = list(_texts(message.get("content"), place, "text"))
        if role == "user":
            question = _question(texts) or question
            yield from _contexts(texts, question)
        elif role == "tool":
            name = str(message.get("tool_name") or message.get("name") or "")
            call = calls.get(message.get("tool_call_id")) or calls.get((name,), (name, ""))
            yield from _results(texts, *call, question)
        for call in _list(message, "tool_calls"):
            function = call.get("function")
            if isinstance(function, dict):
                name, arguments = str(function.get("name")), _show_arguments(function.get("arguments"))
                calls[call.get("id")] = calls[(name,)] = name, arguments


def read_responses(body: Any) -> Iterator[Block]:
    """Read OpenAI's responses."""
    question = ""
    calls: dict[Any, tuple[str, str]] = {}
    if isinstance(body.get("input"), str):
        texts = [(("input",), body["input"])]
        yield from _contexts(texts, _question(texts))
        return
    for number, item in enumerate(_list(body, "input")):
        kind = item.get("type", "message")
        if kind == "message" and item.get("role") == "user":
            texts = list(_texts(item.get("content"), ("input", number, "content"), "input_text"))
            question = _question(texts) or question
            yield from _contexts(texts, question)
        elif kind in ("function_call", "custom_tool_call"):
            arguments = item.get("arguments", item.get("input"))
            calls[item.get("call_id")] = str(item.get("name")), str(arguments)
        elif kind in ("shell_call", "local_shell_call"):
            # A result names the call by either of its ids.
            call = kind.removesuffix("_call"), _read_commands(item.get("action"))
            calls[item.get("call_id")] = calls[item.get("id")] = call
        elif kind in _OUTPUTS:
            tool, arguments = calls.get(item.get("call_id", item.get("id")), (_OUTPUTS[kind], ""))
            texts = list(_output_texts(item.get("output"), ("input", number, "output")))
            yield from _results(texts, tool, arguments, question)
        elif kind == "mcp_call":
            texts = list(_output_texts(item.get("output"), ("input", number, "output")))
            yield from _results(texts, str(item.get("name")), str(item.get("arguments")), question)


def read_messages(body: Any) -> Iterator[Block]:
    """Read Anthropic's messages."""
    question = ""
    calls: dict[Any, tuple[str, str]] = {}
    for number, message in enumerate(_list(body, "messages")):
        place = ("messages", number, "content")
        texts = list(_texts(message.get("content"), place, "text"))
        before = question
        if message.get("role") == "user":
            question = _question(texts) or question
            yield from _contexts(texts, question)
        for position, block in enumerate(_list(message, "content")):
            kind, here = block.get("type"), (*place, position)
            if kind == "tool_use":
                calls[block.get("id")] = str(block.get("name")), _show_arguments(block.get("input"))
            elif kind == "tool_result" and not block.get("is_error"):
                tool, arguments = calls.get(block.get("tool_use_id"), ("", ""))
                results = _texts(block.get("content"), (*here, "content"), "text")
                yield from _results(results, tool, arguments, before or question)
            elif kind in ("document", "search_result"):
                yield from _results(_source_texts(block, here), CONTEXT, "", question)


def read_batch(body: Any) -> Iterator[Block]:
    """Read a batch of Anthropic's messages."""
    for number, request in enumerate(_list(body, "requests")):
        for block in read_messages(request.get("params")):
            yield replace(block, place=("requests", number, "params", *block.place))


def read_invocation(body: Any) -> Iterator[Block]:
    """Read Anthropic's messages as Bedrock and Vertex take them; skip the bodies of other models."""
    if isinstance(body, dict) and body.get("anthropic_version"):
        yield from read_messages(body)


def read_converse(body: Any) -> Iterator[Block]:
    """Read Bedrock's messages for all models."""
    question = ""
    calls: dict[Any, tuple[str, str]] = {}
    for number, message in enumerate(_list(body, "messages")):
        before = question
        if message.get("role") == "user":
            question = _question(_plain_texts(message, (), "content")) or question
        for position, block in enumerate(_list(message, "content")):
            use, result = block.get("toolUse"), block.get("toolResult")
            if isinstance(use, dict):
                calls[use.get("toolUseId")] = str(use.get("name")), _show_arguments(use.get("input"))
            elif isinstance(result, dict) and result.get("status") != "error":
                tool, arguments = calls.get(result.get("toolUseId"), ("", ""))
                place = ("messages", number, "content", position, "toolResult", "content")
                texts = _plain_texts(result, place, "content")
                yield from _results(texts, tool, arguments, before or question)


def read_gemini(body: Any) -> Iterator[Block]:
    """Read Gemini's contents: the texts at the top of a function's response."""
    question = ""
    calls: dict[Any, str] = {}
    for number, message in enumerate(_list(body, "contents")):
        before = question
        if message.get("role", "user") == "user":
            question = _question(_plain_texts(message, (), "parts")) or question
        for position, part in enumerate(_list(message, "parts")):
            call, result = part.get("functionCall"), part.get("functionResponse")
            if isinstance(call, dict):
                calls[call.get("id"), call.get("name")] = _show_arguments(call.get("args"))
            elif isinstance(result, dict) and isinstance(result.get("response"), dict):
                place = ("contents", number, "parts", position, "functionResponse", "response")
                arguments = calls.get((result.get("id"), result.get("name")), "")
                texts = [
                    ((*place, key), text)
                    for key, text in result["response"].items()
                    if isinstance(text, str) and key != "error"
                ]
                yield from _results(texts, str(result.get("name")), arguments, before or question)


def read_gemini_count(body: Any) -> Iterator[Block]:
    """Read a request to count tokens, and the request inside of it, if it counts the tokens of one."""
    given = body if isinstance(body, dict) else {}
    yield from read_gemini(given)
    for block in read_gemini(given.get("generateContentRequest")):
        yield replace(block, place=("generateContentRequest", *block.place))


def find_first_words(body: Any) -> str:
    """Return the user's first words, which stay the same in all requests of a conversation.

    A key for the provider's cache, which Codex gives each conversation, is put before the words. Empty for a
    request that only continues what the server knows, and for a batch.
    """
    given = body if isinstance(body, dict) else {}
    if given.get("previous_response_id") or given.get("conversation"):
        return ""
    key = given.get("prompt_cache_key")
    start = f"{key}\n" if isinstance(key, str) and key else ""
    if isinstance(given.get("input"), str):
        return start + given["input"]
    kind = "text" if "messages" in given else "input_text"
    for message in (*_list(given, "messages"), *_list(given, "input")):
        if message.get("role") == "user":
            texts = (text for _, text in _texts(message.get("content"), (), kind))
            if words := strip_agent_blocks("\n".join(texts)):
                return start + words
    return ""


READERS: dict[str, Callable[[Any], Iterator[Block]]] = {
    "/chat/completions": read_chat,
    "/responses": read_responses,
    "/responses/input_tokens": read_responses,
    "/messages": read_messages,
    "/messages/count_tokens": read_messages,
    "/messages/batches": read_batch,
    ":rawPredict": read_invocation,
    ":streamRawPredict": read_invocation,
    "/invoke": read_invocation,
    "/invoke-with-response-stream": read_invocation,
    "/converse": read_converse,
    "/converse-stream": read_converse,
    "/api/chat": read_chat,
    ":generateContent": read_gemini,
    ":streamGenerateContent": read_gemini,
    ":countTokens": read_gemini_count,
}
"""Readers by the end of a request's path. Requests that count tokens are read too, so that the count is that
of the shortened request."""

_OUTPUTS = {
    "function_call_output": "",
    "custom_tool_call_output": "",
    "shell_call_output": "shell",
    "local_shell_call_output": "local_shell",
}
"""Kinds of results in responses, and the tool of those whose call is missing."""

Texts = Iterator[tuple[Place, str]]


def _source_texts(block: dict[str, Any], place: Place) -> Texts:
    """Yield the texts of a document or a search result, unless citations will count their characters."""
    citations = block.get("citations")
    if isinstance(citations, dict) and citations.get("enabled"):
        return
    source = block.get("source")
    if isinstance(source, dict) and source.get("type") == "text" and isinstance(source.get("data"), str):
        yield (*place, "source", "data"), source["data"]
    yield from _texts(block.get("content"), (*place, "content"), "text")


def _texts(content: Any, place: Place, part_type: str) -> Texts:
    """Yield the texts of a content, which is a string or a list of parts."""
    if isinstance(content, str):
        yield place, content
    for number, part in enumerate(content if isinstance(content, list) else ()):
        if isinstance(part, dict) and part.get("type") == part_type and isinstance(part.get("text"), str):
            yield (*place, number, "text"), part["text"]


def _plain_texts(value: Any, place: Place, key: str) -> list[tuple[Place, str]]:
    """Return the texts of the parts under `key`, which have no type."""
    return [
        ((*place, number, "text"), part["text"])
        for number, part in enumerate(_list(value, key))
        if isinstance(part.get("text"), str)
    ]


def _show_arguments(arguments: Any) -> str:
    return (
        str(arguments or "")
        if isinstance(arguments, str | None)
        else json.dumps(arguments, ensure_ascii=False)
    )


def _output_texts(output: Any, place: Place) -> Texts:
    """Yield the texts of a result in responses: text, parts, or what a shell printed."""
    yield from _texts(output, place, "input_text")
    for number, part in enumerate(output if isinstance(output, list) else ()):
        for stream in ("stdout", "stderr"):
            if isinstance(part, dict) and isinstance(part.get(stream), str):
                yield (*place, number, stream), part[stream]


def _read_commands(action: Any) -> str:
    """Return the command that a call gives to a shell."""
    given = action if isinstance(action, dict) else {}
    if isinstance(commands := given.get("commands"), list):
        return "\n".join(map(str, commands))
    words = given.get("command")
    return shlex.join(map(str, words)) if isinstance(words, list) else str(words or "")


def _results(texts: Iterable[tuple[Place, str]], tool: str, arguments: str, question: str) -> Iterator[Block]:
    """Yield the texts of a tool's result, unless they are a file that the agent may edit."""
    if not call_prints_file(arguments, question):
        query = join_query(arguments, question)
        yield from (Block(place, text, 0, tool, query) for place, text in texts)


def _contexts(texts: Sequence[tuple[Place, str]], query: str) -> Iterator[Block]:
    """Yield the context in a user's message. A user without a question may ask about any of it later."""
    for place, text in texts if query else ():
        for inner, _ in _find_contexts(text):
            yield Block(place, text[inner], inner.start, CONTEXT, query)


def _question(texts: Sequence[tuple[Place, str]]) -> str:
    """Return a user's texts without blocks of context, and without those that a coding agent has added."""
    parts: list[str] = []
    for _, text in texts:
        end = 0
        for _, outer in _find_contexts(text):
            parts.append(text[end : outer.start])
            end = outer.stop
        parts.append(text[end:])
    return " ".join(filter(None, map(strip_agent_blocks, parts)))


def _find_contexts(text: str) -> list[tuple[slice, slice]]:
    """Return the blocks of context in order: the content of each element, and the element with its tags."""
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
    """Return the objects in the list under `key`, with empty ones for other values, so that indices hold."""
    items = value.get(key) if isinstance(value, dict) else None
    return [item if isinstance(item, dict) else {} for item in items] if isinstance(items, list) else []
