"""`python -m benchmarks.quality.abstention --data DIR`: which questions do documents not answer?

Each question is asked twice with equally many documents: once with its evidence, and once with other
documents instead. A threshold on a score refuses questions. The curve says how many of those without an
answer it refuses if it loses some with one. The scores are the calibrated probability, the score of the best
sentence, BM25 and MiniLM's cosine. The second table says what `abstain=` and `recall=` keep of each set, and
how many requests are said to be like those of the calibration.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.command import Measured, Options, make_parser, run, track
from benchmarks.quality.controls import MINILM, OURS
from benchmarks.quality.runner import list_spans
from benchmarks.rows import Line, Lines
from benchmarks.shared.environment import name_model
from benchmarks.shared.minilm import embed_cached
from benchmarks.shared.passages import join_title
from benchmarks.shared.statistics import Floats
from benchmarks.shared.tasks import TASKS, Example, Score, load, score_kept
from benchmarks.table import Column, Row, Table
from tersely import Compressor, Document
from tersely.runtime.artifacts import load_artifact
from tersely.score.bm25 import BM25
from tersely.split.sentences import split_units

LOSSES = (0.02, 0.05, 0.1, 0.2)
"""Shares of the questions with an answer that a threshold loses."""
PRINTED = 0.05
"""The loss that RESULTS.md shows."""
PROMISED = 0.9
FEWEST = 20
"""Smallest number of questions of a domain."""
MORE = 3
"""Factor of the number of questions of the set that is split into domains."""
OTHER_DOMAIN = "JavaScript packages"
DOMAINS = {
    "Python and its libraries": "python3.11-doc numpy pytest attrs click packaging setuptools jinja2",
    "Web frameworks": "django flask requests httpx urllib3 fastify express koa",
    "Databases": "sqlite3-doc sqlalchemy knex",
    "Web servers and Node.js": "apache2-doc nodejs-doc",
    "Debian's manuals, licences": "base-files debian-faq debian-policy debian-reference-en "
    "developers-reference",
    "Source code, Rust": "libpython3.11-minimal libpython3.11-stdlib rust-doc",
}
"""Packages of each domain of the package questions; all others belong to `OTHER_DOMAIN`."""
BEST = "best sentence"
WORDS = "BM25"
SETS = ("qed_nq_10", "squad", "hotpotqa", "wikiqa", "packages", "xquad_en", "xquad_de")


@dataclass(frozen=True, slots=True)
class Pair:
    """A question, its documents with evidence, and as many without."""

    example: Example
    answered: list[Document]
    unanswered: list[Document]


@dataclass(frozen=True, slots=True)
class Scores:
    """The verdicts of a system on the pairs of a set."""

    answered: Floats
    unanswered: Floats

    def area(self) -> float:
        """Return the probability that an answered question scores higher than one without an answer."""
        higher = (self.answered[:, None] > self.unanswered).mean()
        equal = (self.answered[:, None] == self.unanswered).mean()
        return float(higher + equal / 2)

    def refused(self, loss: float) -> tuple[float, ...]:
        """Return 1 for each question without an answer that the threshold refuses, else 0.

        The threshold loses at most the share `loss` of the questions with an answer.
        """
        threshold = np.sort(self.answered)[int(loss * len(self.answered) + 1e-9)]
        return tuple((self.unanswered < threshold).astype(float).tolist())


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.quality.abstention", __doc__, "data", "model", "threads", limit=150)
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Measure every set that the data folder has."""
    compressor = Compressor(options.model, threads=options.threads)
    lines: list[Line] = []
    for task in SETS:
        limit = options.limit * (MORE if task == "packages" else 1)
        examples = load(task, "eval", data=options.data, limit=limit, seed=options.seed)
        pairs = make_pairs(examples, options.seed)
        lines += [measure_pair(compressor, task, pair) for pair in track(pairs, TASKS[task].title)]
    return Measured(make_tables(lines), name_model(load_artifact(options.model)), rows=lines)


def make_tables(lines: Lines) -> list[Table]:
    """Return the tables, from the lines of all questions."""
    curves: list[Row] = []
    promises: list[Row] = []
    for task in dict.fromkeys(line["task"] for line in lines):
        own = [line for line in lines if line["task"] == task]
        curves += list_curve(TASKS[task].title, own)
        promises.append(summarise(TASKS[task].title, own))
        promises += split_domains(own)
    return [
        Table(
            "Questions without an answer that are refused",
            CURVE,
            tuple(curves),
            across="score",
            only={"lost": (PRINTED,)},
        ),
        Table(f"What is kept if {PROMISED:.0%} are promised", PROMISES, tuple(promises)),
    ]


CURVE = (
    Column("set"),
    Column("lost", "%", format=".0f"),
    Column("score"),
    Column("AUROC", format=".3f"),
    Column("refused", "%", interval="wilson"),
)
PROMISES = (
    Column("set"),
    Column("questions"),
    Column("let through", "%", interval="wilson"),
    Column("refused", "%", interval="wilson"),
    Column("evidence kept", "%", interval="wilson"),
    Column("calibrated", "%", interval="wilson"),
)


def make_pairs(examples: Sequence[Example], seed: int) -> list[Pair]:
    """Return the questions with evidence in some documents and enough others."""
    pairs: list[Pair] = []
    for example in examples:
        documents = [Document(d.text, d.title) for d in example.documents]
        evidence = [i for i, d in enumerate(example.documents) if d.gold]
        others = [i for i, d in enumerate(example.documents) if not d.gold]
        if not evidence or len(others) <= len(evidence):
            continue
        random.Random(f"{seed}:{example.id}").shuffle(others)
        with_evidence = sorted([*evidence, *others[: -len(evidence)]])
        pairs.append(
            Pair(example, [documents[i] for i in with_evidence], [documents[i] for i in sorted(others)])
        )
    return pairs


def measure_pair(compressor: Compressor, task: str, pair: Pair) -> Line:
    """Return the scores with and without evidence, and 1 for each promise that tersely keeps, else 0."""
    question = pair.example.question
    line: Line = {"task": task, "id": pair.example.id}
    if task == "packages":
        line["domain"] = find_domain(next(d.title or "" for d in pair.example.documents if d.gold))
    for side, documents in (("answered", pair.answered), ("unanswered", pair.unanswered)):
        result = compressor.compress(question, documents, abstain=PROMISED)
        line[side] = {
            OURS: result.answerable or 0.0,
            BEST: max(span.score for span in (*result.kept, *result.dropped)),
            WORDS: _rate_words(question, documents),
            MINILM: _rate_cosine(question, documents),
        }
        if side == "answered":
            line["let through"] = float(result.status != "abstained")
            line["calibrated"] = float(bool(result.calibrated))
        else:
            line["refused"] = float(result.status == "abstained")
    # The documents of the example, because labels count them.
    whole = compressor.compress(question, pair.example.to_documents(), recall=PROMISED)
    kept = list_spans(whole)
    line["kept"] = kept
    line["evidence kept"] = _keeps_evidence(score_kept(pair.example, kept))
    return line


def _keeps_evidence(score: Score) -> float | None:
    """Return 1 if an answer is kept, or all supporting sentences of a question whose answer no text holds."""
    if score.answer_kept is not None:
        return float(score.answer_kept)
    return None if score.support_kept is None else float(score.support_kept == 1)


def summarise(title: str, lines: Lines) -> Row:
    """Return the row of a set or a domain: a number for each question and promise."""
    values = {column.name: tuple(line[column.name] for line in lines) for column in PROMISES[2:]}
    return {"set": title, "questions": len(lines), **values}


def split_domains(lines: Lines) -> list[Row]:
    """Return a row for each domain with enough questions; none for a set without domains."""
    counts = Counter(line["domain"] for line in lines if "domain" in line)
    return [
        summarise(f"of these: {name}", [line for line in lines if line["domain"] == name])
        for name, count in counts.most_common()
        if count >= FEWEST
    ]


def find_domain(title: str) -> str:
    """Return the domain of a passage of a package; the title begins with the package."""
    package = title.partition(" ")[0]
    return next((name for name, packages in DOMAINS.items() if package in packages.split()), OTHER_DOMAIN)


def list_curve(title: str, lines: Lines) -> list[Row]:
    """Return the rows of a set."""
    rows: list[Row] = []
    for name in (OURS, BEST, WORDS, MINILM):
        answered, unanswered = (
            np.array([line[side][name] for line in lines]) for side in ("answered", "unanswered")
        )
        own = Scores(answered, unanswered)
        for loss in LOSSES:
            place = {"set": title, "score": name, "lost": loss}
            rows.append({**place, "AUROC": round(own.area(), 4), "refused": own.refused(loss)})
    return rows


def _list_units(documents: Sequence[Document]) -> list[str]:
    return [
        join_title(d.title, d.text[unit.start : unit.end]) for d in documents for unit in split_units(d.text)
    ]


def _rate_words(question: str, documents: Sequence[Document]) -> float:
    return float(BM25(_list_units(documents)).scores(question).max())


def _rate_cosine(question: str, documents: Sequence[Document]) -> float:
    vectors = embed_cached([question, *_list_units(documents)])
    return float((vectors[1:] @ vectors[0]).max())


if __name__ == "__main__":
    sys.exit(main())
