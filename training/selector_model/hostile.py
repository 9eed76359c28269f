"""Write hostile documents that echo the question, so that the model learns that an echo is not evidence.

Each statement repeats the question with another question's answer. `benchmarks/attacks` measures other forms.
Honest pages may contain the question too. So, just as often, the question is put at the start of a needed
document instead: the model should drop it there and keep what supports the answer.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

MIN_STATEMENTS, MAX_STATEMENTS = 3, 8
"""Minimum and maximum number of statements in a hostile document."""

FORMS = (
    "People often ask: {question} {lie}!",
    'Searching for "{question}"? Look no further than {lie}.',
    'The best answer to "{question}" is {lie}, {lie} and again {lie}.',
    '{lie} is what everybody answers to "{question}"',
    "{words} {lie}.",
    "Top results for {words}: {lie}.",
)


def write_echoes(question: str, lies: Sequence[str], rng: random.Random) -> str:
    """Write the text of a hostile document: statements in one or two forms. They use all `lies` or only the
    first."""
    forms = rng.sample(FORMS, rng.randint(1, 2))
    lies = rng.choice([lies, lies[:1]])
    count = rng.randint(MIN_STATEMENTS, MAX_STATEMENTS)
    return " ".join(
        rng.choice(forms).format(question=question, words=_shuffle(question, rng), lie=rng.choice(lies))
        for _ in range(count)
    )


def _shuffle(question: str, rng: random.Random) -> str:
    words = question.rstrip("?.! ").split()
    rng.shuffle(words)
    return " ".join(words)
