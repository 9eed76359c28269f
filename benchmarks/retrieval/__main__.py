"""`python -m benchmarks.retrieval --data DIR`: the bundled embeddings against MiniLM's, BM25 and chance.

Some questions of each set are drawn; the documents of all of them, with their hard negatives, are one pool.
A gold document of a question supports it or holds an answer that the annotators marked. Then an experience
bank of 100,000 entries with such vectors is timed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.command import Measured, Options, make_parser, run
from benchmarks.retrieval.bank import BANK, time_bank
from benchmarks.rows import Line, Lines, group_lines
from benchmarks.shared.minilm import embed_cached, load_minilm
from benchmarks.shared.passages import find_ranks, join_title
from benchmarks.shared.tasks import Example, load
from benchmarks.table import Column, Row, Table
from tersely.embedding import SentenceEmbedder
from tersely.score.bm25 import BM25

TASKS = {"hotpotqa": "HotpotQA dev", "qed_nq_10": "Natural Questions (QED) dev", "squad": "SQuAD dev"}
TIMED = 40
"""Number of questions that both models embed one by one, in turns, for the times."""
DRAWN = 2000
"""Number of documents that the vectors of the bank are mixed from."""
RANKS = (
    Column("system"),
    Column("set"),
    Column("MRR", "%", interval="bootstrap"),
    Column("first", "%", interval="bootstrap"),
    Column("in ten", "%", interval="bootstrap"),
)
"""The values of all questions: one over the rank of the best gold document, and whether it is among the
first."""
TIMES = (Column("system"), Column("p50", "ms", format=".2f"))
"""The time to embed a question."""

Scores = NDArray[np.floating[Any]]
Score = Callable[[Sequence[str], Sequence[str]], Scores]
"""A function that returns scores of shape (questions, documents) for questions and documents."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.retrieval", __doc__, "data", "model", limit=120)
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Rank the pool of every task with every system, then take the times."""
    embedder = SentenceEmbedder(options.model)
    systems: dict[str, Score] = {
        "tersely": lambda qs, ds: embedder.embed(qs) @ embedder.embed(ds).T,
        "MiniLM": lambda qs, ds: embed_cached(qs) @ embed_cached(ds).T,
        "BM25": _score_bm25,
        "random": lambda qs, ds: np.random.default_rng(options.seed).random((len(qs), len(ds))),
    }
    lines: list[Line] = []
    questions: list[str] = []
    texts: list[str] = []
    for name, title in TASKS.items():
        drawn = load(name, "eval", data=options.data, limit=options.limit, seed=options.seed)
        examples = [e for e in drawn if _find_gold(e)]
        asked = [e.question for e in examples]
        pool = sorted({join_title(d.title, d.text) for e in examples for d in e.documents})
        place = {text: i for i, text in enumerate(pool)}
        gold = [_place_gold(example, place) for example in examples]
        heading = f"{title}, {len(pool):,} documents"
        ranks = {system: find_ranks(score(asked, pool), gold) for system, score in systems.items()}
        lines += (
            {"set": heading, "id": example.id, "ranks": {system: own[at] for system, own in ranks.items()}}
            for at, example in enumerate(examples)
        )
        questions += asked
        texts += pool
    bank = time_bank(embedder.embed(texts[:DRAWN]), embedder.embed(questions), options.seed)
    times = _time_embedding(embedder, questions[:TIMED])
    tables = [
        *make_tables(lines),
        Table("Time of a question", TIMES, times, printed=False),
        Table("A full experience bank", BANK, (bank,)),
    ]
    return Measured(tables, embedder.name, {"dimension": embedder.dimension}, lines)


def _find_gold(example: Example) -> set[int]:
    return {doc for doc, _, _ in example.support or example.answer_spans or ()}


def _place_gold(example: Example, place: dict[str, int]) -> set[int]:
    """Return the places of an example's gold documents in the pool."""
    documents = (example.documents[doc] for doc in _find_gold(example))
    return {place[join_title(d.title, d.text)] for d in documents}


def _score_bm25(questions: Sequence[str], documents: Sequence[str]) -> Scores:
    index = BM25(documents)
    return np.array([index.scores(q) for q in questions])


def _time_embedding(embedder: SentenceEmbedder, texts: Sequence[str]) -> tuple[Row, ...]:
    """Return the median milliseconds of one question by model, both models in turns."""
    seconds: dict[str, list[float]] = {"tersely": [], "MiniLM": []}
    for text in texts:
        for name, embed in (("tersely", embedder.embed), ("MiniLM", load_minilm().embed)):
            started = time.perf_counter()
            embed([text])
            seconds[name].append(time.perf_counter() - started)
    return tuple(
        {"system": name, "p50": round(1000 * float(np.median(values)), 2)} for name, values in seconds.items()
    )


def make_tables(lines: Lines) -> list[Table]:
    """Return the table of the ranks, from a line for each question."""
    sets = group_lines(lines, "set")
    rows: list[Row] = []
    for name, own in sets.items():
        for system in own[0]["ranks"]:
            ranks = [line["ranks"][system] for line in own]
            rows.append(
                {
                    "system": system,
                    "set": name,
                    "MRR": tuple(round(1 / rank, 4) for rank in ranks),
                    "first": tuple(float(rank == 1) for rank in ranks),
                    "in ten": tuple(float(rank <= 10) for rank in ranks),
                }
            )
    return [Table("Ranks", RANKS, tuple(rows), across="set")]


if __name__ == "__main__":
    sys.exit(main())
