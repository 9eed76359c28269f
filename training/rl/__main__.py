"""`python -m training.rl --config training/configs/rl_supo_tiny.toml --out RUN`: train a tiny policy.

RUN/history.jsonl   a line for each update and each evaluation
RUN/curve.png       the evaluations' reward over the updates
RUN/final/          the weights

A run that was stopped continues from its last checkpoint when the same command is run again.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from training.rl.curves import draw_curve
from training.rl.loop import train
from training.rl.settings import read_run_settings
from training.run import Run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.rl", description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--seed", type=int, help="in place of the configuration's")
    args = parser.parse_args()
    try:
        settings = read_run_settings(args.config)
        if args.seed is not None:
            settings = settings.with_seed(args.seed)
        run = Run(args.out, identity=_to_json(asdict(settings)))
    except (OSError, ValueError) as error:
        parser.error(str(error))
    # With one thread, a seed gives the same weights everywhere; more threads are not faster for so small a
    # model.
    torch.set_num_threads(1)
    train(settings, run, visible=True)
    evaluations = [entry for entry in run.history if entry["kind"] == "evaluation"]
    draw_curve(evaluations, args.out / "curve.png", f"{settings.algorithm['name']}, seed {settings.seed}")
    first, last = evaluations[0]["reward"], evaluations[-1]["reward"]
    print(f"reward {first:.2f} -> {last:.2f}; {args.out / 'history.jsonl'}, {args.out / 'curve.png'}")


def _to_json(values: Any) -> Any:
    """Convert tuples to lists, as JSON does."""
    if isinstance(values, dict):
        return {key: _to_json(value) for key, value in values.items()}
    return [_to_json(value) for value in values] if isinstance(values, (list, tuple)) else values


if __name__ == "__main__":
    main()
