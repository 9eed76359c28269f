"""Shorter messages: what the task needs stays, and an id leads to the original."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

from tersely.compressor import Compressor
from tersely.messages import Json, get_text, measure_tokens, with_text
from tersely.split.sentences import split_units
from tersely_agents.memory.quotes import Quote, read_quotes, render_quotes
from tersely_agents.memory.store import original_id

SHORTEST = 24
"""Tokens; a text that would have less room is replaced by a reference to its original."""
REFERENCE = 40
"""Tokens that a message with nothing but such a reference takes at most."""

_HEAD = re.compile(
    r"\[(?P<kind>shortened from )?(?P<tokens>\d+) tokens(?: left out)?"
    r"(?: by exact matches, because the model failed)?"
    r"(?P<parts>, without \d+ parts? of other kinds)?(?P<messages>, \d+ messages?)?"
    r"; id of the original: (?P<key>[0-9a-f]{12})\]\n?"
)
"""The line above a shortened text, or instead of it."""
_MARKS = re.compile(r"\[…\]|…")

_DEGRADED = " by exact matches, because the model failed"

Originals = list[tuple[str, str]]
"""(id, text) of what was shortened."""


class Shown(NamedTuple):
    """A message as the context shows it."""

    message: Json
    key: str | None = None
    """Id of what the message was first shortened from; None for one that came so."""
    source: Json | str | None = None
    """The message before it was shortened; the JSON lines of several, where this one refers to them; None for
    one that came so."""

    @property
    def head(self) -> re.Match[str] | None:
        """The line about the original, where the message has one."""
        match = _HEAD.match(get_text(self.message)) if self.key else None
        return match if match and match["key"] == self.key else None

    @property
    def lines(self) -> str:
        """What the message stands for, as JSON lines."""
        source = self.source or self.message
        return source if isinstance(source, str) else json.dumps(source, ensure_ascii=False)


def recognise(message: Json, lookup: Callable[[str], str | None]) -> Shown:
    """A message that comes in, with what it was before another part of the program shortened it.

    `lookup` finds an original. A text of somebody else may look like a shortened one, so its words must be
    words of the original that it names, in their order.
    """
    head = _HEAD.match(text := get_text(message))
    if head is None or head["parts"] or head["messages"]:
        return Shown(message)
    original = lookup(head["key"])
    if original is None or not _is_part(text[head.end() :], original):
        return Shown(message)
    return find_source(message, head["key"], original)


def _is_part(text: str, original: str) -> bool:
    """Whether all words of the text stand in the original, in this order, apart from marks."""
    words = iter(_MARKS.sub(" ", original).split())
    return all(word in words for word in _MARKS.sub(" ", text).split())


def find_source(message: Json, key: str | None, original: str | None) -> Shown:
    """The message with what it was before it was shortened: `original` is what its id leads to."""
    shown = Shown(message, key)
    if original is None:
        return shown
    head = shown.head
    if head and head["messages"]:
        return Shown(message, key, original)
    if head and head["parts"]:
        return Shown(message, key, {**message, "content": json.loads(original)})
    return Shown(message, key, with_text(message, original))


class Shortener:
    """Shortens texts with a compressor, which is made when it is first needed.

    Where a query is None, what tells most about a text is kept.
    """

    def __init__(self, compressor: Compressor | None, count: Callable[[str], int]) -> None:
        self._given = compressor
        self._count = count

    @cached_property
    def _compressor(self) -> Compressor:
        return self._given or Compressor()

    def shorten(self, shown: Shown, room: int, query: str | None) -> tuple[Shown, Originals]:
        """The message with a text of at most `room` tokens, and its original.

        With very little room the text is only a reference to the original, which may exceed it. A message
        that would not become shorter stays as it is. If it has been shortened before, its id stays that of
        the first original.
        """
        text = get_text(shown.message)
        now = self._count(text)
        if now <= room:
            return shown, []
        key = shown.key or original_id(text)
        before, body, without = now, text, ""
        if own := shown.head:
            before, body = int(own["tokens"]), text[own.end() :]
            without = own["parts"] or own["messages"] or ""
        head = f"[shortened from {before} tokens{without}; id of the original: {key}]\n"
        left = room - self._count(head)
        kept = self.fit(body, left, query) if left >= SHORTEST else ""
        short = head + kept if kept else f"[{before} tokens left out{without}; id of the original: {key}]"
        if self._count(short) >= now:
            return shown, []
        changed = Shown(with_text(shown.message, short), key, shown.source or shown.message)
        return changed, [] if shown.key else [(key, text)]

    def shorten_texts(
        self, texts: Sequence[str], room: int, query: str | None, key: str | None = None
    ) -> tuple[list[str], Originals]:
        """The texts of one message in at most `room` tokens together, and their original: all of them.

        The first text that is left begins with a line that says so and names the original, and says also
        where the model failed. Texts of which nothing is needed are empty. If the texts have been shortened
        before, `key` is the id of their original, which stays.
        """
        text = join_texts(texts)
        before = now = self._count(text)
        if now <= room:
            return list(texts), []
        bodies, originals = list(texts), [(original_id(text), text)]
        head = _HEAD.match(text)
        if key is not None and head and head["key"] == key:
            before, originals = int(head["tokens"]), []
            place = next(place for place, one in enumerate(texts) if one)
            bodies[place] = bodies[place][head.end() :]
        else:
            key = original_id(text)
        short = self._shorten(bodies, room, query, f"shortened from {before} tokens", key)
        if not any(short):
            short[0] = f"[{before} tokens left out; id of the original: {key}]"
        if self._count(join_texts(short)) >= now:
            return list(texts), []
        return short, originals

    def _shorten(self, texts: Sequence[str], room: int, query: str | None, note: str, key: str) -> list[str]:
        """The texts with the note; all of them empty where there is too little room."""
        short = [""] * len(texts)
        head = f"[{note}; id of the original: {key}]\n"
        left = room - self._count(head)
        if left < SHORTEST:
            return short
        result = self._compressor.compress(query, texts, budget=left)
        if result.status == "degraded" and _DEGRADED not in note:
            return self._shorten(texts, room, query, note + _DEGRADED, key)
        for document in result.documents:
            short[document.source] = document.text
        first = next((place for place, text in enumerate(short) if text), None)
        if first is not None:
            short[first] = head + short[first]
        return short

    def fit(self, text: str, room: int, query: str | None) -> str:
        """The sentences of `text` that the query needs most, in at most `room` tokens."""
        if self._count(text) <= room:
            return text
        short = self._compressor.compress(query, [text], budget=max(1, room)).text
        return short or self._first_sentences(text, room)

    def extract(self, query: str | None, quotes: Sequence[Quote], room: int) -> str:
        """The sentences of all quotes that the query needs most, each quoted as what it is, in at most `room`
        tokens."""
        given = [quote for quote in quotes if quote.text.strip()]
        if not given:
            return ""
        texts = [quote.text for quote in given]
        kept: list[tuple[float, Quote]] = []
        budget = room
        for _ in range(2):  # the second time with room for the words around the quotes
            result = self._compressor.compress(query, texts, budget=max(1, budget))
            kept = [(d.relevance, Quote(given[d.source].source, d.text)) for d in result.documents]
            used = self._count(render_quotes([quote for _, quote in kept]))
            if used <= room:
                break
            budget = room - (used - self._count(result.text))
        kept = [(relevance, quote) for relevance, quote in kept if quote.text.strip()]
        return self._best(kept or [(0.0, quote) for quote in given], room)

    def fit_notes(self, notes: str, room: int) -> str:
        """Extractive notes in at most `room` tokens: the first quotes of them."""
        return self._best([(0.0, quote) for quote in read_quotes(notes)], room) if room else ""

    def fit_step(self, step: Sequence[Shown], room: int, query: str | None) -> tuple[list[Shown], Originals]:
        """The messages of a step in at most `room` tokens: its longest texts are shortened to one length.

        Parts that are no text are left out where the messages do not fit with them. Tool calls stay as they
        are. Where they alone are too long, one message refers to the whole step.
        """
        if self._size(step) <= room:
            return list(step), []
        bare = [self._without_parts(shown) for shown in step]
        attempts: list[tuple[Sequence[Shown], Originals]] = [(step, [])]
        if any(originals for _, originals in bare):
            attempts.append(([shown for shown, _ in bare], [o for _, own in bare for o in own]))
        for shown, originals in attempts:
            if self._size(shown) <= room:
                return list(shown), originals
            others = measure_tokens([with_text(s.message, "") for s in shown], self._count)
            costs = sorted(self._count(get_text(s.message)) for s in shown)
            for share in _shares(costs, room - others):
                done = [self.shorten(s, share, query) for s in shown]
                if self._size([s for s, _ in done]) <= room:
                    return [s for s, _ in done], [*originals, *(o for _, own in done for o in own)]
        reference, original = self._reference(step)
        return [reference], [original]

    def fit_newest(
        self, messages: Sequence[Shown], room: int, query: str | None
    ) -> tuple[list[Shown], Originals]:
        """`fit_step`, where each message stands for itself: if not all can be shown, the newest are, and one
        message refers to those before them."""
        count = len(messages)
        while True:
            older, originals = messages[:-count], Originals()
            references: list[Shown] = []
            if older:
                reference, original = self._reference(older)
                references, originals = [reference], [original]
            shown, more = self.fit_step(messages[-count:], room - self._size(references), query)
            if len(shown) == count or count == 1:
                return [*references, *shown], [*originals, *more]
            count //= 2

    def _without_parts(self, shown: Shown) -> tuple[Shown, Originals]:
        """The message without its parts that are no text, which the original has; the text itself stays."""
        source = shown.source or shown.message
        content: Any = None if isinstance(source, str) else source.get("content")
        parts = cast("list[Json]", content) if isinstance(content, list) else []
        others = sum(part["type"] != "text" for part in parts)
        own = shown.head
        if not others or (own and own["parts"]):
            return shown, []
        whole = json.dumps(parts, ensure_ascii=False)
        key, text, before = original_id(whole), get_text(shown.message), self._size([shown])
        body = text[own.end() :] if own else text
        without = f", without {others} part{'s' * (others > 1)} of other kinds"
        head = f"[shortened from {before} tokens{without}; id of the original: {key}]\n"
        changed = {**shown.message, "content": head + body}
        return Shown(changed, key, shown.source or shown.message), [(key, whole)]

    def _reference(self, messages: Sequence[Shown]) -> tuple[Shown, tuple[str, str]]:
        """One message of the user that refers to all of `messages`, and their original."""
        text = "\n".join(shown.lines for shown in messages)
        key, count = original_id(text), len(text.split("\n"))
        several = f", {count} message{'s' * (count > 1)}"
        content = f"[{self._size(messages)} tokens left out{several}; id of the original: {key}]"
        return Shown({"role": "user", "content": content}, key), (key, text)

    def _best(self, quotes: Sequence[tuple[float, Quote]], room: int) -> str:
        """The most relevant quotes that fit, in their order; the beginning of the best where none does."""
        ranked = sorted(range(len(quotes)), key=lambda place: -quotes[place][0])
        left, chosen = room, list[int]()
        for place in ranked:
            cost = self._count(render_quotes([quotes[place][1]])) + 1
            if cost <= left:
                left -= cost
                chosen.append(place)
        while chosen:
            notes = render_quotes([quotes[place][1] for place in sorted(chosen)])
            if self._count(notes) <= room:
                return notes
            chosen.pop()  # counters need not add up
        for place in ranked[:1]:
            quote, size_ = quotes[place][1], room
            while size_ := size_ // 2:
                notes = render_quotes([Quote(quote.source, self._first_sentences(quote.text, size_))])
                if notes and self._count(notes) <= room:
                    return notes
        return ""

    def _size(self, messages: Sequence[Shown]) -> int:
        return measure_tokens([shown.message for shown in messages], self._count)

    def _first_sentences(self, text: str, room: int) -> str:
        """The sentences from the beginning that fit; the beginning of the first, where it does not."""
        ends = [unit.end for unit in split_units(text)] or [len(text)]
        fitting = bisect_right(ends, room, key=lambda end: self._count(text[:end]))
        if fitting:
            return text[: ends[fitting - 1]]
        return text[: bisect_right(range(1, ends[0] + 1), room, key=lambda end: self._count(text[:end]))]


def join_texts(texts: Iterable[str]) -> str:
    """The texts of one message as one text, as its original is kept."""
    return "\n\n".join(filter(None, texts))


def _shares(costs: Sequence[int], room: int) -> list[int]:
    """Lengths to cut the longest texts to, the most generous first: that with which all fill `room`, less,
    and none."""
    left, share = room, 0
    for number, cost in enumerate(costs):
        share = left // (len(costs) - number)
        if cost > share:
            break
        left -= cost
    return [share, share * 3 // 4, share // 2, 0] if share > 0 else [0]
