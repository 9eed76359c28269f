"""Make the contexts that a reader gets: the text that each system keeps for each question, at each size."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from math import floor
from pathlib import Path

from benchmarks.quality.controls import CHARACTERS, OURS, CachedScorer, make_controls
from benchmarks.quality.runner import list_spans
from benchmarks.quality.slim import SLIM, compress_to
from benchmarks.reading.meetings import load_meetings
from benchmarks.real_results.questions import load as load_results
from benchmarks.shared.statistics import Floats
from benchmarks.shared.tasks import TASKS, Example, KeptSpan
from benchmarks.tool_results.methods import MASKING, make_methods
from tersely import Compressor, Document
from tersely.metrics import normalize_answer
from tersely.score import DocumentScores, ScoredInput, Scorer

ALL = "all documents"
RATES = (0.05, 0.1, 0.25, 0.5)
RECALL = 0.95
BUDGETS = (300, 1_000)
"""Largest number of tokens of a tool result."""
TOOLS = "real_results"
MEETINGS = "meetings"
PACKAGES = "packages"
MOST_WORDS = 5
"""Largest number of words of an answer about packages. The prompt asks for one to five, and many answers are
longer."""
SETS = ("hotpotqa", "qed_nq_30", "squad", PACKAGES, MEETINGS, TOOLS)
BEFORE = "tersely, with the sentence before"
"""System that keeps the sentence before each sentence that opens with a pronoun, to test if this helps a
reader."""


class PairScorer:
    """A scorer that gives a unit nearly the score of the next one, so that both are kept."""

    def __init__(self, scorer: Scorer) -> None:
        self.threshold = scorer.threshold
        self.length_price = scorer.length_price
        self._scorer = scorer

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        scored = self._scorer.score(query, documents)
        return [
            replace(
                own,
                scores=_raise_to_next(own.scores),
                packing_scores=_raise_to_next(
                    own.scores if own.packing_scores is None else own.packing_scores
                ),
            )
            for own in scored
        ]


def _raise_to_next(values: Sequence[float] | Floats) -> list[float]:
    return [max(own, 0.999 * after) for own, after in zip_longest(values, values[1:], fillvalue=0.0)]


Key = tuple[str, str, str, str]
"""Set, question, system and size."""


@dataclass(frozen=True, slots=True)
class Context:
    """A question, and the text that a system keeps of its documents."""

    set: str
    id: str
    system: str
    size: str
    """A rate, "recall 0.95", a number of tokens, or "all"."""
    question: str
    answers: tuple[str, ...]
    text: str
    tokens: int
    before: int
    """Number of tokens of all documents."""
    kept: tuple[KeptSpan, ...] | None = None
    """The kept parts as (document, start, end); None for a text that is not located in its documents."""

    @property
    def key(self) -> Key:
        """The values that identify the context."""
        return self.set, self.id, self.system, self.size


@dataclass(frozen=True, slots=True)
class Work:
    """The questions of a set: their ids, and a function that makes the contexts of one."""

    ids: tuple[str, ...]
    make: Callable[[int], Iterator[Context]]


def open_set(name: str, scorer: Scorer, *, data: str | None, limit: int, seed: int) -> Work:
    """Return the work of a set. `scorer` is tersely's model."""
    if name == TOOLS:
        return _open_results(Compressor(scorer), limit, seed)
    if name == MEETINGS:
        examples = load_meetings(data, limit)
    elif name == PACKAGES:
        examples = TASKS[name].load("eval", data=data, limit=None, seed=seed)
        examples = [e for e in examples if min(len(a.split()) for a in e.answers) <= MOST_WORDS][:limit]
    else:
        examples = TASKS[name].load("eval", data=data, limit=limit, seed=seed)
        examples = [e for e in examples if any(map(normalize_answer, e.answers))]
    ours = CachedScorer(scorer)
    scorers = {OURS: ours, BEFORE: PairScorer(ours), **make_controls(ours, seed, CHARACTERS)}
    systems = {name: Compressor(CachedScorer(own)) for name, own in scorers.items()}

    def make(at: int) -> Iterator[Context]:
        return _compress_example(name, examples[at], systems)

    return Work(tuple(e.id for e in examples), make)


def _compress_example(name: str, example: Example, systems: Mapping[str, Compressor]) -> Iterator[Context]:
    documents = example.to_documents()
    ours = systems[OURS]
    count = ours.count_tokens
    whole = example.full_text
    before = count(whole)
    give = partial(Context, name, example.id, question=example.question, answers=example.answers)
    for system, compressor in systems.items():
        for rate in RATES:
            result = compressor.compress(example.question, documents, rate=rate)
            kept = tuple(list_spans(result))
            yield give(
                system, str(rate), text=result.text, tokens=result.tokens_after, before=before, kept=kept
            )
    for rate in RATES:
        kept = compress_to(example, floor(before * rate + 1e-9), count)
        text = render_spans(documents, kept)
        yield give(SLIM, str(rate), text=text, tokens=count(text), before=before, kept=tuple(kept))
    result = ours.compress(example.question, documents, recall=RECALL)
    kept = tuple(list_spans(result))
    size = f"recall {RECALL}"
    yield give(OURS, size, text=result.text, tokens=result.tokens_after, before=before, kept=kept)
    yield give(ALL, "all", text=whole, tokens=before, before=before)


def render_spans(documents: Sequence[Document], kept: Sequence[KeptSpan]) -> str:
    """Return kept parts as a text: a document's title, and its parts each on a line."""
    parts: list[str] = []
    for at, document in enumerate(documents):
        own = [document.text[start:end].strip() for doc, start, end in sorted(kept) if doc == at]
        if own:
            parts.append("\n".join([document.title, *own] if document.title else own))
    return "\n\n".join(parts)


def _open_results(compressor: Compressor, limit: int, seed: int) -> Work:
    questions = load_results("evaluation", Path(sys.executable), limit, seed).questions
    methods = {name: method for name, method in make_methods(compressor).items() if name != MASKING}
    count = compressor.count_tokens

    def make(at: int) -> Iterator[Context]:
        question = questions[at]
        before = count(question.text)
        give = partial(Context, TOOLS, question.id, question=question.question, answers=question.answers)
        for name, shorten in methods.items():
            for budget in BUDGETS:
                text = shorten(question.text, question.question, budget)
                yield give(name, f"{budget} tokens", text=text, tokens=count(text), before=before)
        yield give(ALL, "all", text=question.text, tokens=before, before=before)

    return Work(tuple(q.id for q in questions), make)
