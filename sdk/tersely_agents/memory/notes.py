"""Notes: the message that a reset leaves in the context, and notes made of the transcript's sentences.

Without a model, notes quote the transcript. Each quote follows a line that names its source:

    The tool search gave:
    > The tower was built in 1861.

Every line of a quote begins with ">", so that no text can pass for the words of somebody else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tersely.messages import Json, get_text
from tersely_agents.memory.shortening import Shortener, cut_sentences
from tersely_agents.prompts import escape_tag, load_prompt

EARLIER_NOTES = "Earlier notes:"
_WRITERS = {
    "user": "The user wrote:",
    "assistant": "The assistant wrote:",
    "system": "The system prompt says:",
    "developer": "The system prompt says:",
}
_NAME_CHARACTERS = 60
"""Most characters of a tool's name."""
_TAKEN_OUT = "Earlier messages were taken out. These notes stand for them."
_NOT_TAKEN_OUT = "These notes are on the conversation so far."


class Quote(NamedTuple):
    """A text, and the line that names its source."""

    source: str
    text: str


def quote_messages(messages: Sequence[Json]) -> list[Quote]:
    """Quote the texts of the messages, and the arguments of their calls."""
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
            names[call["id"]] = name = " ".join(str(function.get("name")).split())[:_NAME_CHARACTERS]
            quotes.append(Quote(f"The assistant called {name}:", str(function.get("arguments"))))
    return quotes


def render_quotes(quotes: Sequence[Quote]) -> str:
    """Write quotes as text. Neighbours from one source share its line."""
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
    """Read the quotes in a text that `render_quotes` wrote."""
    quotes: list[Quote] = []
    for line in notes.split("\n"):
        if not line.startswith(">"):
            quotes.append(Quote(line, ""))
        elif quotes:
            source, text = quotes[-1]
            quotes[-1] = Quote(source, f"{text}\n{line[2:]}" if text else line[2:])
    return [quote for quote in quotes if quote.text]


def extract_notes(shortener: Shortener, query: str | None, quotes: Sequence[Quote], limit: int) -> str:
    """Quote the sentences that the query needs most, in at most `limit` tokens."""
    given = [quote for quote in quotes if quote.text.strip()]
    if not given:
        return ""
    texts = [quote.text for quote in given]
    kept: list[tuple[float, Quote]] = []
    budget = limit
    for _ in range(2):  # the second time with room for the lines that name the sources
        result = shortener.compressor.compress(query, texts, budget=max(1, budget))
        kept = [(d.relevance, Quote(given[d.source].source, d.text)) for d in result.documents]
        used = shortener.count(render_quotes([quote for _, quote in kept]))
        if used <= limit:
            break
        budget = limit - (used - shortener.count(result.text))
    kept = [(relevance, quote) for relevance, quote in kept if quote.text.strip()]
    return _choose_quotes(shortener, kept or [(0.0, quote) for quote in given], limit)


def cut_notes(shortener: Shortener, notes: str, limit: int) -> str:
    """Return the first quotes of extractive notes, in at most `limit` tokens."""
    return _choose_quotes(shortener, [(0.0, quote) for quote in read_quotes(notes)], limit) if limit else ""


def _choose_quotes(shortener: Shortener, quotes: Sequence[tuple[float, Quote]], limit: int) -> str:
    """Return the most relevant quotes that fit, in their order; if none fits, the beginning of the best."""
    count = shortener.count
    ranked = sorted(range(len(quotes)), key=lambda place: -quotes[place][0])
    left, chosen = limit, list[int]()
    for place in ranked:
        cost = count(render_quotes([quotes[place][1]])) + 1
        if cost <= left:
            left -= cost
            chosen.append(place)
    while chosen:
        notes = render_quotes([quotes[place][1] for place in sorted(chosen)])
        if count(notes) <= limit:
            return notes
        chosen.pop()  # counters need not add up
    for place in ranked[:1]:
        quote, size = quotes[place][1], limit
        while size := size // 2:
            notes = render_quotes([Quote(quote.source, cut_sentences(quote.text, size, count))])
            if notes and count(notes) <= limit:
                return notes
    return ""


def wrap_notes(summary: str, pins: Mapping[str, str], identifiers: Sequence[str], is_taken_out: bool) -> Json:
    """Return the message with notes and pins; empty, if there are none and nothing was taken out."""
    pinned = "".join(f"\nPinned, {key}:\n{text}\n" for key, text in pins.items())
    if identifiers:
        pinned += f"\nIdentifiers that the user gave: {', '.join(identifiers)}\n"
    if not summary and not is_taken_out:
        return {"role": "user", "content": pinned.strip("\n") and pinned.lstrip("\n")}
    # The closing tag inside the text would end the notes early.
    text = load_prompt("memory_note").render(
        about=_TAKEN_OUT if is_taken_out else _NOT_TAKEN_OUT,
        summary=escape_tag(summary, "notes") or "Nothing of it was kept.",
        pins=pinned,
    )
    return {"role": "user", "content": text}
