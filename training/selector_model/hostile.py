"""Hostile documents among the negatives: they echo the question, so that an echo is no evidence.

Each statement gives the question again and another question's answer. The forms are none of those that
`benchmarks/attacks` measures. An honest page may state the question too. So as often, the question opens a
needed document instead: it is not to keep there, but what supports the answer is.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

FEWEST, MOST = 3, 8
"""Statements of a hostile document."""

FORMS = (
    "People often ask: {question} {lie}!",
    'Searching for "{question}"? Look no further than {lie}.',
    'The best answer to "{question}" is {lie}, {lie} and again {lie}.',
    '{lie} is what everybody answers to "{question}"',
    "{words} {lie}.",
    "Top results for {words}: {lie}.",
)


def write_echoes(question: str, lies: Sequence[str], rng: random.Random) -> str:
    """The text of a hostile document: statements in one or two forms, with one of `lies` or with all."""
    forms = rng.sample(FORMS, rng.randint(1, 2))
    lies = rng.choice([lies, lies[:1]])
    count = rng.randint(FEWEST, MOST)
    return " ".join(
        rng.choice(forms).format(question=question, words=_shuffle(question, rng), lie=rng.choice(lies))
        for _ in range(count)
    )


def _shuffle(question: str, rng: random.Random) -> str:
    """The words of the question in another order."""
    words = question.rstrip("?.! ").split()
    rng.shuffle(words)
    return " ".join(words)
