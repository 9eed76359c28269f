"""Shorten the texts of a request, and keep receipts of the parts left out."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from tersely import Compression, Compressor, TerselyError
from tersely.adapters import ToolLimits
from tersely.runtime.limits import parse_json
from tersely_agents.memory.shortening import Shortener
from tersely_agents.memory.store import original_id
from tersely_http.metrics import Metrics
from tersely_http.recent import Recent
from tersely_proxy.formats import Block, find_first_words
from tersely_proxy.json_strings import Place, replace_strings

_REFERENCE = re.compile(r"; id of the original: [0-9a-f]{12}(?=\])")
MAX_RECEIPTS = 1000
"""Largest number of receipts. The oldest is forgotten first."""


class CompressionFailedError(TerselyError):
    """The model failed on a text, or ran out of time."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A text and its replacement. A text that stays unchanged is its own replacement."""

    original: str
    text: str
    tokens_before: int
    tokens_after: int
    best_fits: bool | None = None
    answerable: float | None = None

    @property
    def is_shorter(self) -> bool:
        return self.text is not self.original

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that it holds in RAM."""
        return (self.original, self.text) if self.is_shorter else (self.original,)


@dataclass(frozen=True, slots=True)
class Change:
    """A text of a request that was shortened."""

    place: Place
    tool: str
    key: bytes
    """Key of the decision, which may be forgotten."""
    tokens_before: int
    tokens_after: int
    best_fits: bool | None
    """False if the limit had no room for the part with the highest score; None if that is unknown."""
    answerable: float | None
    """Probability that the text answers the question; None if it is unknown."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A request's body, and its changes."""

    body: bytes
    changes: tuple[Change, ...] = ()
    first_words: str = ""
    """The user's first words, by which the conversation is recognised."""
    originals: dict[str, str] = field(default_factory=dict)
    """Texts before they were shortened, by the ids that the shorter ones name."""

    @property
    def tokens_before(self) -> int:
        """Tokens that the shortened texts had."""
        return sum(change.tokens_before for change in self.changes)

    @property
    def tokens_after(self) -> int:
        """Tokens that the shortened texts have now."""
        return sum(change.tokens_after for change in self.changes)

    @property
    def best_left_out(self) -> int:
        """Number of the shortened texts whose limit had no room for the part with the highest score."""
        return sum(change.best_fits is False for change in self.changes)


Reader = Callable[[Any], Iterator[Block]]
"""A function that finds the texts of a parsed request."""
CanOpen = Callable[[Any], bool]
"""A function that returns whether the model can open originals in a parsed request."""


def _opens_nothing(_: Any) -> bool:
    return False


class Rewriter:
    """A shortener that decides once for each text. As long as it remembers the decision, the same text and
    query give the same replacement.

    Threads may share it.
    """

    def __init__(
        self,
        compressor: Compressor,
        limits: ToolLimits,
        metrics: Metrics | None = None,
    ) -> None:
        self._compressor, self._limits = compressor, limits
        self._metrics = metrics or Metrics()
        self._decisions = Recent[bytes, Decision](lambda decision: decision.texts)

    def rewrite(self, body: bytes, read: Reader, can_open: CanOpen = _opens_nothing) -> Rewritten:
        """Return the body with shorter texts. Raises ValueError if it is not JSON.

        Errors of the model are raised too.
        """
        return self._apply(body, read, can_open, self._shorten)

    def leave(self, body: bytes, read: Reader, can_open: CanOpen = _opens_nothing) -> Rewritten:
        """Return the body, in which only texts with a remembered decision are shortened.

        All other texts stay whole, and this decision is remembered too. Use it for a request whose texts
        could not be shortened in time, because later turns must not change texts that were sent.
        """
        return self._apply(body, read, can_open, lambda block, *_: Decision(block.text, block.text, 0, 0))

    def recall(self, key: bytes) -> Decision | None:
        """Return the decision of a `Change`; None if it is forgotten."""
        return self._decisions.get(key)

    def _apply(
        self,
        body: bytes,
        read: Reader,
        can_open: CanOpen,
        decide: Callable[[Block, int, bool], Decision],
    ) -> Rewritten:
        parsed = parse_json(body)
        names_id = can_open(parsed)
        changes: list[Change] = []
        originals: dict[str, str] = {}
        new: dict[Place, str] = {}
        shifts: dict[Place, int] = {}
        """Number of characters by which the end of each string has moved after its changes so far."""
        for block in read(parsed):
            limit = self._limits.get(block.tool)
            # A character has at most four tokens, so short texts need not be counted.
            if limit is None or len(block.text) * 4 <= limit:
                continue
            key = _make_key(block, limit, names_id)
            decision = self._decide(key, lambda block=block, limit=limit: decide(block, limit, names_id))
            if decision.is_shorter:
                whole = new.get(block.place) or _find(parsed, block.place)
                start = block.start + shifts.get(block.place, 0)
                new[block.place] = whole[:start] + decision.text + whole[start + len(block.text) :]
                shifts[block.place] = start - block.start + len(decision.text) - len(block.text)
                changes.append(
                    Change(
                        block.place,
                        block.tool,
                        key,
                        decision.tokens_before,
                        decision.tokens_after,
                        decision.best_fits,
                        decision.answerable,
                    )
                )
                originals[original_id(decision.original)] = decision.original
        if changes:
            body = replace_strings(body.decode(), new).encode()
        return Rewritten(body, tuple(changes), find_first_words(parsed), originals)

    def _decide(self, key: bytes, decide: Callable[[], Decision]) -> Decision:
        known = self._decisions.get(key)
        self._metrics.count_lookup(hit=known is not None)
        if known is not None:
            return known
        # Another request may have decided meanwhile. The first decision counts: it may
        # have been sent.
        return self._decisions.keep(key, decide())

    def _shorten(self, block: Block, limit: int, names_id: bool) -> Decision:
        count = self._compressor.count_tokens
        shortener = Shortener(cast("Compressor", _Strict(self._compressor, self._metrics)), count)
        (text,), originals, result = shortener.shorten_texts([block.text], limit, block.query)
        if not originals:
            return Decision(block.text, block.text, 0, 0)
        if not names_id:  # nobody could use the id
            text = _REFERENCE.sub("", text, count=1)
        judged = (result.best_fits, result.answerable) if result else (None, None)
        return Decision(block.text, text, count(block.text), count(text), *judged)


class _Strict:
    """A compressor that raises if the model fails or its time is up.

    Without the model, a compressor chooses by matching words. The proxy then sends the whole text.
    """

    def __init__(self, compressor: Compressor, metrics: Metrics) -> None:
        self._compressor, self._metrics = compressor, metrics

    def compress(self, query: str | None, docs: Sequence[str], **options: Any) -> Compression:
        result = self._compressor.compress(query, docs, **options)
        self._metrics.count_compression(result)
        if result.status in ("degraded", "failed_open"):
            raise CompressionFailedError(f"The model failed: {result.reason}")
        return result


class Receipts:
    """Receipts of changed requests, under ids that nobody can guess. The rewriter remembers the texts."""

    def __init__(self, rewriter: Rewriter) -> None:
        self._rewriter = rewriter
        self._kept: OrderedDict[str, tuple[Change, ...]] = OrderedDict()

    def keep(self, rewritten: Rewritten) -> str:
        """Keep a receipt, and return its id."""
        new_id = secrets.token_hex(16)
        self._kept[new_id] = rewritten.changes
        while len(self._kept) > MAX_RECEIPTS:
            self._kept.popitem(last=False)
        return new_id

    def get(self, receipt_id: str) -> dict[str, Any] | None:
        """Return the receipt as JSON values; None if no receipt has this id, or no longer."""
        changes = self._kept.get(receipt_id)
        return None if changes is None else {"changes": [self._describe(change) for change in changes]}

    def _describe(self, change: Change) -> dict[str, Any]:
        decision = self._rewriter.recall(change.key)
        return {
            "place": ".".join(map(str, change.place)),
            "tool": change.tool,
            "tokens_before": change.tokens_before,
            "tokens_after": change.tokens_after,
            "best_fits": change.best_fits,
            "answerable": change.answerable,
            "original": None if decision is None else decision.original,
            "text": None if decision is None else decision.text,
        }


def _make_key(block: Block, limit: int, names_id: bool) -> bytes:
    need = json.dumps([limit, names_id, block.query, block.text]).encode()
    return hashlib.sha256(need, usedforsecurity=False).digest()


def _find(value: Any, place: Place) -> str:
    for key in place:
        value = value[key]
    return value
