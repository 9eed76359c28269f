"""How well a reader answers from given contexts."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.shared.readers import Prompt, Reader
from benchmarks.shared.tasks import Example
from tersely.metrics import token_f1


def score_answers(
    reader: Reader, examples: Sequence[Example], contexts: Sequence[str]
) -> tuple[float | None, ...]:
    """Token F1 of the answer to each example from its context; None where the reader failed."""
    pairs = list(zip(examples, contexts, strict=True))
    answers = reader.answer([Prompt(example.question, context) for example, context in pairs])
    return tuple(
        None if answer is None else round(token_f1(answer, example.answers), 4)
        for answer, example in zip(answers, examples, strict=True)
    )
