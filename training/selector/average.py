"""`python -m training.selector.average --runs RUN RUN2 --out RUN3`: average the weights of trained selectors.

The mean of several runs that started from the same weights often keeps more than the best of them, and costs
no time when it is used (model soups, Wortsman et al. 2022, arXiv 2203.05482). RUN3 is exported like any run:
`python -m training.selector --out RUN3 --stage export`.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch

from training.checkpoint import save_whole
from training.run import Run, read_runs
from training.selector_model.trained import load_weights


def average(runs: Sequence[Path], out: Path) -> None:
    """Write the mean weights of finished runs to `out/final`, with their configuration and all their origins.

    One of the runs may be the one that the others started from. `out` also gets the prepared data of the last
    run.

    Raises ValueError for fewer than two runs, and for runs that differ in layout or in the shapes of their
    weights.
    """
    if len(runs) < 2:
        raise ValueError("an average needs two runs or more")
    folders = [run / "final" for run in runs]
    layouts = {(folder / "layout.json").read_text(encoding="utf-8") for folder in folders}
    weights = [load_weights(folder) for folder in folders]
    shapes = [{name: value.shape for name, value in own.items()} for own in weights]
    if len(layouts) > 1 or any(other != shapes[0] for other in shapes):
        raise ValueError("the runs train models of different layouts or shapes; they have no mean")
    made = Run(out)
    own_files = shutil.ignore_patterns("selector.pt", "runs.json", "validation.json")
    shutil.copytree(folders[0], made.final, ignore=own_files)
    shutil.copytree(runs[-1] / "prepared", out / "prepared")
    save_whole(compute_mean(weights), made.final / "selector.pt")
    histories = [read_runs(folder) for folder in folders]
    shared = _count_shared(histories)
    apart = [entry for history in histories for entry in history[shared:]]
    has_start = any(len(history) == shared for history in histories)
    *made.origins, last = [*histories[0][:shared], *apart]
    made.finish({**last, "averaged": {"runs": len(apart), "start": has_start}})


def compute_mean(weights: Sequence[Mapping[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """Return the mean of each parameter over models of the same shapes."""
    return {name: torch.stack([own[name] for own in weights]).mean(0) for name in weights[0]}


def _count_shared(histories: Sequence[Sequence[Any]]) -> int:
    """Return the number of entries with which all histories begin."""
    columns = zip(*histories, strict=False)
    return sum(1 for _ in takewhile(lambda column: all(e == column[0] for e in column), columns))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.selector.average", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="folders of finished runs")
    parser.add_argument("--out", type=Path, required=True, help="new folder")
    args = parser.parse_args()
    if args.out.exists():
        parser.error(f"{args.out} exists already; name a new folder")
    try:
        average(args.runs, args.out)
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
