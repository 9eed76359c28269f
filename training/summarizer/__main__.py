"""`python -m training.summarizer --config training/configs/summarizer_smollm2.toml --data DATA --out RUN`.

Makes examples, trains an adapter on them and writes it to RUN/final. A command that was stopped continues
when it is run again. With `--max-minutes` the learning rate reaches zero after that time; making the examples
does not count. `--start-from RUN1/final` begins with the weights of stage 1 (`python -m
training.summarizer.relevance`). `--lessons FILE` takes a teacher's examples instead of making them (`python
-m training.summarizer.teacher`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from dataclasses import asdict
from pathlib import Path

from training.run import run_command


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.summarizer", description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="data folder; TERSELY_DATA by default")
    parser.add_argument("--lessons", type=Path, help="examples of a teacher; then no data is read")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--base", type=Path, help="folder of a causal model; SmolLM2-135M by default")
    parser.add_argument("--start-from", type=Path, metavar="FINAL", help="weights of another run")
    parser.add_argument("--max-minutes", type=float, help="end the training after this time")
    args = parser.parse_args()

    # Slow imports come after the arguments are checked.
    from tersely import Compressor
    from training.run import Run, read_runs
    from training.settings import read_settings
    from training.summarizer.examples import make_lessons, read_lessons
    from training.summarizer.train import Settings, train

    settings = read_settings(Settings, args.config)
    identity = asdict(settings)
    if args.lessons:
        identity["lessons"] = hashlib.sha256(args.lessons.read_bytes()).hexdigest()
    if args.start_from:
        identity["start_from"] = read_runs(args.start_from)
    Run(args.out, identity=identity)  # refuses the folder of another configuration
    file = args.out / "lessons.jsonl"
    if args.lessons:
        shutil.copyfile(args.lessons, file)
        lessons = read_lessons(file)
    else:
        lessons = make_lessons(settings.data, Compressor(), file, args.data)
    run = Run(args.out, max_minutes=args.max_minutes, identity=identity)
    print(json.dumps(train(settings, lessons, run, args.base, args.start_from)))


if __name__ == "__main__":
    run_command(main)
