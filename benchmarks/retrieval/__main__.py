"""`python -m benchmarks.retrieval`: the bundled embeddings against MiniLM's own, BM25 and chance.

Some questions of each set are drawn; the documents of all of them, with their hard negatives, are one pool.
A gold document of a question supports it or holds an answer that the annotators marked. Then an experience
bank of 100,000 entries with such vectors is timed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.arguments import add_data, add_model, add_out, add_seed, make_parser
from benchmarks.results import publish
from benchmarks.retrieval.bank import time_bank
from benchmarks.retrieval.report import render
from benchmarks.retrieval.rows import RetrievalRow, RetrievalRun, RetrievalTask
from benchmarks.shared.environment import read_environment
from benchmarks.shared.minilm import embed_cached, load_minilm
from benchmarks.shared.passages import find_ranks, join_title
from benchmarks.shared.tasks import Example, load
from tersely.embedding import SentenceEmbedder
from tersely.score.bm25 import BM25

TASKS = {"hotpotqa": "HotpotQA dev", "qed_nq_10": "Natural Questions (QED) dev", "squad": "SQuAD dev"}
TIMED = 40
"""Questions that both models embed one by one, in turns, for the times."""
DRAWN = 2000
"""Documents whose vectors those of the bank are mixed from."""

Scores = NDArray[np.floating[Any]]
Score = Callable[[Sequence[str], Sequence[str]], Scores]
"""From questions and documents to scores of shape (questions, documents)."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    data: str | None
    model: str | None
    limit: int
    seed: int
    out: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.retrieval", __doc__)
    add_data(parser)
    add_model(parser)
    parser.add_argument("--limit", type=int, default=120, help="questions of each set")
    add_seed(parser)
    add_out(parser, "retrieval")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("retrieval", lambda: measure(options), render, options.out)


def measure(options: Options) -> RetrievalRun:
    """Rank the pool of every task with every system, then take the times."""
    embedder = SentenceEmbedder(options.model)
    systems: dict[str, Score] = {
        "tersely": lambda qs, ds: embedder.embed(qs) @ embedder.embed(ds).T,
        "MiniLM": lambda qs, ds: embed_cached(qs) @ embed_cached(ds).T,
        "BM25": _score_bm25,
        "random": lambda qs, ds: np.random.default_rng(options.seed).random((len(qs), len(ds))),
    }
    tasks: list[RetrievalTask] = []
    questions: list[str] = []
    texts: list[str] = []
    for name, title in TASKS.items():
        drawn = load(name, "eval", data=options.data, limit=options.limit, seed=options.seed)
        examples = [e for e in drawn if _find_gold(e)]
        own = [e.question for e in examples]
        pool = sorted({join_title(d.title, d.text) for e in examples for d in e.documents})
        place = {text: i for i, text in enumerate(pool)}
        gold = [_place_gold(example, place) for example in examples]
        rows = (measure_ranks(system, score(own, pool), gold) for system, score in systems.items())
        tasks.append(RetrievalTask(name, title, len(examples), len(pool), tuple(rows)))
        questions += own
        texts += pool
    return RetrievalRun(
        benchmark="retrieval",
        model=embedder.name,
        dimension=embedder.dimension,
        seed=options.seed,
        environment=read_environment(),
        tasks=tuple(tasks),
        milliseconds=_time_embedding(embedder, questions[:TIMED]),
        bank=time_bank(embedder.embed(texts[:DRAWN]), embedder.embed(questions), options.seed),
    )


def _find_gold(example: Example) -> set[int]:
    return {doc for doc, _, _ in example.support or example.answer_spans or ()}


def _place_gold(example: Example, place: dict[str, int]) -> set[int]:
    """The gold documents of an example, as positions in the pool."""
    documents = (example.documents[doc] for doc in _find_gold(example))
    return {place[join_title(d.title, d.text)] for d in documents}


def _score_bm25(questions: Sequence[str], documents: Sequence[str]) -> Scores:
    index = BM25(documents)
    return np.array([index.scores(q) for q in questions])


def measure_ranks(system: str, scores: Scores, gold: Sequence[set[int]]) -> RetrievalRow:
    """The row of a system from its scores (questions, documents)."""
    ranks = find_ranks(scores, gold)
    return RetrievalRow(
        system,
        mrr=tuple(round(1 / rank, 4) for rank in ranks),
        first=tuple(float(rank == 1) for rank in ranks),
        ten=tuple(float(rank <= 10) for rank in ranks),
    )


def _time_embedding(embedder: SentenceEmbedder, texts: Sequence[str]) -> dict[str, float]:
    """Median milliseconds of one question, both models in turns."""
    seconds: dict[str, list[float]] = {"tersely": [], "MiniLM": []}
    for text in texts:
        for name, embed in (("tersely", embedder.embed), ("MiniLM", load_minilm().embed)):
            started = time.perf_counter()
            embed([text])
            seconds[name].append(time.perf_counter() - started)
    return {name: round(1000 * float(np.median(values)), 2) for name, values in seconds.items()}


if __name__ == "__main__":
    sys.exit(main())
