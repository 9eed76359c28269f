"""The questions of a Phase II run: which are trained on, which validate, and why others are left out."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.shared.readers import Reader
from tersely.metrics import contains_answer
from training.run import show_progress, write_text
from training.selector.environment import Observation, filter_answerable, make_observation
from training.selector_model.batching import WindowBuilder
from training.selector_model.groups import MULTI_HOP, Group, Part

CHUNK = 256
"""Most questions that the filter gives to the reader at once; at most twice the number to choose."""


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions by name, in the order in which they are trained on."""

    train: list[str]
    heldout: list[str]
    left_out: dict[str, int]
    """Questions that did not pass the filter, by reason."""

    def save(self, path: Path) -> None:
        write_text(path, json.dumps(asdict(self)))


def load_questions(path: Path) -> Questions:
    """What `Questions.save` wrote."""
    return Questions(**json.loads(path.read_text(encoding="utf-8")))


def draw_questions(
    builder: WindowBuilder,
    groups: Mapping[Part, Sequence[Group]],
    reader: Reader,
    *,
    train: int,
    validation: int,
    seed: int,
) -> Questions:
    """Draw `train` questions that pass the filter, and `validation` held-out ones whose answer is in their
    documents.

    Raises ValueError where no question passes the filter.
    """
    rng = random.Random(seed)
    chosen, left_out = _choose(builder, groups["train"], train, reader, rng)
    if not chosen:
        raise ValueError(f"{reader.name} leaves no question to learn from: {dict(left_out)}")
    findable = [g for g in groups["heldout"] if any(contains_answer(d.text, g.answers) for d in g.documents)]
    drawn = rng.sample(findable, min(validation, len(findable)))
    return Questions([_get_name(o.group) for o in chosen], [_get_name(g) for g in drawn], dict(left_out))


def find_groups(groups: Sequence[Group], names: Sequence[str]) -> list[Group]:
    """The groups of these questions, in their order."""
    by_name = {_get_name(g): g for g in groups}
    return [by_name[name] for name in names]


def _choose(
    builder: WindowBuilder, groups: Sequence[Group], count: int, reader: Reader, rng: random.Random
) -> tuple[list[Observation], Counter[str]]:
    """The first `count` groups that pass the filter, multi-hop ones before others, else in random order."""
    order = sorted(rng.sample(groups, len(groups)), key=lambda g: g.source not in MULTI_HOP)
    usable = [g for g in order if g.answers]
    chosen: list[Observation] = []
    left_out: Counter[str] = Counter()
    size = min(CHUNK, 2 * count)
    for at in show_progress("filter", range(0, len(usable), size)):
        if len(chosen) >= count:
            break
        kept, reasons = filter_answerable(
            reader, [make_observation(builder, g) for g in usable[at : at + size]]
        )
        chosen += kept
        left_out += reasons
    return chosen[:count], left_out


def _get_name(group: Group) -> str:
    return f"{group.source} {group.id}"
