"""Run the ablations of Phase II (EFFCOMP appendices D.8 and D.11) on few questions.

`python -m training.selector.ablations --config training/configs/phase2_mini.toml --start-from RUN --reader
READER --out DIR` draws and filters questions like a whole run, trains each variant from RUN's weights and
prints a row for each epoch. Variants that are finished in DIR are not trained again.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

from benchmarks.shared.readers import CachedReader, Reader, open_reader
from tersely.rerank import CrossEncoder
from training.run import Run, run_command
from training.selector.bandit import Phase2Config
from training.selector.environment import DocumentStep
from training.selector.phase2 import add_options, make_document_step, train_phase2
from training.selector.questions import Questions, draw_questions, load_questions
from training.selector_model.batching import WindowBuilder
from training.selector_model.groups import Part, read_groups
from training.selector_model.trained import load_layout
from training.settings import read_settings

ALPHAS = (0.65, 0.75, 0.85)


def make_variants(config: Phase2Config) -> Iterator[tuple[str, Phase2Config]]:
    """Yield the name and settings of each variant: both passes, each pass alone, and both with other
    alphas."""
    yield "hybrid", config
    yield "rl", replace(config, strategy="rl")
    yield "sl", replace(config, strategy="sl")
    for alpha in ALPHAS:
        yield f"alpha-{alpha}", replace(config, alpha=alpha)


def draw_few(
    config: Phase2Config,
    phase1: Path,
    reader: Reader,
    *,
    train: int,
    validation: int,
    step: DocumentStep | None = None,
) -> Questions:
    """Draw few questions with the mixture of a whole run: sample groups at the same rate as questions."""
    groups = {part: read_groups(phase1, part) for part in get_args(Part)}
    size = round(len(groups["train"]) * min(1.0, train / config.questions))
    groups["train"] = random.Random(config.seed).sample(groups["train"], size)
    builder = WindowBuilder(load_layout(phase1 / "final"), groups["train"])
    counts = {"train": train, "validation": validation}
    return draw_questions(builder, groups, reader, **counts, seed=config.seed, step=step)


def format_rows(name: str, run: Run) -> Iterator[str]:
    """Yield a row of the table for each epoch of a run."""
    for entry in run.validations():
        metrics = entry["validation"]["all"]
        cells = (metrics[key] for key in ("reward", "acc", "rate", "support"))
        yield " | ".join(["", name, str(entry["epoch"]), *map(str, cells), ""]).strip()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.selector.ablations", description=__doc__)
    add_options(parser)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--validation", type=int, default=300)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--only", action="append", help="variants to train, all by default; repeatable")
    args = parser.parse_args()
    config = replace(read_settings(Phase2Config, args.config), epochs=args.epochs)
    reader = CachedReader(open_reader(args.reader, args.prompt))
    reranker = CrossEncoder(args.reranker) if args.reranker else None
    file = args.out / "questions.json"
    if not file.exists():
        step = make_document_step(config, reranker)
        drawn = draw_few(
            config, args.start_from, reader, train=args.questions, validation=args.validation, step=step
        )
        args.out.mkdir(parents=True, exist_ok=True)
        drawn.save(file)
    questions = load_questions(file)
    table = ["| variant | epoch | reward | Acc | rate | support |", "|---|---|---|---|---|---|"]
    for name, variant in make_variants(config):
        if args.only and name not in args.only:
            continue
        out = args.out / name
        train_phase2(variant, args.start_from, reader, out, questions=questions, reranker=reranker)
        table += format_rows(name, Run(out))
    print("\n".join(table))


if __name__ == "__main__":
    run_command(main)
