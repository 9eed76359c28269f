"""The measured rows of a claim: one JSON file each, from which `training/REPLICATIONS.md` is generated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean, stdev

from benchmarks.shared.environment import read_environment
from training.rl.replications.claim import Claim, Comparison, Row, Verdict, compare, judge
from training.run import write_text

RESULTS = Path(__file__).with_name("results")


@dataclass
class Results:
    """Measurements of the runs of one claim, and the machine of the last run."""

    rows: list[Row] = field(default_factory=list[Row])
    machine: str = ""

    def has(self, arm: str, seed: int) -> bool:
        return any((row.arm, row.seed) == (arm, seed) for row in self.rows)


def read_results(claim: Claim, folder: Path = RESULTS) -> Results:
    """Read the results of a claim; they are empty if it was never run."""
    file = folder / f"{claim.name}.json"
    if not file.exists():
        return Results()
    values = json.loads(file.read_text(encoding="utf-8"))
    return Results([Row(**row) for row in values["rows"]], values["machine"])


def write_results(claim: Claim, results: Results, folder: Path = RESULTS) -> None:
    """Write the results, ordered by seed and arm, and the machine of this process."""
    folder.mkdir(parents=True, exist_ok=True)
    order = {arm: position for position, arm in enumerate(claim.arms)}
    results.rows.sort(key=lambda row: (row.seed, order[row.arm]))
    results.machine = read_environment().describe()
    values = {"claim": claim.name, "machine": results.machine, "rows": [asdict(row) for row in results.rows]}
    write_text(folder / f"{claim.name}.json", json.dumps(values, indent=1) + "\n")


def render_claim(claim: Claim, results: Results) -> str:
    """Render a section of Markdown: claim, predictions, numbers, verdicts."""
    lines = [f"## {claim.name}", "", f"**Claim.** {claim.paper}", "", f"**Here.** {claim.setup}", ""]
    for number, prediction in enumerate(claim.predictions):
        interval, p = _show(compare(prediction, results.rows))
        verdict = judge(prediction, results.rows)
        lines += (
            []
            if number
            else [
                "| predicted before the runs | difference, 95 % interval | p | verdict |",
                "|---|---|---|---|",
            ]
        )
        lines.append(f"| {prediction.describe()} | {interval} | {p} | {verdict} |")
        for control in prediction.list_controls():
            interval, p = _show(compare(control, results.rows))
            what = "" if control.metric == prediction.metric else f"`{control.metric}`: "
            lines.append(f"| control: {what}{control.higher} above {control.lower} | {interval} | {p} | |")
    lines += ["", *_render_arms(claim, results.rows)]
    if claim.remarks:
        lines += ["", claim.remarks]
    lines += ["", _render_origin(claim, results)]
    return "\n".join(lines) + "\n"


def _show(found: Comparison | None) -> tuple[str, str]:
    """Return the cells of a difference with its interval, and of p."""
    if found is None:
        return "-", "-"
    d = found.difference
    return f"{d.value:+.3f} ({d.low:+.3f} to {d.high:+.3f})", f"{found.p:.3f}"


def _render_arms(claim: Claim, rows: Sequence[Row]) -> list[str]:
    metrics = list(dict.fromkeys([claim.initial, *(p.metric for p in claim.predictions)]))
    lines = [
        "| arm | seeds | " + " | ".join(f"`{m}`" for m in metrics) + " |",
        "|---" * (len(metrics) + 2) + "|",
    ]
    for arm in claim.arms:
        own = [row for row in rows if row.arm == arm]
        cells = [_render_values([row.metrics.get(metric) for row in own]) for metric in metrics]
        lines.append(f"| {arm} | {len(own)} | " + " | ".join(cells) + " |")
    return lines


def _render_values(values: Sequence[float | None]) -> str:
    """Render mean and sample deviation."""
    numbers = [value for value in values if value is not None]
    if not numbers:
        return "-"
    return f"{fmean(numbers):.3f}" + (f" ± {stdev(numbers):.3f}" if len(numbers) > 1 else "")


def _render_origin(claim: Claim, results: Results) -> str:
    # Of a run that was stopped, the seconds are those after it went on.
    minutes = sum(row.seconds for row in results.rows) / 60
    return (
        f"`python -m training.rl.replicate {claim.name}`: {len(results.rows)} runs, together at least"
        f" {minutes:.0f} minutes of one core. {results.machine}"
    )


def verdicts(claim: Claim, results: Results) -> list[Verdict]:
    """Return the verdict on each prediction of a claim, in order."""
    return [judge(prediction, results.rows) for prediction in claim.predictions]
