"""Notes on the messages that a reset takes out of the context.

`wrap_notes` writes the message that shows the notes to the model. `extract_notes` makes notes without a
model: it quotes sentences of the transcript. Each quote follows a line that names its source:

    Tool search:
    > The tower was built in 1861.

Every line of a quote begins with ">", so that no quoted text can pretend to come from another source. A
question of the user stays together with its answer. Texts that say nothing, such as thanks or an empty
result, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tersely.messages import Json, get_text
from tersely.types import Compression, Span
from tersely_agents.memory.cues import ACKNOWLEDGEMENT
from tersely_agents.memory.sentences import cut_sentences, find_questions, find_sentences
from tersely_agents.memory.shortening import Shortener, remove_head
from tersely_agents.prompts import escape_tag, load_prompt

EARLIER_NOTES = "Earlier notes:"
_USER, _ASSISTANT = "User:", "Assistant:"
_SOURCES = {"user": _USER, "assistant": _ASSISTANT, "system": "System:", "developer": "System:"}
_MIN_EXCHANGE_TOKENS = 32
"""Smallest number of tokens in which an exchange (a question and its answer) is worth quoting."""
_EXCHANGE_SHARE = 0.7
"""Largest share of the notes for questions and answers, if there are calls or results too."""
_QUESTION_SHARE = 0.35
"""Largest share of an exchange for its question."""
_SOURCE_TOKENS = 4
"""Number of tokens reserved for the line that names the user."""
_NO_LETTERS = re.compile(r"(?:[\W\d_]|…)*")
_NAME_CHARACTERS = 60
"""Largest number of characters of a tool's name."""
_TAKEN_OUT = "Earlier messages were taken out. These notes replace them."
LEFT_OUT = "Earlier messages were taken out."
_NOT_TAKEN_OUT = "These notes are on the conversation so far."


class Quote(NamedTuple):
    """A text, and the line that names its source."""

    source: str
    text: str


def quote_messages(messages: Sequence[Json]) -> list[Quote]:
    """Quote the texts of the messages, and the arguments of their calls.

    A shortened text begins with a line that names the id of its original. This line is left out.
    """
    quotes: list[Quote] = []
    names: dict[str, str] = {}
    for message in messages:
        if message["role"] == "tool":
            source = f"Tool {names.get(message['tool_call_id'], '')}".rstrip() + ":"
        else:
            source = _SOURCES[message["role"]]
        quotes.append(Quote(source, remove_head(get_text(message))))
        for call in message.get("tool_calls") or ():
            function = call.get("function", {})
            names[call["id"]] = name = " ".join(str(function.get("name")).split())[:_NAME_CHARACTERS]
            quotes.append(Quote(f"Call {name}:", str(function.get("arguments"))))
    return quotes


def render_quotes(quotes: Sequence[Quote]) -> str:
    """Write quotes as text. Neighbouring quotes from one source share the line that names the source."""
    lines: list[str] = []
    before = None
    for source, text in quotes:
        quoted = [f"> {line}" for line in text.splitlines() if not _NO_LETTERS.fullmatch(line)]
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
    # Rendered together, quotes can have more tokens than counted one by one. Then the oldest are left out.
    while kept:
        notes = render_quotes([kept[place] for place in sorted(kept)])
        if shortener.count(notes) <= limit:
            return notes
        oldest = min(kept)
        for place in next((e for e in exchanges if oldest in e), (oldest,)):
            kept.pop(place, None)
    return ""


def _drop_empty(quotes: Sequence[Quote]) -> list[Quote]:
    """Leave out quotes that say nothing, and repeated ones."""
    kept: dict[Quote, None] = {}
    for quote in quotes:
        text = quote.text.strip()
        is_nothing = _NO_LETTERS.fullmatch(text) or text in ("{}", "null", "None")
        if not is_nothing and re.sub(r"[\W\d_]+", " ", ACKNOWLEDGEMENT.sub(" ", text)).strip():
            kept.setdefault(quote)
    return list(kept)


def _find_exchanges(quotes: Sequence[Quote]) -> list[tuple[int, ...]]:
    """Return the places of each message of the user and of the assistant's last answer to it.

    Without an answer, return the place of the message alone.
    """
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
    """Shorten exchanges to equal shares of the limit. Each share has room for at least the shortest form of
    its exchange. Exchanges without room for that are left out, the oldest first."""
    shortest = _find_shortest_forms(shortener, quotes, exchanges, limit)
    whole = {exchange: [quotes[place] for place in exchange] for exchange in shortest}
    needed = {exchange: _measure(shortener, shown) for exchange, shown in shortest.items()}
    sizes = {exchange: _measure(shortener, shown) for exchange, shown in whole.items()}
    left, spare = limit, limit - sum(needed.values())
    kept: dict[int, Quote] = {}
    # Take short exchanges first: the others share what these do not use.
    for number, exchange in enumerate(sorted(shortest, key=sizes.__getitem__)):
        reserved = needed[exchange]
        share = max(reserved, min(reserved + spare, left // (len(shortest) - number)))
        shown = whole[exchange]
        if sizes[exchange] > share:
            shown = _shorten_exchange(shortener, shown, shortest[exchange], share)
        used = _measure(shortener, shown)
        left -= used
        spare -= used - reserved
        kept |= zip(exchange, shown, strict=True)
    return kept


def _find_shortest_forms(
    shortener: Shortener, quotes: Sequence[Quote], exchanges: Sequence[tuple[int, ...]], limit: int
) -> dict[tuple[int, ...], list[Quote]]:
    """Return the newest exchanges that fit in their shortest form: the question, and the best sentence of its
    answer."""
    newest = exchanges[max(0, len(exchanges) - limit // _MIN_EXCHANGE_TOKENS) :]
    # A single exchange may fill the limit. If there are several, each gets at most half of it.
    most = limit // min(2, len(newest)) if newest else 0
    shortest: dict[tuple[int, ...], list[Quote]] = {}
    left = limit
    for exchange in reversed(newest):
        asked, *answers = (quotes[place] for place in exchange)
        room = _share_of_question(most, answers)
        shown = [asked._replace(text=cut_sentences(_find_request(asked.text), room, shortener.count))]
        for answer in answers:
            best = _find_best_sentence(shortener, answer.text, asked.text)
            text = shortener.fit(best, _room_of_answer(shortener, shown, most), asked.text)
            shown.append(answer._replace(text=text))
        left -= _measure(shortener, shown)
        if left < 0:
            break
        shortest[exchange] = shown
    return shortest


def _shorten_exchange(
    shortener: Shortener, whole: Sequence[Quote], shortest: Sequence[Quote], limit: int
) -> list[Quote]:
    """Return an exchange in at most `limit` tokens, but never less than its shortest form, `shortest`."""
    asked, *answers = whole
    room = max(_share_of_question(limit, answers), shortener.count(shortest[0].text))
    shown = [asked._replace(text=_shorten_question(shortener, asked.text, room))]
    for answer, best in zip(answers, shortest[1:], strict=True):
        text = _shorten_answer(shortener, answer.text, _room_of_answer(shortener, shown, limit), asked.text)
        shown.append(answer._replace(text=text) if text else best)
    return shown


def _measure(shortener: Shortener, quotes: Sequence[Quote]) -> int:
    """Return the tokens of quotes and of the line break after them."""
    return shortener.count(render_quotes(quotes)) + 1


def _share_of_question(limit: int, answers: Sequence[Quote]) -> int:
    return int(limit * _QUESTION_SHARE) if answers else max(1, limit - _SOURCE_TOKENS)


def _room_of_answer(shortener: Shortener, before: Sequence[Quote], limit: int) -> int:
    """Return the tokens that are left for an answer after the quotes before it."""
    source = shortener.count(f"{_ASSISTANT}\n> ") + 1
    return max(1, limit - _measure(shortener, before) - source)


def _find_question(text: str) -> str:
    """Return the last question of a message; "" if it asks nothing."""
    return "".join(text[start:end].strip() for start, end in find_questions(text)[-1:])


def _find_request(text: str) -> str:
    """Return the last question of a message, or its first sentence."""
    if question := _find_question(text):
        return question
    start, end = (find_sentences(text) or [(0, len(text))])[0]
    return text[start:end].strip()


def _shorten_question(shortener: Shortener, text: str, limit: int) -> str:
    """Return a message if it has at most `limit` tokens, else as much of its last question as fits.

    If the message asks nothing, return as much of its beginning as fits.
    """
    if shortener.count(text) <= limit:
        return text
    return cut_sentences(_find_question(text) or text, limit, shortener.count)


def _find_best_sentence(shortener: Shortener, text: str, question: str) -> str:
    """Return the sentence of an answer with the highest score for the question."""
    sentences = find_sentences(text)
    if len(sentences) < 2:
        return text
    # With a budget, every sentence gets a score, even if the model fails.
    result = shortener.compressor.compress(question, [text], budget=1)
    place = _find_best(result).start
    return next((text[start:end].strip() for start, end in sentences if start <= place < end), text)


def _find_best(result: Compression) -> Span:
    return max((*result.kept, *result.dropped), key=lambda span: span.score)


def _shorten_answer(shortener: Shortener, text: str, limit: int, question: str) -> str:
    """Shorten an answer to the parts that the question needs most; "" if the best sentence does not fit."""
    if shortener.count(text) <= limit:
        return text
    result = shortener.compressor.compress(question, [text], budget=limit)
    lines = result.text.splitlines() if _find_best(result) in result.kept else []
    return "\n".join(line for line in lines if not _NO_LETTERS.fullmatch(line))


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
    """Return the message with the notes, pins and statements of the user; empty if there is nothing to
    say."""
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
