"""A compressor that records what it does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tersely import Compression, Compressor
from tersely.inputs import check_flag, read_documents
from tersely.messages import CompressedMessages, Message
from tersely_ledger.store import SHADOW, SHORTENED, Entry, Ledger, open_ledger, record_safely

COMPRESSED = ("compressed", "degraded", "abstained")
"""Statuses of results that may be shorter than the documents."""
_REASON = "shadow: what was left out is only recorded"


class RecordingCompressor(Compressor):
    """A compressor that works like another one, and records each call in a ledger.

    Pass it to an adapter in place of the other. A memory must keep its limit, so do not pass it one with
    `shadow`. If the ledger fails, the calls still work.

    Args:
        compressor: does the work.
        ledger: the file, or a ledger that is open.
        shadow: True to only record results and return the documents as they were given.
        source: the name of the caller in the ledger.

    Raises LedgerError if the ledger cannot be opened.
    """

    def __init__(
        self,
        compressor: Compressor,
        ledger: Ledger | str | Path,
        *,
        shadow: bool = False,
        source: str = "adapter",
    ) -> None:
        vars(self).update(vars(compressor))  # the same model, counter and threads
        self._plain = compressor
        self._ledger = ledger if isinstance(ledger, Ledger) else open_ledger(ledger)
        self._is_shadow = check_flag(shadow, "shadow")
        self._source = source

    def compress(self, query: str | None, docs: Iterable[Any], **options: Any) -> Compression:
        """Compress as `Compressor.compress` does, and record it."""
        documents = read_documents(docs)
        result = self._plain.compress(query, documents, **options)
        self._record(result, len(documents), result.tokens_before, result.tokens_after)
        if not self._is_shadow or result.status not in COMPRESSED:
            return result
        return replace(self._plain.compress(query, documents, rate=1.0), reason=_REASON)

    def compress_messages(self, messages: Sequence[Message], **options: Any) -> CompressedMessages:
        """Shorten tool results as `Compressor.compress_messages` does, and record it."""
        result = self._plain.compress_messages(messages, **options)
        self._record(result.receipt, len(result.results), result.tokens_before, result.tokens_after)
        if not self._is_shadow or result.receipt.status not in COMPRESSED:
            return result
        whole = self._plain.compress_messages(messages, rate=1.0)
        return replace(whole, receipt=replace(whole.receipt, reason=_REASON))

    def _record(self, result: Compression, count: int, before: int, after: int) -> None:
        tools = {"documents": (count, before, after)} if after < before else {}
        arm = SHADOW if self._is_shadow else SHORTENED
        entry = Entry(
            source=self._source,
            arm=arm,
            status=result.status,
            tools=tools,
            best_left_out=int(bool(tools) and result.best_fits is False),
        )
        record_safely(self._ledger, entry)
