"""Rows of the benchmark of tool results, and its section of RESULTS.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.markdown import format_percent, format_table
from benchmarks.shared.environment import Environment
from benchmarks.shared.statistics import estimate_share


@dataclass(frozen=True, slots=True)
class MethodRow:
    """What one method makes of the cases of one kind at one rate. Shares are of the cases."""

    kind: str
    rate: float | None
    """None at the size that Headroom comes to."""
    method: str
    answered: float
    """Share whose answer is kept."""
    false: float
    """Share in which something false is said."""
    parses: float | None
    """Share of which what is kept is still what the tool returned; None where that cannot be told."""
    tokens: float
    """Mean share of the tokens that is kept."""
    seconds: float
    """Median of a call."""


@dataclass(frozen=True, slots=True)
class ToolResultsRun:
    """One run of the benchmark."""

    benchmark: str
    model: str
    seed: int
    cases: int
    """Of each kind."""
    tokens_before: dict[str, float]
    """Mean tokens of a case, by kind."""
    environment: Environment
    rows: tuple[MethodRow, ...]
    headroom: tuple[MethodRow, ...] = ()
    """Headroom's rows and tersely's at the same sizes; none where Headroom is not installed."""


def render(run: ToolResultsRun) -> str:
    """The section of RESULTS.md."""
    rates = sorted({row.rate for row in run.rows if row.rate is not None})
    methods = list(dict.fromkeys(row.method for row in run.rows))
    parts = [
        f"Model {run.model}, seed {run.seed}, {run.cases} cases of each kind. {run.environment.describe()}",
        "A case is a tool result from a generator, with a question on one of its 200 records, or on the one "
        "error in 3,000 lines of a log. *Answered*: the answer is kept word for word. *False*: the value of "
        "one record follows the name of another with no mark between. *Parses*: JSON, JSON lines and Python "
        "parse; a table and CSV have their header. Every method is held to the same budget, a share of the "
        "tokens. The cases are easy in one way: the question names its record word for word.",
    ]
    for rate in rates:
        parts.append(
            f"At {100 * rate:g} % of the tokens: answered, in percent (false, if any; parses, if asked)"
        )
        header = ["kind", "tokens", *methods]
        parts.append(format_table(header, [_row(run, kind, rate, methods) for kind in run.tokens_before]))
        rows = [row for row in run.rows if row.rate == rate]
        parts.append(_describe_all(rows, run.cases))
    seconds = [[method, *(f"{_mean_seconds(run, method, rate):.3f}" for rate in rates)] for method in methods]
    parts.append("Seconds for a call, the mean of the kinds' medians, measured side by side:")
    parts.append(format_table(["method", *(f"{100 * rate:g} %" for rate in rates)], seconds))
    if run.headroom:
        parts.append(
            "Headroom (headroom-ai, without its learned compressor of prose, whose weights have to be "
            "fetched from a hub) chooses its size by itself. At the size that it comes to, for every case: "
            "tokens kept, and answered, in percent (false, if any; parses, if asked)"
        )
        pairs = list(zip(run.headroom[::2], run.headroom[1::2], strict=True))
        header = ["kind", "tokens kept", *(row.method for row in pairs[0])]
        lines = [
            [pair[0].kind, f"{100 * pair[0].tokens:.0f} %", *(_format_cell(row) for row in pair)]
            for pair in pairs
        ]
        parts.append(format_table(header, lines))
        parts.append(_describe_all(run.headroom, run.cases))
    return "\n\n".join(parts)


def _describe_all(of_all: Sequence[MethodRow], size: int) -> str:
    """The shares over all kinds, with intervals. `size`: cases of a kind."""
    lines: list[list[str]] = []
    for method in dict.fromkeys(row.method for row in of_all):
        rows = [row for row in of_all if row.method == method]
        parsed = [row.parses for row in rows if row.parses is not None]
        cases = size * len(rows)
        shares = [sum(getattr(row, name) for row in rows) * size for name in ("answered", "false")]
        cells = [format_percent(estimate_share(share, cases)) for share in shares]
        kept = sum(row.tokens for row in rows) / len(rows)
        lines.append([method, *cells, f"{100 * sum(parsed) / max(1, len(parsed)):.0f}", f"{100 * kept:.1f}"])
    header = ["all kinds", "answered, % [95 %]", "false, % [95 %]", "parses, %", "tokens kept, %"]
    return format_table(header, lines)


def _row(run: ToolResultsRun, kind: str, rate: float, methods: list[str]) -> list[str]:
    cells = {row.method: row for row in run.rows if row.kind == kind and row.rate == rate}
    return [kind, f"{run.tokens_before[kind]:,.0f}", *(_format_cell(cells[method]) for method in methods)]


def _format_cell(row: MethodRow) -> str:
    notes: list[str] = []
    if row.false:
        notes.append(f"{100 * row.false:.0f} false")
    if row.parses is not None:
        notes.append(f"{100 * row.parses:.0f} parse")
    return f"{100 * row.answered:.0f}" + (f" ({', '.join(notes)})" if notes else "")


def _mean_seconds(run: ToolResultsRun, method: str, rate: float) -> float:
    seconds = [row.seconds for row in run.rows if row.method == method and row.rate == rate]
    return sum(seconds) / len(seconds)
