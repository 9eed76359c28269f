"""Learning curves as PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot


def draw_curve(evaluations: Sequence[Mapping[str, Any]], file: Path, title: str) -> None:
    """Return the reward, and the share of rollouts that summarised, over the updates."""
    figure, axes = pyplot.subplots(figsize=(6, 3.5), layout="constrained")
    updates = [entry["update"] for entry in evaluations]
    axes.plot(updates, [entry["reward"] for entry in evaluations], marker="o", label="reward")
    if any(entry["summarised"] for entry in evaluations):
        axes.plot(updates, [entry["summarised"] for entry in evaluations], linestyle="--", label="summarised")
    axes.set(xlabel="updates", ylim=(0, 1.02), title=title)
    axes.legend(loc="lower right")
    figure.savefig(file, dpi=120)
    pyplot.close(figure)
