"""The report as one page that loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from tersely_ledger.show import (
    describe_net,
    describe_period,
    describe_texts,
    show_share,
    table_of_arms,
    table_of_tools,
)

_PAGE = Path(__file__).with_name("page.html")
_MAX_DAYS = 60
"""Largest number of days in the drawing. The newest are drawn."""


def make_page(report: dict[str, Any]) -> str:
    """Return the report as HTML."""
    net = report["net"]
    headline, detail = describe_net(net)
    empty = not report["requests"]
    tools = table_of_tools(report)
    fields = {
        "period": "No requests yet." if empty else describe_period(report),
        "verdict": net["verdict"].replace(" ", "-"),
        "headline": headline.removeprefix("Net result: ").capitalize(),
        "detail": detail,
    }
    parts = {
        "interval": _draw_interval(net),
        "texts": "".join(f"<p>{escape(line.replace(' -> ', ' → '))}</p>" for line in describe_texts(report)),
        "days": _draw_days(report["days"][-_MAX_DAYS:]),
        "tools": _make_table(tools) if tools else "",
        "arms": _make_table(table_of_arms(report)),
    }
    escaped = {name: escape(text) for name, text in fields.items()}
    return Template(_PAGE.read_text(encoding="utf-8")).substitute(escaped, **parts)


def _draw_interval(net: dict[str, Any]) -> str:
    """Draw the interval on a scale with 0 in it."""
    if "interval" not in net:
        return ""
    low, high = net["interval"]
    ends = min(low, -0.05), max(high, 0.05)
    left, zero, right, point = (
        100 * (value - ends[0]) / (ends[1] - ends[0]) for value in (low, 0.0, high, net["saved_share"])
    )
    shown = [show_share(value) for value in (low, high, net["saved_share"])]
    label = "95 % interval from {} to {}, estimate {}".format(*shown)
    return (
        f'<div class="scale" role="img" aria-label="{label}"><i class="range" style="left:{left:.1f}%;'
        f'width:{right - left:.1f}%"></i><i class="zero" style="left:{zero:.1f}%"></i>'
        f'<i class="point" style="left:{point:.1f}%"></i></div>'
        f'<div class="ends"><span>{show_share(ends[0])}</span><span>{show_share(ends[1])}</span></div>'
    )


def _draw_days(days: Sequence[dict[str, Any]]) -> str:
    """Draw a bar for each day: the tokens before, and those that were sent."""
    if not days:
        return ""
    most = max(day["tokens_before"] for day in days)
    bars = "".join(
        f'<i title="{day["day"]}: {day["tokens_before"]:,} → {day["tokens_after"]:,} tokens" '
        f'style="height:{100 * day["tokens_before"] / most:.1f}%"><b style="height:'
        f'{100 * day["tokens_after"] / max(1, day["tokens_before"]):.1f}%"></b></i>'
        for day in days
    )
    first, last = days[0]["day"], days[-1]["day"]
    label = f"Tokens of shortened texts by day, before and sent, {first} to {last}, at most {most:,} a day"
    return (
        f'<h2>By day</h2><div class="days" role="img" aria-label="{label}">{bars}</div>'
        f'<div class="ends"><span>{first}</span><span>{last if len(days) > 1 else ""}</span></div>'
        f'<p class="key"><span class="before"></span> tokens before <span class="after"></span> sent; '
        f"the highest bar is {most:,}</p>"
    )


def _make_table(rows: Sequence[Sequence[str]]) -> str:
    heads = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in rows[0])
    body = ""
    for name, *cells in rows[1:]:
        values = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        body += f'<tr><th scope="row">{escape(name)}</th>{values}</tr>'
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide" tabindex="0">{table}</div>'
