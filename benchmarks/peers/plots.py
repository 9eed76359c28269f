"""Two plots: quality against rate, and quality against latency."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.rows import OURS, TIMED, PeersRun, SystemRow
from benchmarks.shared.tasks import TASKS

MOST = 0.35
"""Mean share of the tokens up to which an output still counts as a quarter of them."""

Colours = Mapping[str, Any]
"""A colour of matplotlib for each system."""


def draw(run: PeersRun, folder: Path) -> None:
    """Write `peers_rate.png` and `peers_latency.png` to `folder`."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    systems = [
        row for row in run.systems if row.kind != "whole" and row.is_trained and run.list_cells(row.name)
    ]
    colours = {row.name: plt.get_cmap("tab20")(i) for i, row in enumerate(systems)}
    _plot_rates(run, systems, colours, folder / "peers_rate.png", plt)
    _plot_latency(run, systems, colours, folder / "peers_latency.png", plt)


def _plot_rates(run: PeersRun, systems: list[SystemRow], colours: Colours, path: Path, plt: Any) -> None:
    tasks = run.tasks
    figure, rows = plt.subplots(1, len(tasks), figsize=(5 * len(tasks), 4.5), sharey=True, squeeze=False)
    axes = rows[0]
    for axis, task in zip(axes, tasks, strict=True):
        for name in (row.name for row in systems):
            cells = [cell for cell in run.list_cells(name) if cell.task == task]
            points = sorted((float(np.mean(c.rate)), 100 * float(np.mean(c.kept))) for c in cells)
            axis.plot(
                *zip(*points, strict=True),
                "o-",
                label=f"{name} ({_count_questions(run, name)} questions)",
                color=colours[name],
                lw=2.5 if name == OURS else 1.2,
                ms=4,
            )
        axis.set_title(TASKS[task].title, fontsize=10)
        axis.set_xlabel("share of tokens kept")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("answers kept, %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncol=5, fontsize=8)
    figure.tight_layout(rect=(0, 0.15, 1, 1))
    figure.savefig(path, dpi=110)


def _plot_latency(run: PeersRun, systems: list[SystemRow], colours: Colours, path: Path, plt: Any) -> None:
    figure, axis = plt.subplots(figsize=(7, 4.5))
    larger: list[str] = []
    for row in systems:
        cells = [cell for cell in run.list_cells(row.name) if cell.budget == TIMED]
        if not row.is_timed:
            continue
        if float(np.mean([np.mean(cell.rate) for cell in cells])) > MOST:
            larger.append(row.name)
            continue
        point = (
            1000 * float(np.median([s for cell in cells for s in cell.seconds])),
            100 * float(np.mean([np.mean(cell.kept) for cell in cells])),
        )
        axis.plot(*point, "o", color=colours[row.name], ms=9 if row.name == OURS else 6)
        axis.annotate(row.name, point, xytext=(5, 4), textcoords="offset points", fontsize=8)
    axis.set_xscale("log")
    axis.margins(x=0.15)
    axis.set_xlabel(f"one question, p50 ms ({run.environment.cores} cores)")
    axis.set_ylabel("answers kept at a quarter of the tokens, %")
    if larger:
        title = f"not shown, because they keep over {100 * MOST:.0f} % of the tokens: {', '.join(larger)}"
        axis.set_title(title, fontsize=7)
    axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _count_questions(run: PeersRun, system: str) -> int:
    """The sum over tasks; every budget has the same questions."""
    return sum({cell.task: len(cell.kept) for cell in run.list_cells(system)}.values())
