"""`python -m training.agent --config training/configs/agent_smollm2.toml --data DATA --out RUN`.

Rewrites the trajectories of DATA into turns, trains an adapter on them and writes it to RUN/final. A command
that was stopped continues when it is run again. With `--max-minutes` the learning rate reaches zero after
that time, without the time for making the turns.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from training.run import run_command


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.agent", description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="data folder; TERSELY_DATA by default")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--base", type=Path, help="folder of a causal model; SmolLM2-135M by default")
    parser.add_argument("--max-minutes", type=float, help="end the training after this time")
    args = parser.parse_args()

    from benchmarks.shared.tasks.rows import find_data_folder
    from tersely import Compressor  # takes seconds, as the next two do
    from training.agent.examples import hold_out, make_lessons
    from training.agent.settings import Settings
    from training.run import Run
    from training.settings import read_settings
    from training.summarizer.train import train

    settings = read_settings(Settings, args.config)
    Run(args.out, identity=asdict(settings))  # refuses the folder of another configuration at once
    data = find_data_folder(args.data)
    turns = make_lessons(settings.data, Compressor(), args.out / "lessons.jsonl", data)
    lessons = hold_out(turns, settings.training.heldout)
    run = Run(args.out, max_minutes=args.max_minutes, identity=asdict(settings))
    print(json.dumps(train(settings, lessons, run, args.base)))


if __name__ == "__main__":
    run_command(main)
