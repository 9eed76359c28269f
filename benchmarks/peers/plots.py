"""Two pictures: quality against rate, and quality against latency."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.report import timed
from benchmarks.shared.tasks import TASKS

OURS = "tersely"
MOST = 0.35
"""Mean share of the tokens up to which an output still counts as a quarter of them."""


def draw(result: dict[str, Any], folder: Path) -> None:
    """Write `peers_rate.png` and `peers_latency.png` to `folder`."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    systems = {
        n: s
        for n, s in result["systems"].items()
        if s["tasks"] and s["kind"] != "whole" and not s.get("untrained")
    }
    titles = {n: f"{n} ({_questions(s)} questions)" for n, s in systems.items()}
    names = list(systems[OURS]["tasks"])
    colours = {n: plt.get_cmap("tab20")(i) for i, n in enumerate(systems)}

    figure, rows = plt.subplots(1, len(names), figsize=(5 * len(names), 4.5), sharey=True, squeeze=False)
    axes = rows[0]
    for axis, name in zip(axes, names, strict=True):
        for system, found in systems.items():
            cells = found["tasks"][name].values()
            points = sorted((float(np.mean(c["rate"])), 100 * float(np.mean(c["kept"]))) for c in cells)
            width = 2.5 if system == OURS else 1.2
            axis.plot(
                *zip(*points, strict=True), "o-", label=titles[system], color=colours[system], lw=width, ms=4
            )
        axis.set_title(TASKS[name].title, fontsize=10)
        axis.set_xlabel("share of tokens kept")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("answers kept, %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncol=5, fontsize=8)
    figure.tight_layout(rect=(0, 0.15, 1, 1))
    figure.savefig(folder / "peers_rate.png", dpi=110)

    figure, axis = plt.subplots(figsize=(7, 4.5))
    larger: list[str] = []
    for system, found in systems.items():
        cells = [c["0.25"] for c in found["tasks"].values() if "0.25" in c]
        if not timed(system):
            continue
        if float(np.mean([np.mean(c["rate"]) for c in cells])) > MOST:
            larger.append(system)
            continue
        seconds = float(np.median([s for c in cells for s in c["seconds"]]))
        kept = 100 * float(np.mean([np.mean(c["kept"]) for c in cells]))
        axis.plot(1000 * seconds, kept, "o", color=colours[system], ms=9 if system == OURS else 6)
        axis.annotate(system, (1000 * seconds, kept), xytext=(5, 4), textcoords="offset points", fontsize=8)
    axis.set_xscale("log")
    axis.margins(x=0.15)
    axis.set_xlabel(f"one question, p50 ms ({result['environment']['cores']} cores)")
    axis.set_ylabel("answers kept at a quarter of the tokens, %")
    if larger:
        told = f"not shown, because they keep over {100 * MOST:.0f} % of the tokens: {', '.join(larger)}"
        axis.set_title(told, fontsize=7)
    axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(folder / "peers_latency.png", dpi=110)


def _questions(system: dict[str, Any]) -> int:
    return sum(len(next(iter(rates.values()))["kept"]) for rates in system["tasks"].values())
