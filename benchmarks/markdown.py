"""Tables and numbers as the sections of RESULTS.md show them."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.shared.statistics import Estimate


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are aligned to the right."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def format_percent(share: Estimate) -> str:
    """A share in percent with its interval in brackets."""
    return f"{100 * share.value:.1f} [{100 * share.low:.1f}, {100 * share.high:.1f}]"


def format_lead(difference: Estimate) -> str:
    """A difference of shares in percentage points, with signs and its interval in brackets."""
    value, low, high = (100 * x for x in (difference.value, difference.low, difference.high))
    return f"{value:+.1f} [{low:+.1f}, {high:+.1f}]"
