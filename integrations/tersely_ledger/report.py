"""The report as one object of JSON values."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tersely.errors import InvalidInputError
from tersely_ledger.comparison import Prices, compare
from tersely_ledger.store import HELD_OUT, SHADOW, SHORTENED, Entry, Ledger, LedgerError

ARMS = (SHORTENED, HELD_OUT, SHADOW)


def make_report(path: str | Path, prices: Prices | None = None, model: str | None = None) -> dict[str, Any]:
    """Read a ledger, and return its report; with `model`, only on the requests of that model.

    Raises LedgerError if the file is missing, and InvalidInputError if no request is of that model or a price
    is missing.
    """
    if not Path(path).is_file():
        raise LedgerError(
            f"There is no ledger at {path}. Start the proxy with --ledger, or name another file."
        )
    ledger = Ledger(path)
    try:
        entries = ledger.read()
    finally:
        ledger.close()
    models = Counter(entry.model for entry in entries if entry.model)
    if model is not None:
        if model not in models:
            names = ", ".join(models) or "none"
            raise InvalidInputError(f"The ledger has no request of the model {model}. It has: {names}.")
        entries = [entry for entry in entries if entry.model == model]
    return {
        "ledger": str(path),
        "requests": len(entries),
        "conversations": len({entry.conversation for entry in entries} - {None}),
        "since": _show_time(entries[0].time) if entries else None,
        "until": _show_time(entries[-1].time) if entries else None,
        "sources": dict(Counter(entry.source for entry in entries)),
        "models": dict(models) if model is None else {model: len(entries)},
        "net": compare(entries, prices),
        "delivered": _sum_texts(entry for entry in entries if entry.arm == SHORTENED),
        "not_delivered": _sum_texts(entry for entry in entries if entry.arm != SHORTENED),
        "arms": {
            arm: _sum_usage(chosen, prices)
            for arm in ARMS
            if (chosen := [entry for entry in entries if entry.arm == arm])
        },
        "days": _sum_days(entries),
    }


def _sum_texts(entries: Iterable[Entry]) -> dict[str, Any]:
    """Add up the shortened texts, in total and by tool, largest saving first."""
    tools: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    requests = affected = left_out = 0
    for entry in entries:
        requests += 1
        affected += bool(entry.tools)
        left_out += entry.best_left_out
        for tool, sums in entry.tools.items():
            tools[tool] = [a + b for a, b in zip(tools[tool], sums, strict=True)]
    rows = sorted(tools.items(), key=lambda item: item[1][2] - item[1][1])
    return {
        "requests": requests,
        "requests_with_shorter_texts": affected,
        "tokens_before": sum(sums[1] for sums in tools.values()),
        "tokens_after": sum(sums[2] for sums in tools.values()),
        "best_left_out": left_out,
        "tools": [
            {"tool": tool, "texts": count, "tokens_before": before, "tokens_after": after}
            for tool, (count, before, after) in rows
        ],
    }


def _sum_usage(entries: Sequence[Entry], prices: Prices | None) -> dict[str, Any]:
    """Add up the tokens that the provider reported."""
    usages = [entry.usage for entry in entries if entry.usage is not None]
    sums = {
        "requests": len(entries),
        "conversations": len({entry.conversation for entry in entries} - {None}),
        "errors": sum((entry.code or 0) >= 400 for entry in entries),
        "requests_without_usage": len(entries) - len(usages),
        "input": sum(usage.input for usage in usages),
        "cache_read": sum(usage.cache_read for usage in usages),
        "cache_write": sum(usage.cache_write for usage in usages),
        "output": sum(usage.output for usage in usages),
    }
    return sums if prices is None else {**sums, "cost": sum(prices.cost(usage) for usage in usages)}


def _sum_days(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    days: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for entry in entries:
        if entry.arm == SHORTENED and entry.tools:
            day = days[_show_time(entry.time)[:10]]
            day[0] += entry.tokens_before
            day[1] += entry.tokens_after
    return [
        {"day": day, "tokens_before": before, "tokens_after": after}
        for day, (before, after) in sorted(days.items())
    ]


def _show_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
