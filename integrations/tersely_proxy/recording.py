"""Record requests in the ledger: the texts delivered, and the usage that the provider reports in its
answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from tersely_ledger import Entry, Ledger, LedgerSettings, UsageReader
from tersely_ledger.store import open_ledger, record_safely, sum_tools
from tersely_proxy.rewriting import Rewritten

UNPAID = ("/messages/count_tokens", "/responses/input_tokens", ":countTokens", "/messages/batches")
"""Ends of the paths whose answers report no usage. They are not recorded."""


class Recording:
    """The record of one request, which is written after its answer."""

    def __init__(self, ledger: Ledger, entry: Entry) -> None:
        self._ledger, self._entry = ledger, entry
        self._reader = UsageReader("")

    @property
    def arm(self) -> str:
        """The arm of the request. In all but `SHORTENED`, the original texts are sent."""
        return self._entry.arm

    def watch(self, code: int, headers: Mapping[str, str]) -> None:
        """Read the head of the answer."""
        self._entry = replace(self._entry, code=code)
        self._reader = UsageReader(headers.get("content-type", ""), headers.get("content-encoding", ""))

    def feed(self, part: bytes) -> None:
        """Read a part of the answer's body."""
        self._reader.feed(part)

    async def finish(self) -> None:
        """Write the record. It is complete only now, after the answer was sent."""
        await asyncio.to_thread(self._write)

    def _write(self) -> None:
        reported = self._reader.read()
        record_safely(self._ledger, replace(self._entry, usage=reported.usage, model=reported.model))


class Bookkeeper:
    """A recorder that opens a record for each request. Raises LedgerError if the ledger cannot be opened."""

    def __init__(self, settings: LedgerSettings) -> None:
        self._settings = settings
        self._ledger = open_ledger(settings.path)

    def open(self, rewritten: Rewritten, status: str) -> Recording:
        """Choose the arm of a request, and open its record."""
        conversation = self._ledger.make_id(rewritten.first_words)
        changes = ((one.tool, one.tokens_before, one.tokens_after) for one in rewritten.changes)
        entry = Entry(
            source="proxy",
            arm=self._ledger.choose_arm(conversation, self._settings),
            status=status,
            tools=sum_tools(changes),
            best_left_out=rewritten.best_left_out,
            conversation=conversation,
            share=0.0 if self._settings.shadow else self._settings.holdout,
        )
        return Recording(self._ledger, entry)

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()
