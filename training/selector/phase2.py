"""Train with EFFCOMP's Phase II: a reader's answers decide which sentences are needed (section 3.2).

`python -m training.selector.phase2 --config training/configs/phase2_mini.toml --start-from RUN --out RUN2
--reader READER`, then `python -m training.selector --stage export` on RUN2. RUN is a finished Phase I run.
`bandit.py` has the passes of an epoch, and `policy.py` the equations.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any, get_args

import torch
from transformers import AutoTokenizer

from benchmarks.shared.readers import CachedReader, Reader, Template, open_reader
from tersely.rerank import CrossEncoder, Reranker
from training.checkpoint import resume, save_checkpoint
from training.optimisation import keep_freed_memory
from training.run import Run, read_runs, run_command
from training.selector.bandit import Phase2, Phase2Config
from training.selector.environment import DocumentStep, Observation, make_observation
from training.selector.questions import Questions, check_unseen, draw_questions, find_groups, load_questions
from training.selector_model.batching import WindowBuilder
from training.selector_model.groups import Part, read_groups, write_groups
from training.selector_model.trained import load_layout, load_trained, save_trained
from training.settings import read_settings


def train_phase2(
    config: Phase2Config,
    phase1: Path,
    reader: Reader,
    out: Path,
    *,
    questions: Questions | None = None,
    reranker: Reranker | None = None,
) -> dict[str, Any]:
    """Train from the weights of the run folder `phase1`. Write the weights of the epoch with the best
    validation reward to `out/final`, and return its entry in the history.

    Epoch 0 is Phase I, so the result is never worse than Phase I on the validation questions. Continues from
    the checkpoint in `out` if there is one. Without `questions`, some of those of `phase1` are drawn.
    `reranker` chooses the `max_docs` documents that the selector reads (step 1).

    Raises ValueError if the reader was trained on one of the questions, or if only one of `reranker` and
    `max_docs` is given.
    """
    keep_freed_memory()
    step = make_document_step(config, reranker)
    run = Run(out, identity={"reader": reader.name, "alpha": config.alpha, "seed": config.seed})
    run.origins = read_runs(phase1 / "final")
    torch.manual_seed(config.seed)
    model, layout_config = load_trained(phase1 / "final")
    tokenizer = AutoTokenizer.from_pretrained(phase1 / "final")
    save_weights = partial(save_trained, model, tokenizer, layout_config)
    train, validation, left_out = _take_questions(config, phase1, reader, run, questions, step)
    trainer = Phase2(config, model, layout_config.pad_id, reader, train)
    position = resume(run, trainer.parts()) or {
        "epoch": 0,
        "facts": {"filter": {"kept": len(train), **left_out}},
    }
    while position["epoch"] <= config.epochs:
        epoch, facts = position["epoch"], position.get("facts")
        if facts is None:
            facts = trainer.train_epoch()
            save_checkpoint(run, trainer.parts(), {"epoch": epoch, "facts": facts})
        metrics = trainer.validate(validation)
        score = metrics["all"]["reward"]
        run.record_validation(score, save_weights, epoch=epoch, **facts, validation=metrics)
        print(json.dumps({"epoch": epoch, **facts, "validation": metrics["all"]}), flush=True)
        if epoch == 0:
            trainer.fill_replay_buffer()
        position = {"epoch": epoch + 1}
        save_checkpoint(run, trainer.parts(), position)
    run.finish(_describe(config, run, reader, len(train)))
    return run.best()


def make_document_step(config: Phase2Config, reranker: Reranker | None) -> DocumentStep | None:
    """Return step 1, or None without `reranker` and `max_docs`. Raises ValueError if only one is given."""
    if (reranker is None) != (config.max_docs is None):
        missing = "a reranker: pass --reranker" if reranker is None else "max_docs in its settings"
        raise ValueError(f"step 1 of Phase II needs {missing}")
    return DocumentStep(reranker, config.max_docs) if reranker and config.max_docs else None


def _take_questions(
    config: Phase2Config,
    phase1: Path,
    reader: Reader,
    run: Run,
    questions: Questions | None,
    step: DocumentStep | None,
) -> tuple[list[Observation], list[Observation], dict[str, int]]:
    """Return the observations for training and for validation, and counts of dropped questions by reason.

    Writes to the run the groups, for the export, and the questions, so that a continued run uses the same
    ones in the same order.
    """
    layout = load_layout(phase1 / "final")
    groups = {part: read_groups(phase1, part) for part in get_args(Part)}
    builders = {part: WindowBuilder(layout, rows) for part, rows in groups.items()}
    for part, rows in groups.items():
        write_groups(run.folder, part, rows)
    file = run.folder / "questions.json"
    if file.exists():
        questions = load_questions(file)
    if questions:
        check_unseen(reader, [*questions.train, *questions.heldout])
    else:
        questions = draw_questions(
            builders["train"],
            groups,
            reader,
            train=config.questions,
            validation=config.validation,
            seed=config.seed,
            step=step,
        )
    questions.save(file)
    train, validation = (
        [
            make_observation(builders[part], g, questions.ranked.get(g.name))
            for g in find_groups(groups[part], names)
        ]
        for part, names in (("train", questions.train), ("heldout", questions.heldout))
    )
    return train, validation, questions.left_out


def _describe(config: Phase2Config, run: Run, reader: Reader, questions: int) -> dict[str, Any]:
    return {
        "phase": 2,
        "reader": reader.name,
        "alpha": config.alpha,
        "best_epoch": run.best()["epoch"],
        "seed": config.seed,
        "questions": questions,
        "minutes": run.clock.minutes(),
        "learning_rate": config.learning_rate,
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that all programs of Phase II take."""
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--start-from", type=Path, required=True, help="run folder of Phase I")
    parser.add_argument(
        "--reader", required=True, help="extractive:FOLDER, causal:FOLDER or openai:URL#MODEL"
    )
    parser.add_argument("--reranker", type=Path, help="folder of an ONNX cross-encoder, for max_docs")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--prompt",
        choices=get_args(Template),
        default="effcomp",
        help="prompt of a language model: that of EFFCOMP's appendix B.4, or one with worked examples, for "
        "small models",
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.selector.phase2", description=__doc__)
    add_options(parser)
    args = parser.parse_args()
    reader = CachedReader(open_reader(args.reader, args.prompt))
    reranker = CrossEncoder(args.reranker) if args.reranker else None
    config = read_settings(Phase2Config, args.config)
    train_phase2(config, args.start_from, reader, args.out, reranker=reranker)


if __name__ == "__main__":
    run_command(main)
