"""Notes made of a transcript's own sentences: each is quoted, below a line that names who it comes from.

    The tool search gave:
    > The tower was built in 1861.

Every line of a quote begins with ">", so that no text can pass for words of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tersely.messages import Json, get_text

EARLIER_NOTES = "Earlier notes:"
_WRITERS = {
    "user": "The user wrote:",
    "assistant": "The assistant wrote:",
    "system": "The system prompt says:",
    "developer": "The system prompt says:",
}
_LONGEST_NAME = 60
"""Characters of a tool's name."""


class Quote(NamedTuple):
    """A text, and the line that names its source."""

    source: str
    text: str


def quote_messages(messages: Sequence[Json]) -> list[Quote]:
    """The texts of the messages, and the arguments of their calls."""
    quotes: list[Quote] = []
    names: dict[str, str] = {}
    for message in messages:
        if message["role"] == "tool":
            source = f"The tool {names.get(message['tool_call_id'], '')}".rstrip() + " gave:"
        else:
            source = _WRITERS[message["role"]]
        quotes.append(Quote(source, get_text(message)))
        for call in message.get("tool_calls") or ():
            function = call.get("function", {})
            names[call["id"]] = name = " ".join(str(function.get("name")).split())[:_LONGEST_NAME]
            quotes.append(Quote(f"The assistant called {name}:", str(function.get("arguments"))))
    return quotes


def render_quotes(quotes: Sequence[Quote]) -> str:
    """The quotes as text; neighbours of one source share its line."""
    lines: list[str] = []
    before = None
    for source, text in quotes:
        quoted = [f"> {line}" for line in text.splitlines() if line.strip()]
        if quoted and source != before:
            lines.append(source)
            before = source
        lines += quoted
    return "\n".join(lines)


def read_quotes(notes: str) -> list[Quote]:
    """The quotes of `render_quotes(quotes)`."""
    quotes: list[Quote] = []
    for line in notes.split("\n"):
        if not line.startswith(">"):
            quotes.append(Quote(line, ""))
        elif quotes:
            source, text = quotes[-1]
            quotes[-1] = Quote(source, f"{text}\n{line[2:]}" if text else line[2:])
    return [quote for quote in quotes if quote.text]
