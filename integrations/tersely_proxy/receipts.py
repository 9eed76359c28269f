"""What was left out of requests, for those who have the id that came with the answer."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import Any

from tersely_proxy.rewriting import Change, Rewriter, Rewritten

MAX_RECEIPTS = 1000
"""The oldest goes first."""


class Receipts:
    """Receipts under ids that nobody can guess. The texts are those that the rewriter remembers."""

    def __init__(self, rewriter: Rewriter) -> None:
        self._rewriter = rewriter
        self._changes: OrderedDict[str, tuple[Change, ...]] = OrderedDict()

    def keep(self, rewritten: Rewritten) -> str:
        """The id of a new receipt."""
        new_id = secrets.token_hex(16)
        self._changes[new_id] = rewritten.changes
        while len(self._changes) > MAX_RECEIPTS:
            self._changes.popitem(last=False)
        return new_id

    def get(self, receipt_id: str) -> dict[str, Any] | None:
        """The receipt as JSON values; None where there is none with this id, or no longer."""
        changes = self._changes.get(receipt_id)
        return None if changes is None else {"changes": [self._describe(change) for change in changes]}

    def _describe(self, change: Change) -> dict[str, Any]:
        decision = self._rewriter.recall(change.key)
        return {
            "place": ".".join(map(str, change.place)),
            "tool": change.tool,
            "tokens_before": change.tokens_before,
            "tokens_after": change.tokens_after,
            "original": None if decision is None else decision.original,
            "text": None if decision is None else decision.text,
        }
