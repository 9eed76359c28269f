"""Weights of the n-gram features, fitted to questions that words alone can answer."""

from __future__ import annotations

from tests.training.tiny import make_document
from training.export.fit_grams import compute_features, fit_grams
from training.selector_model.groups import Group

NAMES = ("Alder", "Birchholm", "Cedarvik", "Dunmore", "Elmstead", "Fernley", "Gorseby", "Hazelton")


def make_group(number: int) -> Group:
    """Ask who built the bridge of a town. The first sentence of one of two documents says it."""
    town, other = NAMES[number % 8], NAMES[(number + 3) % 8]
    documents = [
        make_document(None, [f"The bridge of {name} was built by mason {number}.", "It is grey."], [gold, 0])
        for name, gold in ((town, 1), (other, 0))
    ]
    return Group(str(number), "squad_train44", f"Who built the bridge of {town}?", ["mason"], documents)


def test_fitted_weights_find_the_sentences() -> None:
    groups = [make_group(number) for number in range(40)]
    weights, bias = fit_grams(groups)
    for group in groups:
        logits = compute_features(group) @ weights + bias
        assert logits.argmax() == 0
        assert logits[0] >= 0  # as much as the logit of any threshold, once that is added to both
