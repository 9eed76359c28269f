"""The report as text, and the sentences that the page shares with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tersely_ledger.comparison import LEAST_CONVERSATIONS
from tersely_ledger.store import HELD_OUT, SHADOW, SHORTENED

NAMES = {SHORTENED: "shortened", HELD_OUT: "held out", SHADOW: "shadow"}
QUANTITIES = {
    "conversations": "conversations",
    "requests": "requests",
    "errors": "errors",
    "requests_without_usage": "requests without usage",
    "input": "tokens of the input, uncached",
    "cache_read": "tokens read from a cache",
    "cache_write": "tokens written to a cache",
    "output": "tokens of the output",
    "cost": "cost",
}
"""Rows of the table of arms, and their names."""


def show_text(report: dict[str, Any]) -> str:
    """Return the report as lines of text."""
    if not report["requests"]:
        return f"The ledger {report['ledger']} has no requests yet."
    parts = [
        f"{describe_period(report)}\n{describe_net(report['net'])[0]}\n{describe_net(report['net'])[1]}",
        "\n".join(describe_texts(report)),
    ]
    if tools := table_of_tools(report):
        parts.append(_align(tools))
    parts.append("What the provider reported:\n" + _align(table_of_arms(report)))
    return "\n\n".join(parts)


def describe_period(report: dict[str, Any]) -> str:
    """Return a line with the number of requests and their time."""
    since, until = report["since"][:10], report["until"][:10]
    days = since if since == until else f"{since} to {until}"
    models = f", models: {', '.join(report['models'])}" if report["models"] else ""
    numbers = [
        f"{report[name]:,} {kind}{'' if report[name] == 1 else 's'}"
        for name, kind in (("requests", "request"), ("conversations", "known conversation"))
    ]
    return f"{' in '.join(numbers)}, {days}{models}"


def describe_net(net: dict[str, Any]) -> tuple[str, str]:
    """Return the net result as a headline and an explanation."""
    shortened, held_out = (net["conversations"][arm] for arm in (SHORTENED, HELD_OUT))
    basis = f"Compared: {shortened:,} shortened conversations with {held_out:,} that were held out"
    verdict = net["verdict"]
    if verdict == "no hold-out":
        return "Net result: unknown", "No conversation was held out, so there is nothing to compare with."
    if verdict == "no prices":
        return "Net result: not priced", f"{basis}. Pass --price-input and --price-output."
    few = f"With fewer than {LEAST_CONVERSATIONS} conversations on a side, no interval is reliable."
    if "interval" not in net:
        return "Net result: not enough conversations", f"{basis}. {few}"
    low, high = net["interval"]
    per = " and ".join(
        f"{net['cost_per_conversation'][arm]:.4g} ({NAMES[arm]})" for arm in NAMES if arm != SHADOW
    )
    detail = (
        f"95 % interval of the saving: {show_share(low)} to {show_share(high)}, estimate "
        f"{show_share(net['saved_share'])}. {basis}. A conversation cost {per}."
    )
    if verdict == "not enough conversations":
        enough = min(shortened, held_out) >= LEAST_CONVERSATIONS
        why = "The interval has savings and losses in it." if enough else few
        return "Net result: not enough conversations", f"{detail} {why}"
    headline = {
        "saving": f"Net result: {show_share(net['saved_share'])} of the cost saved",
        "negative": f"Net result: negative, {show_share(-net['saved_share'])} more cost",
        "no difference": "Net result: no difference",
    }[verdict]
    word = "saved" if net["saved"] >= 0 else "more"
    return headline, f"{detail} In all: {abs(net['saved']):.4g} {word}."


def describe_texts(report: dict[str, Any]) -> list[str]:
    """Return the tokens that were delivered, and those that would have been."""
    lines: list[str] = []
    for key, verb in (("delivered", "Delivered"), ("not_delivered", "Computed and not delivered")):
        texts = report[key]
        if texts["requests"]:
            before, after = texts["tokens_before"], texts["tokens_after"]
            share = f" ({after / before:.0%})".replace("%", " %") if before else ""
            lines.append(
                f"{verb}: {texts['requests_with_shorter_texts']:,} of {texts['requests']:,} requests with "
                f"shorter texts, {before:,} -> {after:,} tokens{share}"
            )
            if texts["best_left_out"]:
                lines.append(
                    f"{texts['best_left_out']:,} of these texts had no room for the part with the highest "
                    "score. A higher limit keeps it."
                )
    lines.append("The difference in tokens is not the saving in money: tokens from a cache cost less.")
    if len(report["models"]) > 1 and any("cost" in sums for sums in report["arms"].values()):
        lines.append("The prices were applied to all models; --model picks one.")
    return lines


def table_of_tools(report: dict[str, Any]) -> list[list[str]]:
    """Return the table of tools: its heads, then a row for each tool. Empty without tools."""
    tools = report["delivered"]["tools"] or report["not_delivered"]["tools"]
    rows = [[tool["tool"] or "(no name)", *map(show_number, list(tool.values())[1:])] for tool in tools]
    return [["tool", "texts", "tokens before", "after"], *rows] if rows else []


def table_of_arms(report: dict[str, Any]) -> list[list[str]]:
    """Return the table of arms: its heads, then a row for each quantity."""
    arms: dict[str, dict[str, Any]] = report["arms"]
    rows = [
        [name, *(show_number(sums[key]) for sums in arms.values())]
        for key, name in QUANTITIES.items()
        if all(key in sums for sums in arms.values())
    ]
    return [["", *(NAMES[arm] for arm in arms)], *rows]


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
