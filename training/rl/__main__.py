"""`python -m training.rl --config training/configs/rl_supo_tiny.toml --out RUN`: train a tiny policy.

RUN/history.jsonl   a line for each update and each evaluation
RUN/curve.png       the evaluations' reward over the updates
RUN/final/          the weights

A run that was stopped continues from its last checkpoint when the same command is run again. The last line
says whether the policy learned; if it did not, the exit code is 3. With `--seeds 1-10`, each seed gets a
folder in RUN and the command ends with a table of all of them; its exit code is 3 if one seed failed.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from training.rl.curves import draw_curve
from training.rl.loop import train
from training.rl.settings import Settings, read_run_settings
from training.run import Run, run_command

RISE = 0.1
"""Minimum rise of the reward from the first evaluation to the last, both on the same tasks."""
SUMMARISED = 0.1
"""Minimum share of SUPO's last rollouts that summarise."""
NOT_LEARNED = 3
"""Exit code if the policy did not learn."""

Evaluations = Sequence[Mapping[str, Any]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training.rl", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--seed", type=int, help="in place of the configuration's")
    which.add_argument("--seeds", type=_read_range, help="a range such as 1-10: one run for each")
    args = parser.parse_args()
    try:
        settings = read_run_settings(args.config)
        if args.seed is not None:
            settings = settings.with_seed(args.seed)
        plans = [(settings, args.out)]
        if args.seeds:
            plans = [(settings.with_seed(seed), args.out / f"seed-{seed}") for seed in args.seeds]
        runs = [Run(folder, identity=_to_json(asdict(plan))) for plan, folder in plans]
    except (OSError, ValueError) as error:
        parser.error(str(error))
    # With one thread, a seed gives the same weights everywhere; more threads are not faster for so small a
    # model.
    torch.set_num_threads(1)
    rows: list[str] = []
    failed = 0
    for (plan, folder), run in zip(plans, runs, strict=True):
        train(plan, run, visible=True)
        evaluations = [entry for entry in run.history if entry["kind"] == "evaluation"]
        draw_curve(evaluations, folder / "curve.png", f"{plan.algorithm['name']}, seed {plan.seed}")
        failure = find_failure(plan, evaluations)
        failed += failure is not None
        rows.append(render_row(plan.seed, evaluations, failure))
        print(f"{folder / 'history.jsonl'}, {folder / 'curve.png'}")
        print(describe(plan, evaluations, failure), flush=True)
    if args.seeds:
        print("| seed | reward: first, during, last | summarised: first, last | learned |\n|---|---|---|---|")
        print("\n".join(rows))
        print(f"{len(rows) - failed} of {len(rows)} seeds learned")
    return NOT_LEARNED if failed else 0


def find_failure(settings: Settings, evaluations: Evaluations) -> str | None:
    """Return the reason why a finished run counts as failed, or None if the policy learned."""
    first, last = evaluations[0], evaluations[-1]
    if last["reward"] < first["reward"] + RISE:
        return f"the reward did not rise by {RISE:g}"
    if settings.algorithm["name"] == "supo" and last["summarised"] < SUMMARISED:
        return f"less than {SUMMARISED:g} of the rollouts summarise"
    return None


def describe(settings: Settings, evaluations: Evaluations, failure: str | None) -> str:
    """Describe a finished run in one line."""
    first, last = evaluations[0], evaluations[-1]
    return (
        f"seed {settings.seed}: {f'FAILED, {failure}' if failure else 'learned'}; reward "
        f"{first['reward']:.2f} -> {last['reward']:.2f}, summarised {first['summarised']:.2f} -> "
        f"{last['summarised']:.2f}"
    )


def render_row(seed: int, evaluations: Evaluations, failure: str | None) -> str:
    rewards = " ".join(f"{entry['reward']:.2f}" for entry in evaluations)
    first, last = evaluations[0], evaluations[-1]
    summarised = f"{first['summarised']:.2f} {last['summarised']:.2f}"
    return f"| {seed} | {rewards} | {summarised} | {'no' if failure else 'yes'} |"


def _read_range(text: str) -> range:
    first, _, last = text.partition("-")
    try:
        seeds = range(int(first), int(last) + 1)
    except ValueError:
        seeds = range(0)
    if not seeds:
        raise argparse.ArgumentTypeError(f"{text!r} is not a range such as 1-10")
    return seeds


def _to_json(values: Any) -> Any:
    """Convert tuples to lists, as JSON does."""
    if isinstance(values, dict):
        return {key: _to_json(value) for key, value in values.items()}
    return [_to_json(value) for value in values] if isinstance(values, (list, tuple)) else values


if __name__ == "__main__":
    run_command(main)
