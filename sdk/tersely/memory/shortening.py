"""Shorter messages: what the task needs stays, and an id leads to the original."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from tersely.chat.messages import Json, get_text, measure_tokens, with_text
from tersely.compressor import Compressor
from tersely.memory.store import original_id
from tersely.text.sentences import split_units

SHORTEST = 24
"""Tokens; a text that would have less room is replaced by a reference to its original."""

_DEGRADED = " by exact matches, because the model failed"

Originals = list[tuple[str, str]]
"""(id, text) of what was shortened."""


class Shortener:
    """Shortens texts with a compressor, which is made when it is first needed."""

    def __init__(self, compressor: Compressor | None, count: Callable[[str], int]) -> None:
        self._given = compressor
        self._count = count

    @cached_property
    def _compressor(self) -> Compressor:
        return self._given or Compressor()

    def shorten(self, message: Json, room: int, query: str) -> tuple[Json, Originals]:
        """The message with a text of at most `room` tokens, and its original.

        With very little room the text is only a reference to the original, which may exceed it. A message
        that would not become shorter stays as it is.
        """
        (short,), originals = self.shorten_texts([get_text(message)], room, query)
        return (message if short == get_text(message) else with_text(message, short)), originals

    def shorten_texts(self, texts: Sequence[str], room: int, query: str) -> tuple[list[str], Originals]:
        """The texts of one message in at most `room` tokens together, and their original: all of them.

        The first text that is left begins with a line that says so and names the original, and says also
        where the model failed. Texts of which nothing is needed are empty.
        """
        text = join_texts(texts)
        before = self._count(text)
        if before <= room:
            return list(texts), []
        key = original_id(text)
        short = self._shorten(texts, room, query, f"shortened from {before} tokens", key)
        if not any(short):
            short[0] = f"[{before} tokens left out; id of the original: {key}]"
        if self._count(join_texts(short)) >= before:
            return list(texts), []
        return short, [(key, text)]

    def _shorten(self, texts: Sequence[str], room: int, query: str, note: str, key: str) -> list[str]:
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

    def fit(self, text: str, room: int, query: str) -> str:
        """The sentences of `text` that the query needs most, in at most `room` tokens."""
        return text if self._count(text) <= room else self.extract(query, [text], room)

    def extract(self, query: str, texts: Sequence[str], room: int) -> str:
        """The sentences of all texts that the query needs most, in at most `room` tokens."""
        short = self._compressor.compress(query, texts, budget=max(1, room)).text
        return short if short else self._first_sentences(join_texts(texts), room)

    def fit_step(self, step: Sequence[Json], room: int, query: str) -> tuple[list[Json], Originals]:
        """The messages of a step in at most `room` tokens: its longest texts are shortened to one length.

        Tool calls stay as they are. Where they alone are too long, one message refers to the whole step.
        """
        if measure_tokens(step, self._count) <= room:
            return list(step), []
        bare = measure_tokens([with_text(m, "") for m in step], self._count)
        costs = sorted(self._count(get_text(m)) for m in step)
        for share in _shares(costs, room - bare):
            done = [self.shorten(m, share, query) for m in step]
            messages = [m for m, _ in done]
            if measure_tokens(messages, self._count) <= room:
                return messages, [o for _, own in done for o in own]
        text = "\n".join(f"{m['role']}: {m}" for m in step)
        key = original_id(text)
        before = measure_tokens(step, self._count)
        return [{"role": "user", "content": f"[{before} tokens left out; id of the original: {key}]"}], [
            (key, text)
        ]

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
