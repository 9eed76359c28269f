"""Shorter messages: they keep the sentences that the task needs, and an id that leads to the original."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, cast

from tersely.compressor import Compressor
from tersely.messages import Json, get_text, measure_tokens, replace_text
from tersely.types import Compression
from tersely_agents.memory.sentences import cut_sentences
from tersely_agents.memory.store import original_id

REFERENCE_TOKENS = 40
"""Largest number of tokens of a message that only refers to its original."""
_MIN_TOKENS = 24
"""If a text has less room than this, a reference to its original replaces it."""

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
"""(id, text) of each text that was shortened."""


class ShortTexts(NamedTuple):
    """The texts of a message after shortening."""

    texts: list[str]
    originals: Originals
    """The original of all texts, joined; empty if they did not change, or if their original is known."""
    result: Compression | None = None
    """Receipt of the compression; None if nothing was compressed."""


class ContextMessage(NamedTuple):
    """A message as the context shows it."""

    message: Json
    key: str | None = None
    """Id of the first original; None if the message was not shortened."""
    source: Json | str | None = None
    """The message before it was shortened, or the JSON lines of several to which this one refers; None if it
    was not shortened."""

    @property
    def head(self) -> re.Match[str] | None:
        """The line about the original, if the message has one."""
        match = _HEAD.match(get_text(self.message)) if self.key else None
        return match if match and match["key"] == self.key else None

    @property
    def lines(self) -> str:
        """The original message or messages, as JSON lines."""
        source = self.source or self.message
        return source if isinstance(source, str) else json.dumps(source, ensure_ascii=False)


def recognise(message: Json, lookup: Callable[[str], str | None]) -> ContextMessage:
    """Find the original of a message that comes in, if another part of the program has shortened it.

    `lookup` finds an original by id. Anybody can write a text that looks shortened, so its words must be
    words of the original that it names, in their order.
    """
    head = _HEAD.match(text := get_text(message))
    if head is None or head["parts"] or head["messages"]:
        return ContextMessage(message)
    original = lookup(head["key"])
    if original is None or not _is_part(text[head.end() :], original):
        return ContextMessage(message)
    return find_source(message, head["key"], original)


def find_references(text: str) -> list[str]:
    """Return the ids of the originals that a text of the context names."""
    return [match["key"] for match in _HEAD.finditer(text)]


def remove_head(text: str) -> str:
    """Return a text of the context without its line about the original, if it has one."""
    match = _HEAD.match(text)
    return text[match.end() :] if match else text


def _is_part(text: str, original: str) -> bool:
    """Return whether all words of the text, apart from marks, are in the original in this order."""
    words = iter(_MARKS.sub(" ", original).split())
    return all(word in words for word in _MARKS.sub(" ", text).split())


def find_source(message: Json, key: str | None, original: str | None) -> ContextMessage:
    """Combine a shortened message with its source. `original` is the text that is stored under the id
    `key`."""
    shown = ContextMessage(message, key)
    if original is None:
        return shown
    head = shown.head
    if head and head["messages"]:
        return ContextMessage(message, key, original)
    if head and head["parts"]:
        return ContextMessage(message, key, {**message, "content": json.loads(original)})
    return ContextMessage(message, key, replace_text(message, original))


class Shortener:
    """A shortener of texts with a compressor, which is loaded when it is first needed.

    If a query is None, the sentences that cover as much of a text as possible are kept.
    """

    def __init__(self, compressor: Compressor | None, count: Callable[[str], int]) -> None:
        self._given = compressor
        self.count = count

    @cached_property
    def compressor(self) -> Compressor:
        return self._given or Compressor()

    def shorten(
        self, shown: ContextMessage, limit: int, query: str | None
    ) -> tuple[ContextMessage, Originals]:
        """Shorten the text of a message to at most `limit` tokens; return the message and the original.

        With a very low limit the text is only a reference to the original, and may exceed the limit. A
        message that would not become shorter stays as it is. If it has been shortened before, its id stays
        that of the first original.
        """
        text = get_text(shown.message)
        (short,), originals, _ = self.shorten_texts([text], limit, query, shown.key)
        if short == text:
            return shown, []
        key = originals[0][0] if originals else shown.key
        changed = replace_text(shown.message, short)
        return ContextMessage(changed, key, shown.source or shown.message), originals

    def shorten_texts(
        self, texts: Sequence[str], limit: int, query: str | None, key: str | None = None
    ) -> ShortTexts:
        """Shorten the texts of one message to at most `limit` tokens together.

        The first text that is not empty begins with a line that says that it was shortened, and names the
        original. It also says if the model failed. Texts that are not needed become empty. If the texts have
        been shortened before, `key` is the id of their original, and stays.
        """
        text = join_texts(texts)
        before = now = self.count(text)
        if now <= limit:
            return ShortTexts(list(texts), [])
        bodies, originals, details = list(texts), [(original_id(text), text)], ""
        head = _HEAD.match(text)
        if key is not None and head and head["key"] == key:
            before, originals = int(head["tokens"]), []
            details = head["parts"] or head["messages"] or ""
            place = next(place for place, one in enumerate(texts) if one)
            bodies[place] = bodies[place][head.end() :]
        else:
            key = original_id(text)
        short, result = self._shorten(bodies, limit, query, _write_head(before, key, details))
        if result is not None and result.status == "degraded":
            head_if_degraded = _write_head(before, key, _DEGRADED + details)
            short, result = self._shorten(bodies, limit, query, head_if_degraded)
        if not any(short):
            short[0] = _write_head(before, key, details, is_left_out=True)
        if self.count(join_texts(short)) >= now:
            return ShortTexts(list(texts), [])
        return ShortTexts(short, originals, result)

    def _shorten(
        self, texts: Sequence[str], limit: int, query: str | None, head: str
    ) -> tuple[list[str], Compression | None]:
        """Return the short texts and the compression. The first text that is not empty begins with the line
        `head`. All texts are empty if there is too little room."""
        short = [""] * len(texts)
        left = limit - self.count(f"{head}\n")
        if left < _MIN_TOKENS:
            return short, None
        result = self.compressor.compress(query, texts, budget=left)
        for document in result.documents:
            short[document.source] = document.text
        first = next((place for place, text in enumerate(short) if text), None)
        if first is not None:
            short[first] = f"{head}\n{short[first]}"
        return short, result

    def fit(self, text: str, limit: int, query: str | None) -> str:
        """Return the sentences of `text` that the query needs most, in at most `limit` tokens."""
        if self.count(text) <= limit:
            return text
        short = self.compressor.compress(query, [text], budget=max(1, limit)).text
        return short or cut_sentences(text, limit, self.count)

    def fit_step(
        self, step: Sequence[ContextMessage], limit: int, query: str | None
    ) -> tuple[list[ContextMessage], Originals]:
        """Shorten the messages of a step to at most `limit` tokens: the longest texts are cut to one length.

        Images and other parts are left out if the messages do not fit with them. Tool calls stay as they
        are. If they alone are too long, one message refers to the whole step.
        """
        if self._size(step) <= limit:
            return list(step), []
        attempts: list[tuple[list[ContextMessage], Originals]] = [(list(step), [])]
        bare, originals = _collect(self._remove_parts(shown) for shown in step)
        if originals:
            attempts.append((bare, originals))
        for messages, originals in attempts:
            if self._size(messages) <= limit:
                return messages, originals
            others = measure_tokens([replace_text(shown.message, "") for shown in messages], self.count)
            costs = sorted(self.count(get_text(shown.message)) for shown in messages)
            for length in _choose_lengths(costs, limit - others):
                shortened, more = _collect(self.shorten(shown, length, query) for shown in messages)
                if self._size(shortened) <= limit:
                    return shortened, [*originals, *more]
        return self._refer_to(step)

    def fit_newest(
        self, steps: Sequence[Sequence[ContextMessage]], limit: int, query: str | None
    ) -> tuple[list[ContextMessage], Originals]:
        """Shorten steps to at most `limit` tokens together. If not all fit, one message refers to the oldest
        ones."""
        count = len(steps)
        while True:
            newest = list(chain.from_iterable(steps[-count:]))
            older = list(chain.from_iterable(steps[: len(steps) - count]))
            references, originals = self._refer_to(older)
            shown, more = self.fit_step(newest, limit - self._size(references), query)
            if older and count == 1 and self._size([*references, *shown]) > limit:
                return self._refer_to([*older, *newest])
            if len(shown) == len(newest) or count <= 1:
                return [*references, *shown], [*originals, *more]
            count //= 2

    def _remove_parts(self, shown: ContextMessage) -> tuple[ContextMessage, Originals]:
        """Keep only the text of a message with images or other parts."""
        source = shown.source or shown.message
        content: Any = None if isinstance(source, str) else source.get("content")
        parts = cast("list[Json]", content) if isinstance(content, list) else []
        others = sum(part["type"] != "text" for part in parts)
        earlier = shown.head
        if not others or (earlier and earlier["parts"]):
            return shown, []
        whole = json.dumps(parts, ensure_ascii=False)
        key, text, before = original_id(whole), get_text(shown.message), self._size([shown])
        body = text[earlier.end() :] if earlier else text
        without = f", without {others} part{'s' * (others > 1)} of other kinds"
        changed = {**shown.message, "content": f"{_write_head(before, key, without)}\n{body}"}
        return ContextMessage(changed, key, shown.source or shown.message), [(key, whole)]

    def _refer_to(self, messages: Sequence[ContextMessage]) -> tuple[list[ContextMessage], Originals]:
        """Return a message with the user's role that refers to all of `messages`, and their original.

        Without messages, return nothing.
        """
        if not messages:
            return [], []
        text = "\n".join(shown.lines for shown in messages)
        key, count = original_id(text), len(text.split("\n"))
        several = f", {count} message{'s' * (count > 1)}"
        content = _write_head(self._size(messages), key, several, is_left_out=True)
        return [ContextMessage({"role": "user", "content": content}, key)], [(key, text)]

    def _size(self, messages: Sequence[ContextMessage]) -> int:
        return measure_tokens(list_messages(messages), self.count)


def list_messages(shown: Iterable[ContextMessage]) -> list[Json]:
    """Return the messages alone, without their originals."""
    return [each.message for each in shown]


def _collect(
    changed: Iterable[tuple[ContextMessage, Originals]],
) -> tuple[list[ContextMessage], Originals]:
    """Return the messages of several results, and all their originals."""
    results = list(changed)
    return [shown for shown, _ in results], [pair for _, originals in results for pair in originals]


def _write_head(tokens: int, key: str, details: str, *, is_left_out: bool = False) -> str:
    """Return the line above a shortened text, or instead of it if it is left out; `_HEAD` reads it."""
    begin = f"{tokens} tokens left out" if is_left_out else f"shortened from {tokens} tokens"
    return f"[{begin}{details}; id of the original: {key}]"


def join_texts(texts: Iterable[str]) -> str:
    """Join the texts of one message, in the form in which their original is kept."""
    return "\n\n".join(filter(None, texts))


def _choose_lengths(costs: Sequence[int], limit: int) -> list[int]:
    """Return lengths to try for the longest texts, in tokens: the one that fills the limit, three
    quarters and half of it, and 0."""
    left, length = limit, 0
    for number, cost in enumerate(costs):
        length = left // (len(costs) - number)
        if cost > length:
            break
        left -= cost
    return [length, length * 3 // 4, length // 2, 0] if length > 0 else [0]
