"""`python -m training.export.fit_answerable --run RUN --out FOLDER`: fit an artifact's judgement of requests
to the held-out questions of a run: whether documents answer, and how far a request is from these questions.

Everything else of the artifact stays the same. RUN is a folder of `python -m training.selector`, at least
prepared (`--stage prepare`). Each question gives two requests with equally many documents: one with its
evidence, and one in which other documents replace it. In half of the pairs, the second request has all other
documents of the group, in the others a random number of them.
"""

from __future__ import annotations

import argparse
import random
import shutil
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tersely.runtime.artifacts import load_artifact, write_manifest
from tersely.score.answerable import Answerability, answer_features, write_answerability
from tersely.score.attention import FEATURE_LIMIT
from tersely.score.calibration import Calibration
from tersely.score.fusion import LinearLayer, sigmoid
from tersely.score.matching import Floats
from tersely.score.selector import Selector
from tersely.score.shift import INSIDE_SHARE, Reference, shift_features
from training.export.fit_fusion import make_inputs
from training.run import show_progress
from training.selector_model.groups import Group, read_groups

FEWEST_CASES = 100
"""Smallest number of requests for a fit."""
FOLDS = 5
PENALTY = 3e-3
"""Strength p of the penalty p/2 * w**2 that is added to the weighted mean loss, on standardised features."""
SHRINKAGE = 0.2
"""Share of the correlation matrix that the identity replaces: some features hardly vary inside a set."""


@dataclass(frozen=True, slots=True)
class Case:
    """A request of a question, with evidence or without."""

    group: Group
    answered: bool
    answer: Floats
    """Features of the layer."""
    shift: Floats
    """Features of the distance."""


def read_cases(selector: Selector, groups: Sequence[Group], seed: int) -> list[Case]:
    """Return the requests of each question. Questions without enough other documents are left out."""
    cases: list[Case] = []
    for group in show_progress("answerable", groups):
        draw = random.Random(f"{seed}:{group.name}")
        pair = draw_documents(group, draw)
        if pair is None:
            continue
        inputs = make_inputs(group)
        for answered, documents in zip((True, False), pair, strict=True):
            first_pass = selector.first_pass(group.question, [inputs[i] for i in documents])
            matches, logits = first_pass.matches, first_pass.logits
            first_logits = selector.first_stage(first_pass).logits
            answer = answer_features(matches, logits, first_pass.near, first_logits)
            cases.append(Case(group, answered, answer, shift_features(matches, logits, first_logits)))
    return cases


def draw_documents(group: Group, draw: random.Random) -> tuple[list[int], list[int]] | None:
    """Return the documents of the request with evidence and of the one without, equally many."""
    evidence = [i for i, document in enumerate(group.documents) if document.gold]
    others = [i for i, document in enumerate(group.documents) if not document.gold]
    if not evidence or len(others) <= len(evidence):
        return None
    draw.shuffle(others)
    size = len(others) if draw.random() < 0.5 else draw.randint(len(evidence) + 1, len(others))
    return sorted([*evidence, *others[: size - len(evidence)]]), sorted(others[:size])


def fit_answerable(cases: Sequence[Case]) -> Answerability:
    """Fit the layer, its calibration and the reference to the requests."""
    probabilities = cross_fit(cases)
    answered = np.array([case.answered for case in cases])
    return Answerability(
        fit_layer(cases),
        _calibrate(cases, probabilities, answered),
        _calibrate(cases, probabilities, ~answered),
        fit_reference(cases),
    )


def cross_fit(cases: Sequence[Case]) -> Floats:
    """Return the probability of each case by a layer that was fitted without its question."""
    folds = _assign_folds(cases)
    rows = np.stack([case.answer for case in cases])
    out = np.zeros(len(cases))
    for k in np.unique(folds):
        layer = fit_layer([case for case, fold in zip(cases, folds, strict=True) if fold != k])
        out[folds == k] = sigmoid(layer(rows[folds == k]))
    return out


def fit_layer(cases: Sequence[Case]) -> LinearLayer:
    """Fit a penalised logistic regression. A question weighs the inverse root of its set's size."""
    rows = np.stack([case.answer for case in cases])
    mean, deviation = rows.mean(0), np.maximum(rows.std(0), 1e-3)
    inputs = np.column_stack(
        [np.clip((rows - mean) / deviation, -FEATURE_LIMIT, FEATURE_LIMIT), np.ones(len(rows))]
    )
    labels = np.array([case.answered for case in cases], dtype=np.float64)
    sizes = Counter(case.group.source for case in cases)
    share = np.array([sizes[case.group.source] ** -0.5 for case in cases])
    share /= share.sum()
    penalty = np.diag([*(PENALTY,) * rows.shape[1], 0.0])
    weights = np.zeros(inputs.shape[1])
    for _ in range(30):  # Newton's method; the penalty keeps it from diverging
        p = sigmoid(inputs @ weights)
        gradient = inputs.T @ (share * (p - labels)) + penalty @ weights
        curvature = (inputs * (share * p * (1 - p))[:, None]).T @ inputs + penalty
        weights -= np.linalg.solve(curvature + 1e-9 * np.eye(len(weights)), gradient)
    return LinearLayer(mean, deviation, weights[:-1], float(weights[-1]))


def fit_reference(cases: Sequence[Case]) -> Reference:
    """Fit the centre of each set and the covariance inside the sets. The bound is cross-fitted."""
    rows = np.stack([case.shift for case in cases])
    source = np.array([case.group.source for case in cases])
    folds = _assign_folds(cases)
    distances = np.zeros(len(rows))
    for k in np.unique(folds):
        in_fold = folds == k
        reference = _fit_centres(rows[~in_fold], source[~in_fold])
        distances[in_fold] = [reference.find_nearest(row)[1] for row in rows[in_fold]]
    return replace(_fit_centres(rows, source), bound=float(np.quantile(distances, INSIDE_SHARE)))


def _fit_centres(rows: Floats, source: NDArray[np.str_]) -> Reference:
    names, source_numbers = np.unique(source, return_inverse=True)
    centres = np.stack([rows[source_numbers == k].mean(0) for k in range(len(names))])
    inner = rows - centres[source_numbers]
    deviation = np.maximum(inner.std(0), 1e-3)
    correlation = (1 - SHRINKAGE) * np.cov((inner / deviation).T) + SHRINKAGE * np.eye(rows.shape[1])
    return Reference(centres, np.linalg.cholesky(np.linalg.inv(correlation)) / deviation[:, None], 1.0)


def _assign_folds(cases: Sequence[Case]) -> NDArray[np.int64]:
    """Return the fold of each case. Requests of one question share a fold."""
    return np.array([zlib.crc32(case.group.id.encode()) % FOLDS for case in cases])


def _calibrate(cases: Sequence[Case], probabilities: Floats, chosen: NDArray[np.bool_]) -> Calibration:
    sources = [case.group.source for case, is_chosen in zip(cases, chosen, strict=True) if is_chosen]
    return Calibration(tuple(probabilities[chosen].tolist()), Counter(sources))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.export.fit_answerable", description=__doc__)
    parser.add_argument("--artifact", type=Path, help="its folder; the bundled model by default")
    parser.add_argument("--run", type=Path, required=True, help="folder with the held-out questions")
    parser.add_argument("--out", type=Path, required=True, help="new folder for the artifact")
    parser.add_argument("--seed", type=int, default=13, help="draws the documents of each request")
    args = parser.parse_args()
    if args.out.exists():
        parser.error(f"{args.out} exists already; name a new folder")
    artifact = load_artifact(args.artifact)
    cases = read_cases(Selector.load(artifact), read_groups(args.run, "heldout"), args.seed)
    if len(cases) < FEWEST_CASES:
        parser.error(f"{args.run} gives {len(cases)} requests; a fit needs {FEWEST_CASES}")
    shutil.copytree(artifact.path, args.out)
    write_answerability(args.out, fit_answerable(cases))
    facts = {key: value for key, value in artifact.manifest.items() if key not in ("format", "files")}
    write_manifest(args.out, **facts)


if __name__ == "__main__":
    main()
