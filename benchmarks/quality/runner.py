"""Run every system over every question of a task, at every setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import floor

from benchmarks.quality.controls import OURS, CachedScorer
from benchmarks.quality.rows import OWN, RATES, SETTINGS, QuestionRows, score_question
from benchmarks.quality.slim import PACKAGE as SLIM
from benchmarks.quality.slim import compress_to, count_rendered
from benchmarks.shared.tasks import Example
from tersely.compressor import Compressor
from tersely.score import Scorer
from tersely.types import Compression, Document


def run_task(
    examples: Sequence[Example],
    ours: Scorer,
    controls: dict[str, Scorer],
    *,
    slim: bool,
    advance: Callable[[], None],
) -> QuestionRows:
    """Rows of `ours`, of each control, and of LLMSlim if `slim`, over the same questions.

    `advance` is called after each question.
    """
    systems = {OURS: Compressor(CachedScorer(ours))}
    systems |= {name: Compressor(CachedScorer(scorer)) for name, scorer in controls.items()}
    names = [*systems, *([SLIM] if slim else [])]
    rows: QuestionRows = {(name, setting): [] for name in names for setting in SETTINGS}
    for example in examples:
        documents = example.to_documents()
        before = 0
        limits: dict[str, int] = {}
        for name, compressor in systems.items():
            for setting, result in _compress(compressor, example.question, documents, limits.get(OWN)):
                if result.status == "failed_open":
                    raise RuntimeError(f"{name} failed on {example.id}: {result.reason}")
                kept = [(span.doc, span.start, span.end) for span in result.kept]
                before = result.tokens_before
                rows[name, setting].append(score_question(example, kept, before, result.tokens_after))
                if name == OURS:
                    limits[setting] = (
                        result.tokens_after if setting == OWN else floor(before * float(setting) + 1e-9)
                    )
        if slim:
            count = systems[OURS].token_counter.count
            for setting, limit in limits.items():
                kept = compress_to(example, limit, count)
                after = count_rendered(example, kept, count)
                rows[SLIM, setting].append(score_question(example, kept, before, after))
        advance()
    return rows


def _compress(
    compressor: Compressor, question: str, documents: Sequence[Document], own: int | None
) -> Iterator[tuple[str, Compression]]:
    """The question at every setting; `own` is the budget of the last one, None for the model's threshold."""
    for rate in RATES:
        yield str(rate), compressor.compress(question, documents, rate=rate)
    if own is None:
        yield OWN, compressor.compress(question, documents)
    else:
        # A budget cannot be zero. Where tersely keeps nothing, one token keeps nothing either.
        yield OWN, compressor.compress(question, documents, budget=max(1, own))
