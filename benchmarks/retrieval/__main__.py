"""`python -m benchmarks.retrieval`: the bundled embeddings against MiniLM's own, BM25 and chance.

Of each set some questions are drawn, and the documents of all of them, hard negatives included, are one pool.
A document is right for a question that it supports or whose answer was marked in it. An experience bank of
100,000 entries with such vectors is then timed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.statistics import bootstrap
from benchmarks.results import add_out, describe, environment, publish, table
from benchmarks.retrieval.bank import INDICES, bank_times
from benchmarks.shared.minilm import cached_embeddings, shared_minilm
from benchmarks.shared.ranks import passage_text, ranks
from benchmarks.shared.tasks import Example, load
from tersely.embedding import SentenceEmbedder
from tersely.text.bm25 import BM25

TASKS = {"hotpotqa": "HotpotQA dev", "qed_nq_10": "Natural Questions (QED) dev", "squad": "SQuAD dev"}
MEASURES = {"mrr": "MRR", "first": "first", "ten": "in ten"}
TIMED = 40
"""Questions embedded one by one, in turns, for the times."""

DRAWN = 2000
"""Documents whose vectors the bank's are mixed from."""

Scores = NDArray[np.floating[Any]]
Score = Callable[[Sequence[str], Sequence[str]], Scores]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 0 on success, 1 with one line on standard error for anything the caller can mend."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description=__doc__)
    parser.add_argument("--data", help="data folder; TERSELY_DATA by default")
    parser.add_argument("--model", help="artifact folder (default: the bundled model)")
    parser.add_argument("--limit", type=int, default=120, help="questions of each set")
    parser.add_argument("--seed", type=int, default=13)
    add_out(parser, "retrieval")
    options = parser.parse_args(arguments)
    return publish("retrieval", lambda: run(options), markdown, options.out)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The JSON of a run."""
    embedder = SentenceEmbedder(options.model)
    systems: dict[str, Score] = {
        "tersely": lambda qs, ds: embedder.embed(qs) @ embedder.embed(ds).T,
        "MiniLM": lambda qs, ds: cached_embeddings(qs) @ cached_embeddings(ds).T,
        "BM25": lambda qs, ds: _bm25(qs, ds),
        "random": lambda qs, ds: np.random.default_rng(options.seed).random((len(qs), len(ds))),
    }
    parts: dict[str, Any] = {}
    questions: list[str] = []
    texts: list[str] = []
    for task, title in TASKS.items():
        drawn = load(task, "eval", data=options.data, limit=options.limit, seed=options.seed)
        examples = [e for e in drawn if _gold(e)]
        questions += [e.question for e in examples]
        pool = sorted({passage_text(d) for e in examples for d in e.documents})
        texts += pool
        place = {text: i for i, text in enumerate(pool)}
        right = [{place[passage_text(e.documents[d])] for d in _gold(e)} for e in examples]
        found = {
            name: _measures(score([e.question for e in examples], pool), right)
            for name, score in systems.items()
        }
        parts[task] = {"title": title, "questions": len(examples), "pool": len(pool), "systems": found}
    return {
        "benchmark": "retrieval",
        "model": embedder.name,
        "dimension": embedder.dimension,
        "seed": options.seed,
        "environment": environment(),
        "parts": parts,
        "milliseconds": _times(embedder, questions[:TIMED]),
        "bank": bank_times(embedder.embed(texts[:DRAWN]), embedder.embed(questions), options.seed),
    }


def _gold(example: Example) -> set[int]:
    return {doc for doc, _, _ in example.support or example.answer_spans or ()}


def _bm25(questions: Sequence[str], documents: Sequence[str]) -> Scores:
    index = BM25(documents)
    return np.array([index.scores(q) for q in questions])


def _measures(scores: Scores, right: Sequence[set[int]]) -> dict[str, list[float]]:
    """Per question: one over the rank of the best right document, and whether it is the first, or in the
    first ten."""
    places = ranks(scores, right)
    return {
        "mrr": [round(1 / rank, 4) for rank in places],
        "first": [float(rank == 1) for rank in places],
        "ten": [float(rank <= 10) for rank in places],
    }


def _times(embedder: SentenceEmbedder, texts: Sequence[str]) -> dict[str, float]:
    """Median milliseconds of one question, both models in turns."""
    taken: dict[str, list[float]] = {"tersely": [], "MiniLM": []}
    for text in texts:
        for name, embed in (("tersely", embedder.embed), ("MiniLM", shared_minilm().embed)):
            started = time.perf_counter()
            embed([text])
            taken[name].append(1000 * (time.perf_counter() - started))
    return {name: round(float(np.median(values)), 2) for name, values in taken.items()}


def markdown(result: dict[str, Any]) -> str:
    """The section of RESULTS.md for a run's JSON."""
    header = ["%, with 95 % intervals"]
    rows: dict[str, list[str]] = {}
    for part in result["parts"].values():
        header += [f"{part['title']}: {name}" for name in MEASURES.values()]
        for system, found in part["systems"].items():
            row = rows.setdefault(system, [system])
            row += [_cell(found[measure], result["seed"]) for measure in MEASURES]
    pools = ", ".join(
        f"{p['title']} {p['questions']} questions and {p['pool']:,} documents"
        for p in result["parts"].values()
    )
    times = ", ".join(f"{name} {ms:g} ms" for name, ms in result["milliseconds"].items())
    return "\n\n".join(
        [
            f"Embeddings {result['model']}, {result['dimension']} numbers. {describe(result['environment'])} "
            f"Seed {result['seed']}. {pools}.",
            table(header, list(rows.values())),
            f"One question embedded alone, in turns: {times}.",
            f"An experience bank of {result['bank']['entries']:,} entries, milliseconds of one call, without "
            f"making its two vectors ({result['bank']['bytes'] / 1e6:.0f} MB on disk):",
            _bank(result["bank"]),
        ]
    )


def _bank(found: dict[str, Any]) -> str:
    header = ["", "recall, p50", "p95", "insert with merge, p50", "p95", "opening, s"]
    rows: list[list[str]] = []
    for name in INDICES:
        times = [found[name][call][share] for call in ("recall", "insert") for share in ("p50", "p95")]
        rows.append([name, *(f"{value:g}" for value in (*times, found[name]["open_s"]))])
    return table(header, rows)


def _cell(values: Sequence[float], seed: int) -> str:
    found = bootstrap(np.array(values), np.ones(len(values)), seed)
    return f"{100 * found.value:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


if __name__ == "__main__":
    sys.exit(main())
