"""Shorter messages: what the task needs stays, and an id leads to the original."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from tersely.chat.messages import Json, get_text, measure_tokens, with_text
from tersely.compressor import Compressor
from tersely.memory.store import original_id

SHORTEST = 24
"""Tokens; a text that would have less room is replaced by a reference to its original."""

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
        text = get_text(message)
        before = self._count(text)
        if before <= room:
            return message, []
        key = original_id(text)
        head = f"[shortened from {before} tokens; id of the original: {key}]\n"
        left = room - self._count(head)
        body = self.fit(text, left, query) if left >= SHORTEST else ""
        short = head + body if body else f"[{before} tokens left out; id of the original: {key}]"
        if self._count(short) >= before:
            return message, []
        return with_text(message, short), [(key, text)]

    def fit(self, text: str, room: int, query: str) -> str:
        """The sentences of `text` that the query needs most, in at most `room` tokens."""
        if self._count(text) <= room:
            return text
        short = self._compressor.compress(query, [text], budget=max(1, room)).text
        # A model that failed gives everything back, and a sentence longer than the room leaves nothing.
        return short if short and self._count(short) <= room else self._beginning(text, room)

    def extract(self, query: str, texts: Sequence[str], room: int) -> str:
        """The sentences of all texts that the query needs most, in at most `room` tokens."""
        short = self._compressor.compress(query, texts, budget=room).text
        return short if self._count(short) <= room else self._beginning("\n\n".join(texts), room)

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

    def _beginning(self, text: str, room: int) -> str:
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            if self._count(text[:middle]) <= room:
                low = middle
            else:
                high = middle - 1
        return text[:low]


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
