"""Shorten the texts of a request. Whatever goes wrong, the request stays as it is."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from tersely import Compression, Compressor, TerselyError
from tersely.adapters import ToolLimits
from tersely.runtime.limits import parse_json
from tersely_agents.memory.shortening import Shortener
from tersely_http.metrics import Metrics
from tersely_proxy.formats import Block
from tersely_proxy.json_strings import Place, replace_strings

MAX_CHARACTERS = 32_000_000
"""Most characters of the texts that are remembered, before and after. The one used longest ago goes first."""


class CompressionFailedError(TerselyError):
    """The model failed on a text."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a text. One that stays as it is has the same text twice."""

    original: str
    text: str
    tokens_before: int
    tokens_after: int

    @property
    def is_shorter(self) -> bool:
        return self.text is not self.original


@dataclass(frozen=True, slots=True)
class Change:
    """A text of a request that was shortened."""

    place: Place
    tool: str
    key: bytes
    """Leads to the decision, for as long as it is remembered."""
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A request's body, and what was changed in it."""

    body: bytes
    changes: tuple[Change, ...] = ()
    """Texts above their limits that were left as they are, because shortening them does not pay."""

    @property
    def tokens_before(self) -> int:
        """Of the texts that were shortened."""
        return sum(change.tokens_before for change in self.changes)

    @property
    def tokens_after(self) -> int:
        return sum(change.tokens_after for change in self.changes)


Reader = Callable[[Any], Iterator[Block]]


class Rewriter:
    """Shortens texts, and decides once for each: the same text, for the same need, is the same ever after.

    Safe to share between threads.
    """

    def __init__(self, compressor: Compressor, limits: ToolLimits, metrics: Metrics | None = None) -> None:
        self._compressor, self._limits = compressor, limits
        self._metrics = metrics or Metrics()
        self._lock = threading.Lock()
        self._decisions: OrderedDict[bytes, Decision] = OrderedDict()
        self._characters = 0

    def rewrite(self, body: bytes, read: Reader) -> Rewritten:
        """The body with shorter texts. Raises ValueError where it is no JSON, and what the model raises."""
        return self._apply(body, read, self._shorten)

    def leave(self, body: bytes, read: Reader) -> Rewritten:
        """The body with the texts that are known to be shorter. All others will stay as they are from now on.

        For a request whose texts could not be shortened in time: later turns must not change what was sent.
        """
        return self._apply(body, read, lambda block, limit: Decision(block.text, block.text, 0, 0))

    def _apply(self, body: bytes, read: Reader, decide: Callable[[Block, int], Decision]) -> Rewritten:
        parsed = parse_json(body)
        changes: list[Change] = []
        new: dict[Place, str] = {}
        moved: dict[Place, int] = {}
        for block in read(parsed):
            limit = self._limits.of(block.tool)
            # No counter gives a text more tokens than bytes, so short texts need not be counted.
            if limit is None or len(block.text) * 4 <= limit:
                continue
            key = _key(block, limit)
            decision = self._decide(key, lambda block=block, limit=limit: decide(block, limit))
            change = Change(block.place, block.tool, key, decision.tokens_before, decision.tokens_after)
            if decision.is_shorter:
                whole = new.get(block.place) or _find(parsed, block.place)
                start = block.start + moved.get(block.place, 0)
                new[block.place] = whole[:start] + decision.text + whole[start + len(block.text) :]
                moved[block.place] = start - block.start + len(decision.text) - len(block.text)
                changes.append(change)
        if changes:
            body = replace_strings(body.decode(), new).encode()
        return Rewritten(body, tuple(changes))

    def recall(self, key: bytes) -> Decision | None:
        """What became of the text of a `Change`; None where that is forgotten."""
        with self._lock:
            return self._decisions.get(key)

    def _decide(self, key: bytes, decide: Callable[[], Decision]) -> Decision:
        with self._lock:
            known = self._decisions.get(key)
            if known is not None:
                self._decisions.move_to_end(key)
        self._metrics.count_lookup(hit=known is not None)
        if known is not None:
            return known
        made = decide()
        with self._lock:
            # Another request may have decided meanwhile, and its decision may have been sent.
            decision = self._decisions.setdefault(key, made)
            if decision is made:
                self._characters += _size(made)
                while self._characters > MAX_CHARACTERS:
                    self._characters -= _size(self._decisions.popitem(last=False)[1])
            return decision

    def _shorten(self, block: Block, limit: int) -> Decision:
        count = self._compressor.count_tokens
        shortener = Shortener(cast("Compressor", _Strict(self._compressor, self._metrics)), count)
        (text,), originals = shortener.shorten_texts([block.text], limit, block.query)
        if not originals:
            return Decision(block.text, block.text, 0, 0)
        return Decision(block.text, text, count(block.text), count(text))


class _Strict:
    """A compressor that raises where the model fails: exact matches alone shorten no request."""

    def __init__(self, compressor: Compressor, metrics: Metrics) -> None:
        self._compressor, self._metrics = compressor, metrics

    def compress(self, query: str | None, docs: Sequence[str], **options: Any) -> Compression:
        result = self._compressor.compress(query, docs, **options)
        self._metrics.count_compression(result)
        if result.status in ("degraded", "failed_open"):
            raise CompressionFailedError(f"The model failed: {result.reason}")
        return result


def _key(block: Block, limit: int) -> bytes:
    need = json.dumps([limit, block.query, block.text]).encode()
    return hashlib.sha256(need, usedforsecurity=False).digest()


def _find(value: Any, place: Place) -> str:
    for key in place:
        value = value[key]
    return value


def _size(decision: Decision) -> int:
    return len(decision.original) + (len(decision.text) if decision.is_shorter else 0)
