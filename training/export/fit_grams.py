"""`python -m training.export.fit_grams --run RUN`: fit the weights of `tersely.score.grams`.

Fits a linear layer to the n-gram features of a run's held-out single-hop questions, and prints it with the
sentences that it keeps. The features do not depend on the language, so English questions can teach the layer
for other scripts.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
import torch

from tersely.score.grams import GRAM_FEATURES, gram_features
from tersely.score.matching import Floats
from training.export.fit_fusion import Case, choose_threshold, cross_fit, fit_first, split_by_document
from training.run import show_progress
from training.selector_model.groups import SINGLE_HOP, Group, read_groups
from training.selector_model.scores import summarise

RECALL = 0.95


def fit_grams(groups: list[Group]) -> tuple[Floats, float]:
    """Return weights (features,) and a bias. With the logit of a model's threshold added to the bias, the
    threshold keeps RECALL of the labelled sentences."""
    torch.set_num_threads(1)
    features = [compute_features(group) for group in show_progress("features", groups, unit="q")]
    cases = [Case.make(group) for group in groups]
    layers = cross_fit(cases, lambda part: fit_first([features[i] for i in part], [cases[i] for i in part]))
    scored = [
        split_by_document(case, layer(own)) for case, layer, own in zip(cases, layers, features, strict=True)
    ]
    print(summarise(scored))
    layer = fit_first(features, cases)
    weights = layer.weights / layer.deviation
    reached = choose_threshold(scored, RECALL)
    bias = layer.bias - float(layer.mean @ weights) - math.log(reached / (1.0 - reached))
    return weights, bias


def compute_features(group: Group) -> Floats:
    counts = [len(d.units) for d in group.documents]
    texts = [d.text[a:b] for d in group.documents for a, b in d.units]
    titles = [d.title or "" for d in group.documents]
    return gram_features(group.question, titles, texts, np.repeat(np.arange(len(counts)), counts))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.export.fit_grams", description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="folder of a prepared run")
    args = parser.parse_args()
    groups = [g for g in read_groups(args.run, "heldout") if g.source in SINGLE_HOP]
    weights, bias = fit_grams(groups)
    for name, weight in zip(GRAM_FEATURES, weights.tolist(), strict=True):
        print(f"{name:20} {weight:.3f}")
    print(f"{'bias':20} {bias:.3f}")


if __name__ == "__main__":
    main()
