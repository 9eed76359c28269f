"""Adapt a model to questions of one's own, and compare it with the model before on the same questions."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from benchmarks.shared.statistics import Estimate, bootstrap_difference
from tersely.runtime.artifacts import Artifact, write_manifest
from tersely.score.calibration import write_calibration
from tersely.score.features import first_features
from tersely.score.fusion import Fusion, LinearLayer
from tersely.score.matching import Floats
from tersely.score.selector import Selector
from training.adapt.tune import Tuner
from training.export.artifact import TARGET_RECALL
from training.export.calibration import build_calibration
from training.export.fit_fusion import (
    Case,
    choose_threshold,
    cross_fit,
    fit_towards,
    make_inputs,
    split_by_document,
)
from training.run import show_progress
from training.selector_model.groups import Group
from training.selector_model.scores import GroupScores, count_support

RATES = (0.1, 0.25)
SEED = 13


@dataclass(frozen=True, slots=True)
class Adapted:
    """The questions' scores by the model before and by networks and a layer that were fitted without each
    question, and what the new model is made of."""

    before: list[GroupScores]
    after: list[GroupScores]
    fusion: Fusion
    tuner: Tuner
    groups: Sequence[Group]

    def write(self, out: Path) -> None:
        """Train the networks on all questions, and write the new model."""
        artifact = self.tuner.write_tuned(self.groups, SEED, out)
        self.fusion.save(out)
        write_calibration(out, build_calibration(self.after))
        config = artifact.config | {"threshold": choose_threshold(self.after, TARGET_RECALL)}
        (out / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        note = f"adapted to {len(self.groups)} questions of the user's own"
        with (out / "README.md").open("a", encoding="utf-8") as card:
            card.write(f"\n## Adapted\n\nThis model was {note}. All above is about {artifact.name} before.\n")
        write_manifest(out, **artifact.facts | {"adapted": note})


def adapt(artifact: Artifact, tuner: Tuner, groups: Sequence[Group]) -> Adapted:
    """Train the networks on each half of the questions, and fit the layer to what they say of the other."""
    halves = split_in_halves(groups)
    with TemporaryDirectory() as work:
        tuned = [
            Selector.load(tuner.write_tuned([groups[i] for i in half], SEED, Path(work) / f"{number}"))
            for number, half in enumerate(halves)
        ]
        readers = [tuned[1 if i in halves[0] else 0] for i in range(len(groups))]
        return fit_layer(Selector.load(artifact), readers, tuner, groups)


def fit_layer(
    selector: Selector, readers: Sequence[Selector], tuner: Tuner, groups: Sequence[Group]
) -> Adapted:
    """Fit the layer to the questions, each read by its own one of `readers`, and score them with and
    without it."""
    torch.set_num_threads(1)  # threads make so small a layer slower
    rows = range(len(groups))
    cases, inputs = [Case.make(group) for group in groups], [make_inputs(group) for group in groups]
    features: list[Floats] = []
    for i in show_progress("read", rows):
        done = readers[i].first_pass(groups[i].question, inputs[i])
        features.append(first_features(done.matches, done.logits, done.near))
    prior = selector.fusion.first_layer

    def fit(part: Sequence[int]) -> LinearLayer:
        return fit_towards(prior, [features[i] for i in part], [cases[i] for i in part])

    def score(at: int, reader: Selector, layer: LinearLayer) -> GroupScores:
        changed = replace(reader, fusion=replace(reader.fusion, first_layer=layer))
        return split_by_document(cases[at], changed.read(groups[at].question, inputs[at]).logits)

    layers = cross_fit(cases, fit)
    before = [score(i, selector, prior) for i in show_progress("before", rows)]
    after = [score(i, readers[i], layers[i]) for i in show_progress("after", rows)]
    return Adapted(before, after, replace(selector.fusion, first_layer=fit(rows)), tuner, groups)


def split_in_halves(groups: Sequence[Group]) -> tuple[set[int], set[int]]:
    """Return the indices of both halves of the questions.

    Questions that need the same document are in the same half, unless nearly all need one.
    """
    by_document: dict[str, list[int]] = {}
    for i, group in enumerate(groups):
        needed = next(d.text for d in group.documents if 1 in d.labels)
        by_document.setdefault(needed, []).append(i)
    parts = list(by_document.values())
    if 2 * max(map(len, parts)) > len(groups):
        parts = [[i] for i in range(len(groups))]
    random.Random(SEED).shuffle(parts)
    halves: tuple[set[int], set[int]] = (set(), set())
    for part in sorted(parts, key=len, reverse=True):
        min(halves, key=len).update(part)
    return halves


def compare(before: Sequence[GroupScores], after: Sequence[GroupScores], rate: float) -> Estimate:
    """Return the change in the share of needed sentences that are kept at this rate, with its interval."""
    old, total = count_kept(before, rate)
    new, _ = count_kept(after, rate)
    return bootstrap_difference(new, old, total, seed=SEED)


def is_better(differences: Sequence[Estimate]) -> bool:
    """Return whether the interval of at least one difference is above zero, and no interval is below it."""
    standings = {difference.standing for difference in differences}
    return "ahead" in standings and "behind" not in standings


def count_kept(scored: Sequence[GroupScores], rate: float) -> tuple[Floats, Floats]:
    """Return the number of needed sentences of each question that are kept at a rate, and their number."""
    rows = np.array([count_support(item, rate) for item in scored], dtype=np.float64)
    return rows[:, 0], rows[:, 1]
