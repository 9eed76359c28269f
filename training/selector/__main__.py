"""`python -m training.selector --config training/configs/selector_mini.toml --data DIR --out RUN`.

Stages, each skipped when its output exists: prepare, train.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from training.data.rows import data_folder
from training.selector.config import load_config
from training.selector.data import prepare
from training.selector.embed import embedder
from training.selector.train import train


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.selector", description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--data", help="data folder; TERSELY_DATA by default")
    parser.add_argument("--out", type=Path, required=True, help="folder for prepared data and checkpoints")
    parser.add_argument("--max-minutes", type=float, help="anneal the learning rate to end after this time")
    parser.add_argument("--stage", choices=["prepare", "train"], help="run only this stage")
    args = parser.parse_args()
    config = load_config(args.config)
    prepared = args.out / "prepared"
    if args.stage in (None, "prepare") and not (prepared / "train.jsonl").exists():
        embed = embedder(config.base_model) if config.data.neighbours else None
        prepare(data_folder(args.data), prepared, config.data, config.seed, embed)
    if args.stage in (None, "train"):
        print(train(config, prepared, args.out, args.max_minutes))


if __name__ == "__main__":
    main()
