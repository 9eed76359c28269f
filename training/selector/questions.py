"""Choose the questions of a Phase II run for training and validation, and record why others are left out."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.shared.readers import Reader
from tersely.metrics import contains_answer
from training.run import show_progress, write_text
from training.selector.environment import DocumentStep, filter_answerable, make_observation
from training.selector_model.batching import WindowBuilder
from training.selector_model.groups import MULTI_HOP, Group, Part, belongs_to_readers

CHUNK = 256
"""Maximum number of questions that the filter gives to the reader at once."""


@dataclass(frozen=True, slots=True)
class Questions:
    """Names of questions, in training order."""

    train: list[str]
    heldout: list[str]
    left_out: dict[str, int]
    """Number of questions that did not pass the filter, by reason."""
    ranked: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """The documents that step 1 keeps for each question, best first; empty without step 1."""

    def save(self, path: Path) -> None:
        write_text(path, json.dumps(asdict(self)))


def load_questions(path: Path) -> Questions:
    """Read the file that `Questions.save` wrote."""
    return Questions(**json.loads(path.read_text(encoding="utf-8")))


def draw_questions(
    builder: WindowBuilder,
    groups: Mapping[Part, Sequence[Group]],
    reader: Reader,
    *,
    train: int,
    validation: int,
    seed: int,
    step: DocumentStep | None = None,
) -> Questions:
    """Draw `train` questions that pass the filter, and `validation` held-out ones with the answer in their
    documents.

    Raises ValueError if no question passes the filter, or the reader may have been trained on one.
    """
    rng = random.Random(seed)
    findable = [g for g in groups["heldout"] if any(contains_answer(d.text, g.answers) for d in g.documents)]
    usable = [g for g in groups["train"] if g.answers]
    if reader.trained_on != frozenset():
        usable = [g for g in usable if not belongs_to_readers(g.source, g.id)]
    check_unseen(reader, [g.name for g in (*usable, *findable)])
    chosen, left_out = _choose(builder, usable, train, reader, rng, step)
    if not chosen:
        raise ValueError(f"{reader.name} leaves no question to learn from: {dict(left_out)}")
    drawn = rng.sample(findable, min(validation, len(findable)))
    names, heldout = [g.name for g, _ in chosen], [g.name for g in drawn]
    ranked = {}
    if step:
        ranked = {g.name: r for g, r in chosen if r} | {g.name: step.rank(g) for g in drawn}
    return Questions(names, heldout, dict(left_out), ranked)


def check_unseen(reader: Reader, names: Iterable[str]) -> None:
    """Raise ValueError if the reader was trained on one of these questions, or does not list its
    questions."""
    if reader.trained_on is None:
        raise ValueError(
            f"{reader.name} does not list the questions that it was trained on, so it may have memorised the "
            "policy's. Train a reader with `python -m training.reader --selector RUN`."
        )
    seen = sorted(reader.trained_on.intersection(names))
    if seen:
        raise ValueError(
            f"{reader.name} was trained on {len(seen)} of the policy's questions, such as {seen[0]!r}. Train "
            "it again with `python -m training.reader --selector RUN`, where RUN is the run that Phase II "
            "starts from."
        )


def find_groups(groups: Sequence[Group], names: Sequence[str]) -> list[Group]:
    by_name = {g.name: g for g in groups}
    return [by_name[name] for name in names]


def _choose(
    builder: WindowBuilder,
    usable: Sequence[Group],
    count: int,
    reader: Reader,
    rng: random.Random,
    step: DocumentStep | None,
) -> tuple[list[tuple[Group, list[int] | None]], Counter[str]]:
    """Return the first `count` groups that pass the filter, each with the documents that step 1 keeps.

    Multi-hop groups come first; otherwise the order is random.
    """
    order = sorted(rng.sample(usable, len(usable)), key=lambda g: g.source not in MULTI_HOP)
    chosen: list[tuple[Group, list[int] | None]] = []
    left_out: Counter[str] = Counter()
    size = min(CHUNK, 2 * count)
    for at in show_progress("filter", range(0, len(order), size)):
        if len(chosen) >= count:
            break
        part = [(g, step.rank(g) if step else None) for g in order[at : at + size]]
        kept, reasons = filter_answerable(reader, [make_observation(builder, g, r) for g, r in part])
        passed = {o.group.name for o in kept}
        chosen += [(g, r) for g, r in part if g.name in passed]
        left_out += reasons
    return chosen[:count], left_out
