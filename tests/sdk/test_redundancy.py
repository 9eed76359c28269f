"""Repeated sentences of other documents: what counts as one, and what a compression does with it."""

from __future__ import annotations

import pytest

from tersely import Compressor, Document
from tersely.selector.packing import Item
from tersely.selector.redundancy import significant, without_repetitions
from tests.sdk.checks import check_all
from tests.sdk.fakes import FakeScorer

SENTENCE = "The harbour was dug in 1871 by Ada Norton."


@pytest.mark.parametrize(
    "copy",
    [
        "the HARBOUR was dug in 1871, by Ada Norton",
        "Harbour was dug in\n1871 by  Ada Norton!",
        "“The harbour was dug in 1871 by Ada Norton.”",
        "The harbour was dug in １８７１ by Ada Norton.",
    ],
)
def test_copies(copy: str) -> None:
    assert significant(copy) == significant(SENTENCE)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (SENTENCE, "The harbour was not dug in 1871 by Ada Norton."),
        (SENTENCE, "The harbour was dug in 1872 by Ada Norton."),
        (SENTENCE, "The harbour was dug in 1871 by Ida Norton."),
        (SENTENCE, "The harbour was dug by 1871 in Ada Norton."),
        ("It fell by -5 degrees in May.", "It fell by 5 degrees in May."),
        ("It costs $5 on every day.", "It costs €5 on every day."),
        ("It rose to 1.5 metres then.", "It rose to 15 metres then."),
        ("It rose by 5% in that year.", "It rose by 5 in that year."),
        ("They can leave before it rains.", "They can't leave before it rains."),
    ],
)
def test_no_copies(left: str, right: str) -> None:
    assert significant(left) != significant(right)


def test_the_best_copy_stays() -> None:
    texts = {
        (0, 0): SENTENCE,
        (1, 0): SENTENCE.upper(),
        (1, 1): SENTENCE,
        (2, 0): "Yes, it is.",
        (3, 0): "Yes, it is.",
    }
    ranked = [
        Item(doc, unit, 1.0 - 0.1 * i, 5)
        for i, (doc, unit) in enumerate([(1, 0), (0, 0), (1, 1), (2, 0), (3, 0)])
    ]
    kept, repeated = without_repetitions(ranked, lambda item: texts[item.doc, item.unit])
    assert repeated == {(0, 0)}
    assert [(i.doc, i.unit) for i in kept] == [(1, 0), (1, 1), (2, 0), (3, 0)]


DOCS = [
    Document(f"{SENTENCE} Its crane still works.", title="Harbour"),
    Document(f"Bread is baked daily. {SENTENCE}", title="Town"),
    Document(f"```\n{SENTENCE}\n```"),
]


@pytest.mark.parametrize("budget", [30, None])
def test_a_budget_pays_for_one_of_them(budget: int | None) -> None:
    compressor = Compressor(FakeScorer(), token_counter=lambda text: len(text.split()))
    result = compressor.compress("Who dug the harbour in 1871?", DOCS, budget=budget)
    (dropped,) = [s for s in result.dropped if s.reason == "duplicate"]
    assert (dropped.doc, DOCS[1].text[dropped.start : dropped.end]) == (1, SENTENCE)
    assert result.text.count(SENTENCE) == 2  # once as a sentence, once in the code block, which is left alone
    check_all(result, DOCS, compressor.token_counter.count, budget=budget)
