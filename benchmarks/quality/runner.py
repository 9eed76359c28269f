"""Run every system over every question of a task, at every rate, and keep what it kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import floor

import numpy as np

from benchmarks.quality.controls import Scorer
from benchmarks.quality.slim import measure, slim_keep
from benchmarks.quality.statistics import Floats
from benchmarks.shared.tasks import Example, KeptSpan, score_kept
from tersely.compressor import Compressor
from tersely.selector import DocumentScores, ScoredInput
from tersely.types import Compression, Document

RATES = (0.05, 0.1, 0.25, 0.5)
OWN = "own"
"""The setting without a limit: tersely's own threshold, and as many tokens for each control."""

SLIM = "llmslim"
OURS = "tersely"


class Remembering:
    """A scorer that keeps its last answers, so that one forward pass serves every rate of a question."""

    def __init__(self, scorer: Scorer) -> None:
        self.threshold = scorer.threshold
        self.length_price = scorer.length_price
        self.calibration = getattr(scorer, "calibration", None)

        self._scorer = scorer
        self._query: str | None = None
        self._known: dict[tuple[tuple[str, tuple[int, ...]], ...], list[DocumentScores]] = {}

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        if query != self._query:
            self._query = query
            self._known = {}
        key = tuple((d.text, tuple(unit.end for unit in d.units)) for d in documents)
        if key not in self._known:
            self._known[key] = self._scorer.score(query, documents)
        return self._known[key]


@dataclass(slots=True)
class Cell:
    """One system at one setting: a row per question."""

    answers: list[float] = field(default_factory=list[float])
    """1 or 0; nan where the question has no answer to keep."""
    support: list[float] = field(default_factory=list[float])
    """Number of supporting spans kept."""
    supports: list[int] = field(default_factory=list[int])
    """Number of supporting spans."""
    before: list[int] = field(default_factory=list[int])
    after: list[int] = field(default_factory=list[int])
    """Tokens given and tokens kept."""

    def add(self, example: Example, kept: Sequence[KeptSpan], before: int, after: int) -> None:
        score = score_kept(example, kept)
        self.answers.append(float("nan") if score.answer_kept is None else float(score.answer_kept))
        self.support.append((score.support_kept or 0.0) * score.supports)
        self.supports.append(score.supports)
        self.before.append(before)
        self.after.append(after)

    def answered(self) -> Floats:
        """Answers kept of the questions that have one, shape (answerable,)."""
        answers = np.array(self.answers)
        return answers[~np.isnan(answers)]


Cells = dict[str, dict[str, Cell]]
"""System to setting to cell."""


def run_task(
    examples: Sequence[Example],
    ours: Scorer,
    controls: dict[str, Scorer],
    *,
    slim: bool,
    advance: Callable[[], None],
) -> Cells:
    """Cells of `ours`, of each control, and of LLMSlim if `slim`, for `RATES` and `OWN`, over the same
    questions."""
    systems = {OURS: Compressor(Remembering(ours))}
    systems |= {name: Compressor(Remembering(scorer)) for name, scorer in controls.items()}
    names = [*systems, *([SLIM] if slim else [])]
    cells: Cells = {name: {setting: Cell() for setting in settings()} for name in names}
    for example in examples:
        documents = [Document(d.text, d.title) for d in example.documents]
        before = 0
        limits: dict[str, int] = {}
        for name, compressor in systems.items():
            for setting, result in _compress(compressor, example.question, documents, limits.get(OWN)):
                if result.status == "failed_open":
                    raise RuntimeError(f"{name} failed on {example.id}: {result.reason}")
                kept = [(span.doc, span.start, span.end) for span in result.kept]
                cells[name][setting].add(example, kept, result.tokens_before, result.tokens_after)
                before = result.tokens_before
                if name == OURS:
                    limits[setting] = (
                        result.tokens_after if setting == OWN else floor(before * float(setting) + 1e-9)
                    )
        if slim:
            _run_slim(example, limits, before, systems[OURS], cells[SLIM])
        advance()
    return cells


def _run_slim(
    example: Example, limits: dict[str, int], before: int, compressor: Compressor, cells: dict[str, Cell]
) -> None:
    count = compressor.token_counter.count
    for setting, limit in limits.items():
        kept = slim_keep(example, limit, count)
        cells[setting].add(example, kept, before, measure(example, kept, count))


def settings() -> list[str]:
    """The rates as JSON keys, then `OWN`."""
    return [*map(str, RATES), OWN]


def _compress(
    compressor: Compressor, question: str, documents: Sequence[Document], own: int | None
) -> Iterator[tuple[str, Compression]]:
    """The question at every setting; `own` is the budget of the last one, None for the model's threshold."""
    for rate in RATES:
        yield str(rate), compressor.compress(question, documents, rate=rate)
    if own is None:
        yield OWN, compressor.compress(question, documents)
    else:
        # A budget cannot be zero: where tersely keeps nothing, one token keeps nothing either.
        yield OWN, compressor.compress(question, documents, budget=max(1, own))
