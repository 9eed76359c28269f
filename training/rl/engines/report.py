"""`python -m training.rl.engines.report RUN [RUN ...] --plot FILE.png`: results of several seeds.

Prints the reward over the updates with its interval (95 %, bootstrap over the updates of all seeds in a
window), the reward on new tasks before and after, tokens a second, and peak memory.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.shared.statistics import Estimate, bootstrap_mean
from training.run import Run

WINDOW = 10
"""Number of updates."""


def average(histories: Sequence[Sequence[dict[str, Any]]]) -> dict[int, Estimate]:
    """Return the mean reward of each window of updates, by its last update."""
    values: dict[int, list[float]] = {}
    for entry in (entry for history in histories for entry in history if entry["kind"] == "update"):
        last = -(-entry["update"] // WINDOW) * WINDOW
        values.setdefault(last, []).append(entry["reward"])
    return {last: bootstrap_mean(values[last], seed=0) for last in sorted(values)}


def describe(history: Sequence[dict[str, Any]]) -> str:
    """Describe a run in one line."""
    updates = [entry for entry in history if entry["kind"] == "update"]
    tests = [f"{entry['reward']:.3f}" for entry in history if entry["kind"] == "evaluation"]
    seconds = max(history[-1]["clock"] - history[0]["clock"], 1e-9)
    tokens = sum(entry["tokens"] for entry in updates)
    written = sum(e["written"] for e in updates) / max(sum(e["seconds"] for e in updates), 1e-9)
    peak = max(entry["peak_mb"] for entry in history)
    return (
        f"{len(updates)} updates; reward on new tasks {' -> '.join(tests)}; {tokens / seconds:.1f} tokens "
        f"trained a second, {written:.1f} written a second of rollouts; peak {peak} MB; mean length "
        f"{fmean(e['length'] for e in updates):.2f} turns"
    )


def draw(curve: dict[int, Estimate], file: Path, runs: int) -> None:
    """Draw the curve with its interval."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.5), layout="constrained")
    updates = list(curve)
    axes.fill_between(updates, [e.low for e in curve.values()], [e.high for e in curve.values()], alpha=0.25)
    axes.plot(updates, [e.value for e in curve.values()], marker="o")
    axes.set(xlabel="updates", ylabel="reward", ylim=(0, 1.02), title=f"{runs} runs")
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.rl.engines.report", description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", help="folders")
    parser.add_argument("--plot", type=Path, help="where the curve goes")
    args = parser.parse_args()
    histories = [Run(folder).history for folder in args.runs]
    curve = average(histories)
    for last, reward in curve.items():
        interval = f"[{reward.low:.3f}, {reward.high:.3f}]"
        print(f"updates {last - WINDOW + 1:>3} to {last:>3}: {reward.value:.3f} {interval}")
    for folder, history in zip(args.runs, histories, strict=True):
        print(f"{folder.name}: {describe(history)}")
    if args.plot:
        draw(curve, args.plot, len(histories))


if __name__ == "__main__":
    main()
