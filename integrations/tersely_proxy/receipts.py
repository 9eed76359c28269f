"""What was left out of requests, for those who have the id that came with the answer."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import replace
from typing import Any

from tersely_proxy.rewriting import Change, Rewriter, Rewritten

MAX_RECEIPTS = 1000
"""The oldest goes first."""


class Receipts:
    """Receipts under ids that nobody can guess. The texts are those that the rewriter remembers."""

    def __init__(self, rewriter: Rewriter) -> None:
        self._rewriter = rewriter
        self._kept: OrderedDict[str, Rewritten] = OrderedDict()

    def keep(self, rewritten: Rewritten) -> str:
        """The id of a new receipt."""
        new_id = secrets.token_hex(16)
        self._kept[new_id] = replace(rewritten, body=b"")
        while len(self._kept) > MAX_RECEIPTS:
            self._kept.popitem(last=False)
        return new_id

    def get(self, receipt_id: str) -> dict[str, Any] | None:
        """The receipt as JSON values; None where there is none with this id, or no longer."""
        kept = self._kept.get(receipt_id)
        if kept is None:
            return None
        return {"changes": [self._describe(change) for change in kept.changes]}

    def _describe(self, change: Change) -> dict[str, Any]:
        decision = self._rewriter.recall(change.key)
        return {
            **_place(change),
            "tokens_after": change.tokens_after,
            "original": None if decision is None else decision.original,
            "text": None if decision is None else decision.text,
        }


def _place(change: Change) -> dict[str, Any]:
    return {
        "place": ".".join(map(str, change.place)),
        "tool": change.tool,
        "tokens_before": change.tokens_before,
    }
