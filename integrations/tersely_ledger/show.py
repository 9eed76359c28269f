"""The report as text, and the sentences that the page shares with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tersely_ledger.comparison import LEAST_CONVERSATIONS
from tersely_ledger.store import HELD_OUT, SHADOW, SHORTENED

NAMES = {SHORTENED: "shortened", HELD_OUT: "held out", SHADOW: "shadow"}
COLUMNS = {
    "conversations": "conversations",
    "requests": "requests",
    "errors": "errors",
    "requests_without_usage": "without usage",
    "input": "input",
    "cache_read": "cache read",
    "cache_write": "cache write",
    "output": "output",
    "cost": "cost",
}
"""Columns of the table of arms, and their heads."""


def show_text(report: dict[str, Any]) -> str:
    """Return the report as lines of text."""
    if not report["requests"]:
        return f"The ledger {report['ledger']} has no requests yet."
    parts = [
        f"{describe_period(report)}\n{describe_net(report['net'])[0]}\n{describe_net(report['net'])[1]}",
        "\n".join(describe_texts(report)),
    ]
    if tools := report["delivered"]["tools"] or report["not_delivered"]["tools"]:
        rows = [[tool["tool"] or "(no name)", *map(show_number, list(tool.values())[1:])] for tool in tools]
        parts.append(_align([["tool", "texts", "tokens before", "after"], *rows]))
    heads, *rows = table_of_arms(report)
    parts.append("Tokens that the provider reported, by arm:\n" + _align([heads, *rows]))
    return "\n\n".join(parts)


def describe_period(report: dict[str, Any]) -> str:
    """Return a line with the number of requests and their time."""
    since, until = report["since"][:10], report["until"][:10]
    days = since if since == until else f"{since} to {until}"
    models = f", models: {', '.join(report['models'])}" if report["models"] else ""
    return (
        f"{report['requests']:,} requests in {report['conversations']:,} known conversations, {days}{models}"
    )


def describe_net(net: dict[str, Any]) -> tuple[str, str]:
    """Return the net result as a headline and an explanation."""
    shortened, held_out = (net["conversations"][arm] for arm in (SHORTENED, HELD_OUT))
    basis = f"{shortened:,} shortened conversations against {held_out:,} that were held out"
    verdict = net["verdict"]
    if verdict == "no hold-out":
        return "Net result: unknown", "No conversation was held out, so there is nothing to compare with."
    if verdict == "no prices":
        return "Net result: not priced", f"{basis}. Pass --price-input and --price-output."
    few = f"Below {LEAST_CONVERSATIONS} conversations an arm, no interval holds."
    if "interval" not in net:
        return "Net result: not enough requests", f"{basis}. {few}"
    low, high = net["interval"]
    per = " and ".join(
        f"{net['cost_per_conversation'][arm]:.4g} ({NAMES[arm]})" for arm in NAMES if arm != SHADOW
    )
    detail = (
        f"{show_share(net['saved_share'])} of the cost saved, 95 % interval {show_share(low)} to "
        f"{show_share(high)}; {basis}. A conversation cost {per}."
    )
    if verdict == "not enough requests":
        enough = min(shortened, held_out) >= LEAST_CONVERSATIONS
        why = "The interval has savings and losses in it." if enough else few
        return "Net result: not enough requests", f"{detail} {why}"
    headline = {
        "saving": f"Net result: {show_share(net['saved_share'])} of the cost saved",
        "negative": f"Net result: negative, {show_share(-net['saved_share'])} more cost",
        "no difference": "Net result: no difference",
    }[verdict]
    return headline, f"{detail} In all, {net['saved']:.4g} saved."


def describe_texts(report: dict[str, Any]) -> list[str]:
    """Return what was delivered, and what would have been."""
    lines: list[str] = []
    for key, verb in (("delivered", "Delivered"), ("not_delivered", "Computed and not delivered")):
        texts = report[key]
        if texts["requests"]:
            before, after = texts["tokens_before"], texts["tokens_after"]
            share = f" ({after / before:.0%})" if before else ""
            lines.append(
                f"{verb}: {texts['requests_with_shorter_texts']:,} of {texts['requests']:,} requests with "
                f"shorter texts, {before:,} -> {after:,} tokens{share}"
            )
    return [*lines, "These tokens are no saving in money: most of them cost less, because a cache has them."]


def table_of_arms(report: dict[str, Any]) -> list[list[str]]:
    """Return the heads and the rows of the table."""
    arms: dict[str, dict[str, Any]] = report["arms"]
    columns = [name for name in COLUMNS if any(name in sums for sums in arms.values())]
    rows = [[NAMES[arm], *(show_number(sums[name]) for name in columns)] for arm, sums in arms.items()]
    return [["", *(COLUMNS[name] for name in columns)], *rows]


def show_number(value: float) -> str:
    """Return a number with its thousands apart; money with four digits."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def show_share(value: float) -> str:
    """Return a share in percent."""
    return f"{value:.1%}".replace("%", " %")


def _align(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
