"""Notes: the message that a reset leaves in the context, and notes made of the transcript's sentences.

Without a model, notes quote the transcript. Each quote follows a line that names its source:

    Tool search:
    > The tower was built in 1861.

Every line of a quote begins with ">", so that no text can pass for the words of somebody else. A question of
the user stays together with its answer. Texts that say nothing, such as thanks or an empty result, are left
out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tersely.messages import Json, get_text
from tersely.split.sentences import split_units
from tersely_agents.memory.cues import ACKNOWLEDGEMENT
from tersely_agents.memory.shortening import Shortener, cut_sentences
from tersely_agents.prompts import escape_tag, load_prompt

EARLIER_NOTES = "Earlier notes:"
_USER, _ASSISTANT = "User:", "Assistant:"
_WRITERS = {"user": _USER, "assistant": _ASSISTANT, "system": "System:", "developer": "System:"}
_LEAST_EXCHANGE = 32
"""Tokens below which a question and its answer say nothing."""
_EXCHANGE_SHARE = 0.7
"""Largest share of the notes for questions and answers, if there are calls or results too."""
_QUESTION_SHARE = 0.35
"""Largest share of an exchange for its question."""
_EMPTY = re.compile(r"(?:[\W\d_]|…)*")
_NAME_CHARACTERS = 60
"""Most characters of a tool's name."""
_TAKEN_OUT = "Earlier messages were taken out. These notes replace them."
LEFT_OUT = "Earlier messages were taken out."
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
            source = f"Tool {names.get(message['tool_call_id'], '')}".rstrip() + ":"
        else:
            source = _WRITERS[message["role"]]
        quotes.append(Quote(source, get_text(message)))
        for call in message.get("tool_calls") or ():
            function = call.get("function", {})
            names[call["id"]] = name = " ".join(str(function.get("name")).split())[:_NAME_CHARACTERS]
            quotes.append(Quote(f"Call {name}:", str(function.get("arguments"))))
    return quotes


def render_quotes(quotes: Sequence[Quote]) -> str:
    """Write quotes as text. Neighbours from one source share its line."""
    lines: list[str] = []
    before = None
    for source, text in quotes:
        quoted = [f"> {line}" for line in text.splitlines() if not _EMPTY.fullmatch(line)]
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
    """Return notes of at most `limit` tokens. They quote the user's questions with their answers and, from
    the other quotes, the sentences that the query needs most."""
    given = _drop_empty(quotes)
    if not given or limit <= 0:
        return ""
    exchanges = _find_exchanges(given)
    paired = {place for exchange in exchanges for place in exchange}
    rest = [place for place in range(len(given)) if place not in paired]
    room = int(limit * _EXCHANGE_SHARE) if rest else limit
    kept = _shorten_exchanges(shortener, given, exchanges, room)
    left = limit - shortener.count(render_quotes([kept[place] for place in sorted(kept)]))
    kept |= _choose_quotes(shortener, query, {place: given[place] for place in rest}, left)
    while kept:
        notes = render_quotes([kept[place] for place in sorted(kept)])
        if shortener.count(notes) <= limit:
            return notes
        oldest = min(kept)  # a text can have more tokens than its parts together
        for place in next((e for e in exchanges if oldest in e), (oldest,)):
            kept.pop(place, None)
    return ""


def _drop_empty(quotes: Sequence[Quote]) -> list[Quote]:
    """Leave out quotes that say nothing, and repeated ones."""
    kept: dict[Quote, None] = {}
    for quote in quotes:
        text = quote.text.strip()
        is_nothing = _EMPTY.fullmatch(text) or text in ("{}", "null", "None")
        if not is_nothing and re.sub(r"[\W\d_]+", " ", ACKNOWLEDGEMENT.sub(" ", text)).strip():
            kept.setdefault(quote)
    return list(kept)


def _find_exchanges(quotes: Sequence[Quote]) -> list[tuple[int, ...]]:
    """Return, for each message of the user, its place and that of the assistant's last answer to it, if there
    is one."""
    exchanges: list[tuple[int, ...]] = []
    for place, quote in enumerate(quotes):
        if quote.source == _USER:
            exchanges.append((place,))
        elif quote.source == _ASSISTANT and exchanges:
            exchanges[-1] = (exchanges[-1][0], place)
    return exchanges


def _shorten_exchanges(
    shortener: Shortener, quotes: Sequence[Quote], exchanges: Sequence[tuple[int, ...]], limit: int
) -> dict[int, Quote]:
    """Shorten questions and answers to equal shares of the limit. If the shares would be too small to say
    anything, leave out the oldest exchanges."""
    count = shortener.count
    kept: dict[int, Quote] = {}
    left = limit
    newest = exchanges[max(0, len(exchanges) - limit // _LEAST_EXCHANGE) :]
    sizes = {e: count(render_quotes([quotes[place] for place in e])) for e in newest}
    # Take short exchanges first: the others share what these do not use.
    for number, exchange in enumerate(sorted(newest, key=sizes.__getitem__)):
        share = left // (len(newest) - number)
        shown = [quotes[place] for place in exchange]
        if sizes[exchange] > share:
            question = _shorten_question(
                shortener, shown[0].text, int(share * _QUESTION_SHARE) if shown[1:] else share - 4
            )
            around = count(render_quotes([Quote(quote.source, question) for quote in shown]))
            answers = [
                quote._replace(text=_shorten_answer(shortener, quote.text, share - around, shown[0].text))
                for quote in shown[1:]
            ]
            shown = [shown[0]._replace(text=question), *answers]
        left -= count(render_quotes(shown)) + 1
        kept |= zip(exchange, shown, strict=True)
    return kept


def _shorten_question(shortener: Shortener, text: str, limit: int) -> str:
    """Return the last question of a message, or its beginning, in at most `limit` tokens."""
    if shortener.count(text) <= limit:
        return text
    asked = [text[u.start : u.end].strip() for u in split_units(text)]
    asked = [sentence for sentence in asked if sentence.endswith(("?", "？"))]
    return cut_sentences(asked[-1] if asked else text, limit, shortener.count)


def _shorten_answer(shortener: Shortener, text: str, limit: int, question: str) -> str:
    """Return the sentences of an answer that its question needs most."""
    lines = shortener.fit(text, max(1, limit), question).splitlines()
    return "\n".join(line for line in lines if not _EMPTY.fullmatch(line))


def _choose_quotes(
    shortener: Shortener, query: str | None, quotes: Mapping[int, Quote], limit: int
) -> dict[int, Quote]:
    """Return the sentences that the query needs most, with their sources, in at most `limit` tokens."""
    count, places = shortener.count, list(quotes)
    if not quotes or limit < 1:
        return {}
    budget = limit
    for _ in range(3):  # the lines that name the sources need room too, so try smaller budgets
        result = shortener.compressor.compress(query, [quotes[p].text for p in places], budget=max(1, budget))
        kept = {places[d.source]: quotes[places[d.source]]._replace(text=d.text) for d in result.documents}
        used = count(render_quotes([kept[place] for place in sorted(kept)]))
        if kept and used <= limit:
            return kept
        budget -= max(1, used - limit)
        if budget < 1:
            break
    text = cut_sentences(quotes[places[-1]].text, max(1, limit - 8), count)
    return {places[-1]: quotes[places[-1]]._replace(text=text)}


def wrap_notes(summary: str, pins: Mapping[str, str], found: str, is_taken_out: bool) -> Json:
    """Return the message with notes, pins and what the user has stated; empty, if there is nothing to say."""
    pinned = "".join(f"\nPinned, {key}:\n{text}\n" for key, text in pins.items())
    if found:
        pinned += f"\nThe user said:\n{found}\n"
    if not summary:
        content = f"{LEFT_OUT}\n{pinned}" if is_taken_out else pinned.lstrip("\n")
        return {"role": "user", "content": content if content.strip("\n") else ""}
    # The closing tag inside the text would end the notes early.
    text = load_prompt("memory_note").render(
        about=_TAKEN_OUT if is_taken_out else _NOT_TAKEN_OUT,
        summary=escape_tag(summary, "notes"),
        pins=pinned,
    )
    return {"role": "user", "content": text}
