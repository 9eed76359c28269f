"""The weights of the n-gram features, fitted to questions whose sentences their words tell apart."""

from __future__ import annotations

from training.export.fit_grams import compute_features, fit_grams
from training.selector_model.groups import Group, GroupDocument

NAMES = ("Alder", "Birchholm", "Cedarvik", "Dunmore", "Elmstead", "Fernley", "Gorseby", "Hazelton")


def make_group(number: int) -> Group:
    """Who built the bridge of a town; the first sentence of one of two documents says it."""
    town, other = NAMES[number % 8], NAMES[(number + 3) % 8]
    documents: list[GroupDocument] = []
    for name in (town, other):
        text = f"The bridge of {name} was built by mason {number}. It is grey."
        end = text.index("It")
        labels = [int(name == town), 0]
        documents.append(GroupDocument(None, text, [(0, end), (end, len(text))], labels, labels[0]))
    return Group(str(number), "squad_train44", f"Who built the bridge of {town}?", ["mason"], documents)


def test_the_fitted_weights_find_the_sentences_and_the_threshold_keeps_them() -> None:
    groups = [make_group(number) for number in range(40)]
    weights, bias = fit_grams(groups)
    for group in groups:
        logits = compute_features(group) @ weights + bias
        assert logits.argmax() == 0
        assert logits[0] >= 0  # as much as the logit of any threshold, once that is added to both
