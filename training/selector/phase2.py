"""EFFCOMP Phase II: the reader that will use the context says which sentences it needs (section 3.2).

`python -m training.selector.phase2 --config training/configs/phase2_mini.toml --start-from RUN --out RUN2
--reader READER`, then `python -m training.selector --stage export` on RUN2. RUN is a finished Phase I run.
The passes of an epoch are in `bandit.py`, the equations in `policy.py`.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm
from transformers import AutoTokenizer

from benchmarks.shared.readers import CachedReader, Reader, open_reader
from tersely.metrics import contains_answer
from tersely.selector.layout import Layout, LayoutConfig
from training.export.artifact import load_layout, load_trained
from training.optimisation import keep_freed_memory
from training.selector.bandit import Phase2, Phase2Config, load_phase2_config
from training.selector.batching import Encoder
from training.selector.data import MULTI_HOP, Group, read_groups
from training.selector.environment import State, answerable, make_state
from training.selector.model import SelectorModel
from training.selector.train import runs_of, save

CHUNK = 256
"""Questions that the reader is asked about at once while they are filtered, at most; where few are wanted,
twice as many as that."""


def run(config: Phase2Config, phase1: Path, reader: Reader, out: Path) -> dict[str, Any]:
    """Train from the weights in `phase1`; the best epoch by validation reward goes to `out/final`.

    Epoch 0 is Phase I itself, so the result is never worse than that on the validation questions. Continues
    after the last finished epoch where `out` holds one.
    """
    keep_freed_memory()
    torch.manual_seed(config.seed)
    model, layout_config = load_trained(phase1 / "final")
    layout = load_layout(phase1 / "final")
    log = Log(out, model, AutoTokenizer.from_pretrained(phase1 / "final"), layout_config, reader.name)
    log.resume({"reader": reader.name, "alpha": config.alpha, "seed": config.seed})
    train, validation, left_out = _questions(config, phase1 / "prepared", layout, reader, out)
    trainer = Phase2(config, model, layout_config.pad_id, reader, train)
    if log.state:
        trainer.restore(log.state["trainer"])
    elif not log.entries:
        log.epoch(0, {"filter": {"kept": len(train), **left_out}, "validation": trainer.validate(validation)})
    if log.state and log.entries[-1]["epoch"] < log.state["epoch"]:  # stopped between training and validation
        log.epoch(log.state["epoch"], {**log.state["facts"], "validation": trainer.validate(validation)})
    if not log.state:
        trainer.seed_memory()
    for number in range(log.entries[-1]["epoch"] + 1, config.epochs + 1):
        facts = trainer.epoch()
        log.checkpoint(number, facts, trainer.state())
        log.epoch(number, {**facts, "validation": trainer.validate(validation)})
    history = [*runs_of(phase1 / "final"), log.facts(config, len(train))]
    (out / "final" / "runs.json").write_text(json.dumps(history, indent=2))
    shutil.copytree(phase1 / "prepared", out / "prepared", dirs_exist_ok=True)
    return log.best


def _questions(
    config: Phase2Config, prepared: Path, layout: Layout, reader: Reader, out: Path
) -> tuple[list[State], list[State], dict[str, int]]:
    """Training states, validation states, and why other questions are not trained on.

    The choice is written down, so that a run that goes on has the same questions in the same order.
    """
    groups = {part: read_groups(prepared / f"{part}.jsonl") for part in ("train", "heldout")}
    encoders = {part: Encoder(layout, found) for part, found in groups.items()}
    file = out / "questions.json"
    if not file.exists():
        file.write_text(json.dumps(draw(config, encoders["train"], groups, reader)))
    known = json.loads(file.read_text())
    states: list[list[State]] = []
    for part, found in groups.items():
        by_name = {_name(g): g for g in found}
        states.append([make_state(encoders[part], by_name[name]) for name in known[part]])
    return states[0], states[1], known["left_out"]


def draw(
    config: Phase2Config, encoder: Encoder, groups: Mapping[str, Sequence[Group]], reader: Reader
) -> dict[str, Any]:
    """Names of the questions to train on and of those to validate on, and why others are left out."""
    rng = random.Random(config.seed)
    chosen, left_out = choose(encoder, groups["train"], config.questions, reader, rng)
    if not chosen:
        raise ValueError(f"{reader.name} leaves no question to learn from: {dict(left_out)}")
    findable = [g for g in groups["heldout"] if any(contains_answer(d.text, g.answers) for d in g.documents)]
    drawn = rng.sample(findable, min(config.validation, len(findable)))
    return {
        "train": [_name(s.group) for s in chosen],
        "heldout": [_name(g) for g in drawn],
        "left_out": left_out,
    }


def choose(
    encoder: Encoder, groups: Sequence[Group], count: int, reader: Reader, rng: random.Random
) -> tuple[list[State], Counter[str]]:
    """The first `count` groups that pass the filter, multi-hop ones before others, else in random order."""
    order = sorted(rng.sample(groups, len(groups)), key=lambda g: g.source not in MULTI_HOP)
    usable = [g for g in order if g.answers]
    chosen: list[State] = []
    left_out: Counter[str] = Counter()
    size = min(CHUNK, 2 * count)
    for at in tqdm(range(0, len(usable), size), desc="filter", mininterval=10):
        if len(chosen) >= count:
            break
        kept, reasons = answerable(reader, [make_state(encoder, g) for g in usable[at : at + size]])
        chosen += kept
        left_out += reasons
    return chosen[:count], left_out


def _name(group: Group) -> str:
    return f"{group.source} {group.id}"


class Log:
    """Writes every epoch down, and keeps the weights of the best."""

    def __init__(
        self, out: Path, model: SelectorModel, tokenizer: Any, layout: LayoutConfig, reader: str
    ) -> None:
        self.out, self.model, self.tokenizer, self.layout, self.reader = out, model, tokenizer, layout, reader
        self.started = time.monotonic()
        self.seconds_before = 0.0
        self.entries: list[dict[str, Any]] = []
        self.state: dict[str, Any] | None = None
        """The last checkpoint, where there was one."""
        out.mkdir(parents=True, exist_ok=True)

    def epoch(self, number: int, facts: dict[str, Any]) -> None:
        self.entries.append({"epoch": number, **facts})
        if self.best is self.entries[-1]:  # before the log says so
            save(self.model, self.tokenizer, self.layout, self.out / "final")
        with open(self.out / "phase2.jsonl", "a", encoding="utf-8") as stream:
            stream.write(json.dumps(self.entries[-1]) + "\n")
        print(json.dumps({**self.entries[-1], "validation": facts["validation"]["all"]}), flush=True)

    @property
    def best(self) -> dict[str, Any]:
        """The epoch of highest validation reward, the first of equals."""
        return max(self.entries, key=lambda entry: entry["validation"]["all"]["reward"])

    def seconds(self) -> float:
        return self.seconds_before + time.monotonic() - self.started

    def checkpoint(self, number: int, facts: dict[str, Any], trainer: dict[str, Any]) -> None:
        """What a stopped run needs after epoch `number` was trained."""
        partial = self.out / "checkpoint.partial"
        state = {"epoch": number, "facts": facts, "trainer": trainer, "seconds": self.seconds()}
        torch.save(state, partial)
        partial.replace(self.out / "checkpoint.pt")

    def resume(self, identity: dict[str, Any]) -> None:
        """Take up what `out` holds. Raises ValueError where rewards there mean something else."""
        file, log, checkpoint = (self.out / n for n in ("identity.json", "phase2.jsonl", "checkpoint.pt"))
        known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else identity
        if known != identity:
            raise ValueError(f"{self.out} was made with {known}, not {identity}: name a new folder")
        file.write_text(json.dumps(identity), encoding="utf-8")
        if log.exists():
            self.entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        if checkpoint.exists():
            self.state = torch.load(checkpoint, map_location="cpu", weights_only=False)
            self.seconds_before = self.state["seconds"]

    def facts(self, config: Phase2Config, questions: int) -> dict[str, Any]:
        """What this run adds to the history of the weights."""
        return {
            "phase": 2,
            "reader": self.reader,
            "alpha": config.alpha,
            "best_epoch": self.best["epoch"],
            "seed": config.seed,
            "questions": questions,
            "minutes": round(self.seconds() / 60),
            "learning_rate": config.learning_rate,
        }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.selector.phase2", description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--start-from", type=Path, required=True, help="run folder of Phase I")
    parser.add_argument(
        "--reader", required=True, help="extractive:FOLDER, causal:FOLDER or openai:URL#MODEL"
    )
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    reader = CachedReader(open_reader(args.reader))
    run(load_phase2_config(args.config), args.start_from, reader, args.out)


if __name__ == "__main__":
    main()
