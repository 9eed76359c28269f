"""Phase II's ablations (EFFCOMP appendices D.8 and D.11), on a random part of a finished run's questions.

`python -m training.selector.ablations --config training/configs/phase2_mini.toml --run RUN2 --start-from RUN
--reader READER --out DIR` trains each variant from RUN's weights and prints one row an epoch. Variants that
are finished in DIR are not trained again.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.readers import CachedReader, open_reader
from training.selector.bandit import Phase2Config, load_phase2_config
from training.selector.phase2 import run

ALPHAS = (0.65, 0.75, 0.85)


def variants(config: Phase2Config) -> Iterator[tuple[str, Phase2Config]]:
    """Both passes, either alone, then both under other weights of the answer against compression."""
    yield "hybrid", config
    yield "rl", replace(config, strategy="rl")
    yield "sl", replace(config, strategy="sl")
    for alpha in ALPHAS:
        yield f"alpha-{alpha}", replace(config, alpha=alpha)


def sample_questions(known: dict[str, Any], questions: int, validation: int, seed: int) -> dict[str, Any]:
    """A random part of what a run chose, for training and for validation."""
    rng = random.Random(seed)
    return {
        "train": rng.sample(known["train"], min(questions, len(known["train"]))),
        "heldout": rng.sample(known["heldout"], min(validation, len(known["heldout"]))),
        "left_out": known["left_out"],
    }


def rows(name: str, log: Path) -> Iterator[str]:
    """One row of the table for every epoch in a run's log."""
    for line in log.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        found = entry["validation"]["all"]
        cells = (found[key] for key in ("reward", "acc", "rate", "support"))
        yield " | ".join(["", name, str(entry["epoch"]), *map(str, cells), ""]).strip()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.selector.ablations", description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True, help="run folder of Phase II, for its questions")
    parser.add_argument("--start-from", type=Path, required=True, help="run folder of Phase I")
    parser.add_argument("--reader", required=True, help="as for training.selector.phase2")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--validation", type=int, default=300)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    config = replace(load_phase2_config(args.config), epochs=args.epochs)
    reader = CachedReader(open_reader(args.reader))
    known = json.loads((args.run / "questions.json").read_text(encoding="utf-8"))
    chosen = sample_questions(known, args.questions, args.validation, config.seed)
    table = ["| variant | epoch | reward | Acc | rate | support |", "|---|---|---|---|---|---|"]
    for name, variant in variants(config):
        out = args.out / name
        out.mkdir(parents=True, exist_ok=True)
        (out / "questions.json").write_text(json.dumps(chosen))
        run(variant, args.start_from, reader, out)
        table += rows(name, out / "phase2.jsonl")
    print("\n".join(table))


if __name__ == "__main__":
    main()
