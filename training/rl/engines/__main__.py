"""`python -m training.rl.engines --config training/configs/search_smollm2.toml --out RUN`.

Trains SmolLM2-135M with LoRA to search an archive: a cold start on an expert's demonstrations, then
reinforcement learning through TRL. A run that was stopped continues when the same command is run again.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from training.run import run_command


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.rl.engines", description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--seed", type=int, help="instead of the configuration's")
    parser.add_argument("--progress", action="store_true", help="show bars")
    args = parser.parse_args()

    from training.rl.engines.search_run import Settings, load_model, train  # takes seconds
    from training.run import Run
    from training.settings import read_settings

    seed = {} if args.seed is None else {"seed": args.seed}
    settings = read_settings(Settings, args.config, **seed)
    run = Run(args.out, identity=asdict(settings))
    train(settings, run, *load_model(), show=args.progress)
    first, last = (entry for entry in run.history if entry["kind"] == "evaluation")
    print(f"reward on new tasks: {first['reward']:.3f} before, {last['reward']:.3f} after")


if __name__ == "__main__":
    run_command(main)
