"""`python -m training.selector --config training/configs/selector_mini.toml --data DIR --out RUN`.

Three stages: prepare (labels and hard negatives), train (EFFCOMP Phase I; continues from its checkpoint),
export (ONNX, int8, parity, fusion layer, card). A stage is skipped if its output exists.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import get_args

from benchmarks.shared.tasks.rows import find_data_folder
from tersely.score.fusion import Decision
from training.export.artifact import export_artifact
from training.run import Clock, Run, read_runs, run_command
from training.selector.train import train
from training.selector_model.config import SelectorConfig
from training.selector_model.groups import has_groups, prepare_groups, read_prepared_settings
from training.settings import read_settings

GROUPS_PER_MINUTE = 240
"""Largest number of groups prepared for each minute of a run. Two cores train on fewer, so a short
run never runs out."""

PREPARATION = {None: 0.3, "prepare": 0.9}
"""Largest share of the limit that goes to preparation, by `--stage`. On a slow machine it ends with fewer
groups."""

WHOLE_HELDOUT = 60.0
"""Minimum minutes of a run that uses all held-out questions; shorter runs use a part. With all of them,
validation and export take about 25 minutes on two cores."""

TRAINING = {None: 0.5, "train": 0.8}
"""Share of the time left after preparation that goes to training, by `--stage`. Validation and export get the
rest."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.selector", description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--data", help="data folder; TERSELY_DATA by default")
    parser.add_argument("--out", type=Path, required=True, help="folder for prepared data and checkpoints")
    parser.add_argument("--artifact", type=Path, help="folder of the exported model; RUN/model by default")
    parser.add_argument("--start-from", type=Path, help="`final` folder of the run to start from")
    parser.add_argument("--max-minutes", type=float, help="approximate time limit of the whole command")
    parser.add_argument(
        "--decision",
        choices=get_args(Decision),
        default="fitted",
        help="how the exported model decides what to keep: with a fusion and a threshold fitted on held-out "
        "labels, or as it learned to",
    )
    parser.add_argument("--stage", choices=["prepare", "train", "export"], help="run only this stage")
    args = parser.parse_args()
    config = read_settings(SelectorConfig, args.config)
    clock = Clock(args.max_minutes)
    if args.stage in (None, "prepare") and not has_groups(args.out):
        data = config.data
        if args.max_minutes:
            draws = round(GROUPS_PER_MINUTE * args.max_minutes)
            data = data.limit(draws, min(1.0, args.max_minutes / WHOLE_HELDOUT))
        try:
            limit = args.max_minutes and args.max_minutes * PREPARATION[args.stage]
            prepare_groups(find_data_folder(args.data), args.out, data, config.seed, Clock(limit))
        except ValueError as error:
            parser.error(str(error))
    config = dataclasses.replace(config, data=read_prepared_settings(args.out) or config.data)
    if args.stage in (None, "train") and not (args.out / "final" / "validation.json").exists():
        minutes = limit_training(args.max_minutes, clock.seconds() / 60, args.stage)
        train(config, Run(args.out, max_minutes=minutes), start_from=args.start_from)
    if args.stage in (None, "export"):
        command = f"python -m training.selector --config {args.config} --data DATA --out RUN"
        if args.start_from:
            command += " --start-from SHIPPED/final"
        if read_runs(args.out / "final")[-1].get("phase") == 2:
            command += "`, then `python -m training.selector.phase2 --start-from RUN --out RUN2 ..."
        target = args.artifact or args.out / "model"
        print(export_artifact(config, args.out, target, command, args.decision, clock))


def limit_training(limit: float | None, spent: float, stage: str | None) -> float | None:
    """Return the minutes that training may take, or None without a limit.

    `limit` is the limit of the whole command and `spent` the time it has taken, in minutes. Training gets at
    least a twentieth of `limit`, even if the preparation took nearly all of it.
    """
    return None if limit is None else max((limit - spent) * TRAINING[stage], limit / 20)


if __name__ == "__main__":
    run_command(main)
