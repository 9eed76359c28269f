"""`python -m training.reader --data DIR --selector RUN --out FOLDER`: train the extractive reader of Phase II
and of the benchmarks.

It predicts spans with all-MiniLM-L6-v2, trained on questions that Phase II of the selector run RUN does not
use. FOLDER/questions.json lists them; Phase II refuses a reader that has seen one of its questions. With
`--max-minutes` the learning rate reaches zero after that time. A training that was stopped continues from its
checkpoint in FOLDER/run.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import torch

from benchmarks.shared.export import quantise
from benchmarks.shared.readers import Prompt
from benchmarks.shared.readers.extractive import CONFIG, GRAPH, QUESTIONS, TOKENIZER, ExtractiveReader
from benchmarks.shared.tasks.rows import find_data_folder
from tersely.metrics import exact_match, token_f1
from training.checkpoint import remove_checkpoint
from training.reader.card import render_card
from training.reader.data import Source, draw_context, read_sources
from training.reader.model import export_span
from training.reader.train import ReaderConfig, train
from training.run import Run, run_command
from training.selector_model.groups import Part, read_groups


def make_reader(
    config: ReaderConfig, data: Path, selector: Path, out: Path, max_minutes: float | None = None
) -> dict[str, float]:
    """Train, export and evaluate a reader in `out`, and return its held-out metrics.

    Questions of the run folder `selector` are left out.
    """
    rng = random.Random(config.seed)
    torch.manual_seed(config.seed)
    trained, heldout = ({g.id for g in read_groups(selector, part)} for part in get_args(Part))
    sources = read_sources(data, config.sources, trained, heldout, rng)
    held, rest = sources[: config.heldout], sources[config.heldout :]
    identity = {"seed": config.seed, "sources": len(rest)}
    run = Run(out / "run", max_minutes=max_minutes, identity=identity)
    model, tokenizer, layout, facts = train(config, rest, rng, run)
    (out / QUESTIONS).write_text(json.dumps(sorted(s.name for s in rest)), encoding="utf-8")
    (out / TOKENIZER).write_text(tokenizer.to_str(), encoding="utf-8")
    torch.save(model.state_dict(), out / "reader.pt")
    export_span(model, out / "model.onnx", layout.max_length)
    quantise(out / "model.onnx", out / GRAPH)
    card = {"layout": asdict(layout), "base_model": config.base_model, "seed": config.seed, **facts}
    (out / CONFIG).write_text(json.dumps(card, indent=2), encoding="utf-8")
    card["heldout"] = evaluate(ExtractiveReader(out), held, rng)
    (out / CONFIG).write_text(json.dumps(card, indent=2), encoding="utf-8")
    (out / "README.md").write_text(render_card(card), encoding="utf-8")
    remove_checkpoint(run)
    return card["heldout"]


def evaluate(reader: ExtractiveReader, held: Sequence[Source], rng: random.Random) -> dict[str, float]:
    """Return exact match and F1 on held-out contexts with the answer, and the share left unanswered of those
    without."""
    marked = [draw_context(s, rng) for s in held]
    answers = reader.answer([Prompt(m.question, m.context) for m in marked])
    pairs = [(m, a or "") for m, a in zip(marked, answers, strict=True)]
    answerable = [(a, [m.context[m.answer[0] : m.answer[1]]]) for m, a in pairs if m.answer]
    empty = [a == "" for m, a in pairs if not m.answer]
    count = len(answerable)
    return {
        "questions": count,
        "exact_match": round(100 * sum(exact_match(a, w) for a, w in answerable) / count, 1),
        "f1": round(100 * sum(token_f1(a, w) for a, w in answerable) / count, 1),
        "unanswerable_left_empty": round(100 * sum(empty) / max(1, len(empty)), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.reader", description=__doc__)
    parser.add_argument("--data", help="data folder; TERSELY_DATA by default")
    parser.add_argument("--selector", type=Path, required=True, help="run folder of the selector")
    parser.add_argument("--out", type=Path, required=True, help="folder for the reader")
    parser.add_argument("--max-minutes", type=float, help="anneal the learning rate to end after this time")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--sets", nargs="+", help="training sets of DATA, such as your own")
    args = parser.parse_args()
    sets = {"sources": tuple(args.sets)} if args.sets else {}
    config = ReaderConfig(epochs=args.epochs, seed=args.seed, **sets)
    metrics = make_reader(config, find_data_folder(args.data), args.selector, args.out, args.max_minutes)
    print(json.dumps(metrics))


if __name__ == "__main__":
    run_command(main)
