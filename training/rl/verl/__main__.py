"""`python -m training.rl.verl --config training/runs/verl/ziprl.toml --questions FILE.parquet`.

A paper's run at full scale: writes its questions, the last of them to FILE.validation.parquet, and prints
verl's command line. With --dry-run instead of
--questions, builds the whole run from the same configuration with a random model of two layers, takes one
real optimiser step on the CPU, and prints the memory and the tokens of a step of the full run.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from training.rl.recipes import Recipe
from training.rl.verl.overrides import GPUS, list_overrides, write_questions
from training.settings import read_settings


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.rl.verl", description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=1, help=f"of {GPUS} GPUs each")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--questions", type=Path, help="Parquet file for verl, written each time")
    what.add_argument("--dry-run", action="store_true", help="take one step of a random model on the CPU")
    args = parser.parse_args()
    recipe = read_settings(Recipe, args.config)
    if args.dry_run:
        from training.rl.verl.dry_run import take_step  # needs TRL

        print(take_step(recipe))
        print(f"weights, gradients, optimiser: {recipe.gigabytes(args.nodes * GPUS):.1f} GB on each GPU")
        print(f"a step reads and writes at most {recipe.step_tokens:,} tokens")
        return
    from pyarrow.parquet import read_metadata

    questions = args.questions.resolve()
    validation = questions.with_suffix(".validation.parquet")
    write_questions(recipe, questions, validation)
    count = read_metadata(questions).num_rows
    try:
        settings = list_overrides(recipe, args.config.resolve(), args.nodes, questions, validation, count)
    except ValueError as error:
        parser.error(str(error))
    print("scripts/verl -m verl.trainer.main_ppo \\")
    print(" \\\n".join(f"    {shlex.quote(setting)}" for setting in settings))


if __name__ == "__main__":
    main()
