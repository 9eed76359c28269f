"""Answer a hook's input.

The replacement keeps the shape of the tool's output, because agents discard any other shape. So texts are
replaced in their places, and everything else is copied. An output of an unknown shape stays unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from tersely.messages import join_query
from tersely.runtime.limits import parse_json
from tersely_hook import copilot
from tersely_hook.protected import is_protected
from tersely_hook.request import find_request
from tersely_hook.shortening import ShorterText

Json = dict[str, Any]
Shorten = Callable[[str], str]


class Shortener(Protocol):
    """The part of `TextShortener` that answers need."""

    def shorten(self, text: str, query: str | None, note: str = "") -> ShorterText | None:
        """Return a shorter text; None if the text stays."""
        ...


MATCHER = "Bash|PowerShell|Grep|Glob|Read|WebFetch|WebSearch|mcp__.*"
"""Tools of Claude Code whose outputs are shortened, as a regular expression."""
CURSOR_MATCHER = "^MCP:"
"""Tools of Cursor that let a hook replace their output."""
MAX_REQUEST, MAX_ARGUMENT = 2_000, 200
"""Number of characters of the user's message, and of each argument of the tool, that go into the query."""
MAX_GREP = 20_000
"""Largest number of characters of a result of Grep that Claude Code shows whole. It keeps a longer one in a
file, and shows its first 2,000, fewer than a hook would leave."""
_NUMBERS_NOTE = (
    "These line numbers count only the lines above. For the numbers of the file, read it again with offset "
    "and limit; without them Claude Code only replies that the file is unchanged; "
)


def read_input(payload: bytes) -> Json:
    """Return a hook's input with the names of Claude Code; an empty object if the input is not an object.

    Raises ValueError for an input that is not JSON.
    """
    content = parse_json(payload)
    if not isinstance(content, dict):
        return {}
    fields = cast("Json", content)
    return copilot.rename(fields) if "toolName" in fields else fields


def answer(payload: bytes, shortener: Shortener) -> Json:
    """Return the hook's answer to its input; an empty object leaves the tool's output unchanged.

    Raises ValueError for an input that is not JSON, and OSError if an original cannot be kept.
    """
    fields = read_input(payload)
    tool, tool_input = fields.get("tool_name"), fields.get("tool_input")
    if not isinstance(tool, str) or not isinstance(tool_input, dict):
        return {}
    arguments, is_copilot = cast("Json", tool_input), "toolName" in fields
    user_request = (
        copilot.find_request(fields)
        if is_copilot
        else find_request(fields.get("transcript_path"), fields.get("agent_id"))
    )[:MAX_REQUEST]
    if is_protected(tool, arguments, str(fields.get("cwd", "")), user_request):
        return {}
    query = _make_query(arguments, user_request)
    note = _NUMBERS_NOTE if tool == "Read" and not is_copilot else ""

    def shorten(text: str) -> str:
        short = shortener.shorten(text, query, note)
        return text if short is None else short.text

    if is_copilot:
        return copilot.answer(fields.get("toolResult"), shorten)
    if "cursor_version" in fields:
        return _answer_cursor(tool, fields.get("tool_output"), shorten)
    # Only Codex sends `turn_id`, and it rejects every replacement.
    if fields.get("hook_event_name") != "PostToolUse" or "turn_id" in fields:
        return {}
    output = fields.get("tool_response")
    new = replace_texts(tool, output, shorten)
    if new == output:
        return {}
    return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": new}}


def _answer_cursor(tool: str, output: object, shorten: Shorten) -> Json:
    """Answer Cursor, which gives outputs as JSON texts and accepts replacements for MCP tools only."""
    if not tool.startswith("MCP:") or not isinstance(output, str):
        return {}
    content = parse_json(output)
    new = _replace_in_reply(content, shorten)
    return {} if new == content else {"updated_mcp_tool_output": new}


def _make_query(arguments: Mapping[str, Any], user_request: str) -> str | None:
    """Return a query from the arguments of a tool, such as its command, and the user's request."""
    words = [value[:MAX_ARGUMENT] for value in arguments.values() if isinstance(value, str)]
    return join_query(" ".join(words), user_request)


def replace_texts(tool: str, output: Any, shorten: Shorten) -> Any:
    """Return a tool's output in Claude Code with shorter texts."""
    replace = _replace_in_reply if tool.startswith("mcp__") else _REPLACE.get(tool)
    return output if replace is None else replace(output, shorten)


def _replace_in_shell(output: Any, shorten: Shorten) -> Any:
    # An image is base64. Claude Code shows only the beginning of a large output, and the name of a file
    # with the rest.
    if not isinstance(output, dict) or output.get("isImage") or output.get("persistedOutputPath"):
        return output
    return _replace_fields(cast("Json", output), ("stdout", "stderr"), shorten)


def _replace_in_search(output: Any, shorten: Shorten) -> Any:
    """Replace the matches of Grep, or the names of files of Grep and Glob."""
    if not isinstance(output, dict):
        return output
    new = _replace_fields(cast("Json", output), ("content",), shorten)
    names = new.get("filenames")
    if isinstance(names, list) and all(isinstance(name, str) for name in cast("list[object]", names)):
        new["filenames"] = _shorten_names(cast("list[str]", names), shorten)
    return new


def _replace_in_matches(output: Any, shorten: Shorten) -> Any:
    """Replace the result of Grep, unless Claude Code will keep it in a file."""

    def shorten_if_shown(text: str) -> str:
        return text if len(text) > MAX_GREP else shorten(text)

    return _replace_in_search(output, shorten_if_shown)


def _shorten_names(names: list[str], shorten: Shorten) -> list[str]:
    """Shorten a list of file names.

    Claude Code reports the number of items, so a mark is joined to a name and adds no item.
    """
    text, known = "\n".join(names), set(names)
    if (short := shorten(text)) == text:
        return names
    items = [""]
    for line in short.split("\n"):
        if line in known and known.intersection(items[-1].split("\n")):
            items.append(line)
        else:
            items[-1] = f"{items[-1]}\n{line}".removeprefix("\n")
    return items


def _replace_in_file(output: Any, shorten: Shorten) -> Any:
    file = output.get("file") if isinstance(output, dict) else None
    if not isinstance(file, dict) or output.get("type") != "text":
        return output
    return {**output, "file": _replace_fields(cast("Json", file), ("content",), shorten)}


def _replace_in_page(output: Any, shorten: Shorten) -> Any:
    return _replace_fields(output, ("result",), shorten) if isinstance(output, dict) else output


def _replace_in_results(output: Any, shorten: Shorten) -> Any:
    """Replace the texts between the links that a web search has found."""
    results = output.get("results") if isinstance(output, dict) else None
    if not isinstance(results, list):
        return output
    items = cast("list[Any]", results)
    return {**output, "results": [shorten(item) if isinstance(item, str) else item for item in items]}


def _replace_in_reply(output: Any, shorten: Shorten) -> Any:
    """Replace the texts of an MCP tool's reply: a text, a list of parts, or an object with such a list."""
    if isinstance(output, str):
        return shorten(output)
    if isinstance(output, list):
        return [
            _replace_fields(part, ("text",), shorten)
            if isinstance(part, dict) and part.get("type") == "text"
            else part
            for part in cast("list[Any]", output)
        ]
    content = output.get("content") if isinstance(output, dict) else None
    # A structured reply has the whole text a second time, in a shape that only the tool knows.
    is_plain = isinstance(content, list | str) and not (
        output.get("structuredContent") or output.get("isError")
    )
    return {**output, "content": _replace_in_reply(content, shorten)} if is_plain else output


def _replace_fields(values: Json, names: tuple[str, ...], shorten: Shorten) -> Json:
    return {
        key: shorten(value) if key in names and isinstance(value, str) else value
        for key, value in values.items()
    }


_REPLACE: Mapping[str, Callable[[Any, Shorten], Any]] = {
    "Bash": _replace_in_shell,
    "PowerShell": _replace_in_shell,
    "Grep": _replace_in_matches,
    "Glob": _replace_in_search,
    "Read": _replace_in_file,
    "WebFetch": _replace_in_page,
    "WebSearch": _replace_in_results,
}
