"""`python -m benchmarks.summaries --data DATA --reader extractive:models/span-reader`

Summaries of the documents of a question, by five systems:

- extractive: the sentences that the selector chooses, in as many tokens as the trained summarizer wrote;
- selection: all that the two models read;
- base: SmolLM2-135M-Instruct with the summarizer's prompt, greedy;
- written: the trained summarizer, before anything is dropped;
- trained: the same after the check of its sentences.

Every sentence is checked against all documents of its question. Questions are answered by a small reader;
meetings and stories are compared with summaries that people wrote.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import fmean

import numpy as np

from benchmarks import command
from benchmarks.command import Measured, make_parser, run, track
from benchmarks.rows import Line, Lines, group_lines
from benchmarks.shared.environment import name_model
from benchmarks.shared.readers import CachedReader, Prompt, Reader, open_reader
from benchmarks.shared.statistics import Estimate, bootstrap, bootstrap_mean_difference
from benchmarks.shared.tasks import TASKS, Example, Task, load, load_findable
from benchmarks.summaries.contradiction import contradicts
from benchmarks.summaries.once import WritingOnce
from benchmarks.summaries.rouge import rouge_l
from benchmarks.table import Column, Row, Table
from tersely import Compressor
from tersely.metrics import token_f1
from tersely.runtime.artifacts import load_artifact
from tersely_agents.chat import LocalChat
from tersely_agents.chat.trained import TrainedModel
from tersely_agents.summaries import Summarizer
from tersely_agents.summaries.grounding import Sources
from tersely_agents.summaries.summarizer import load_trained
from tersely_agents.summaries.writing import score_texts

EXTRACTIVE, SELECTION, BASE, WRITTEN, OURS = "extractive", "selection", "base", "written", "trained"
SYSTEMS = (EXTRACTIVE, SELECTION, BASE, WRITTEN, OURS)
QUESTIONS = ("hotpotqa", "qed_nq_10")
SQUALITY = Task("squality", "SQuALITY, 5k-word stories", {"eval": "squality"})
"""Its questions have no labels, which other benchmarks need."""
REFERENCES = ("qmsum", SQUALITY.name)
TIMEOUT_S = 3600.0
"""Time limit of a reply: a busy machine must not change the texts."""
COLUMNS = (
    Column("set"),
    Column("questions"),
    Column("system"),
    Column("sentences"),
    Column("grounded", "%", interval="bootstrap"),
    Column("unknown", "%", interval="bootstrap"),
    Column("contradicting", "%", interval="bootstrap"),
    Column("scored by"),
    Column("score", "%", interval="bootstrap"),
    Column("lead of the trained one", "points", interval="bootstrap"),
    Column("tokens", format=".0f"),
    Column("seconds", format=".1f"),
)
"""Shares are of all sentences, and scores of all questions. Tokens and seconds are means."""


class Options(command.Options):
    """The options of the command."""

    reader: str | None
    summarizer: str
    long_limit: int


@dataclass(frozen=True, slots=True)
class Summary:
    """One summary, checked against the documents of its question."""

    system: str
    sentences: int
    supported: int
    """Number of sentences that the check of `tersely_agents.summaries` finds a source for."""
    unknown: int
    """Number of sentences with a name or a number that no document contains."""
    contradicting: int
    """Number of sentences that contradict their source by the rule of `contradiction.py`."""
    tokens: int
    seconds: float
    """Time to choose what the model reads, and to write."""
    score: float | None
    """ROUGE-L against the best reference, or F1 of the reader's answer; None if nobody is asked."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.summaries", __doc__, "data", limit=40)
    parser.add_argument("--summarizer", required=True, help="folder of a trained summarizer")
    parser.add_argument("--reader", help="extractive:DIR and the like; without it no question is answered")
    parser.add_argument("--long-limit", type=int, default=20, help="questions of each set of long documents")
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Summarise for every question with every system."""
    reader = CachedReader(open_reader(options.reader)) if options.reader else None
    trained = load_trained(options.summarizer, None, timeout_s=TIMEOUT_S)
    base = LocalChat(context=2048, temperature=0.0, timeout_s=TIMEOUT_S)
    summarizer = name_model(load_artifact(options.summarizer, kind="summarizer"))
    written = WritingOnce(trained.chat, summarizer)
    bench = Bench(Compressor(), trained, written, WritingOnce(base, base.name), reader)
    lines: list[Line] = [
        {"task": task, "id": example.id, **asdict(summary)}
        for task in (*QUESTIONS, *REFERENCES)
        for example in track(load_set(task, options), task)
        for summary in bench.summarize(task, example)
    ]
    settings = {"summarizer": summarizer, **({"reader": reader.name} if reader else {})}
    return Measured(make_tables(lines, options.seed), bench.compressor.model, settings, lines)


def load_set(task: str, options: Options) -> list[Example]:
    """Load the questions of a set that a run asks."""
    if task in QUESTIONS:
        return load_findable(task, "eval", data=options.data, seed=options.seed, limit=options.limit)
    if task == SQUALITY.name:
        return SQUALITY.load("eval", data=options.data, seed=options.seed, limit=options.long_limit)
    return load(task, "eval", data=options.data, seed=options.seed, limit=options.long_limit)


@dataclass(frozen=True, slots=True)
class Bench:
    """All systems, with models that write each text once."""

    compressor: Compressor
    trained: TrainedModel
    written: WritingOnce
    """The chat model of `trained`."""
    base: WritingOnce
    reader: Reader | None

    def summarize(self, task: str, example: Example) -> list[Summary]:
        """Summarise for one question with every system."""
        documents = example.to_documents()
        sources = Sources(documents, partial(score_texts, self.compressor))
        summaries: list[Summary] = []

        def add(system: str, text: str, sentences: Sequence[str], seconds: float) -> None:
            checked = [s for s in sentences if any(c.isalnum() for c in s)]
            summaries.append(
                Summary(
                    system=system,
                    sentences=len(checked),
                    supported=sum(bool(sources.check(s).support) for s in checked),
                    unknown=sum(bool(sources.find_unknown(s)) for s in checked),
                    contradicting=sum(contradicts(s, documents, sources) for s in checked),
                    tokens=self.compressor.count_tokens(text),
                    seconds=round(seconds, 3),
                    score=self._score(task, example, text),
                )
            )

        ours = replace(self.trained, chat=self.written)
        plain = replace(self.trained, chat=self.base)
        for system, model in ((BASE, plain), (WRITTEN, ours), (OURS, ours)):
            started = self._read_clock()
            checks = None if system == OURS else "flag"
            summarizer = Summarizer(model, compressor=self.compressor, unsupported=checks)
            summary = summarizer.summarize(example.question, documents)
            seconds = self._read_clock() - started
            add(system, summary.text, [summary.text[s.start : s.end] for s in summary.sentences], seconds)
        for system, budget in ((EXTRACTIVE, summaries[-1].tokens), (SELECTION, self.trained.input_tokens)):
            started = self._read_clock()
            kept = self.compressor.compress(example.question, documents, budget=max(1, budget))
            units = [documents[s.doc].text[s.start : s.end] for s in kept.kept]
            add(system, kept.text, units, self._read_clock() - started)
        return summaries

    def _read_clock(self) -> float:
        return time.perf_counter() + self.written.saved + self.base.saved

    def _score(self, task: str, example: Example, text: str) -> float | None:
        if task in REFERENCES:
            return round(rouge_l(text, example.answers), 4)
        if self.reader is None:
            return None
        (answer,) = self.reader.answer([Prompt(example.question, text)])
        return 0.0 if answer is None else round(token_f1(answer, example.answers), 4)


def make_tables(lines: Lines, seed: int) -> list[Table]:
    """Return the table, from the lines of all summaries."""
    tasks = group_lines(lines, "task")
    rows = [row for task, own in tasks.items() for row in _make_rows(task, own, seed)]
    return [Table("Summaries", COLUMNS, tuple(rows))]


def _make_rows(task: str, lines: Lines, seed: int) -> Iterator[Row]:
    """Yield the row of each system on a set."""
    by_system = {system: [line for line in lines if line["system"] == system] for system in SYSTEMS}
    scores = {
        system: tuple(line["score"] for line in own if line["score"] is not None)
        for system, own in by_system.items()
    }
    title = SQUALITY.title if task == SQUALITY.name else TASKS[task].title
    for system, own in by_system.items():
        lead = None
        if system != OURS and scores[system]:
            lead = bootstrap_mean_difference(scores[OURS], scores[system], seed).round()
        yield {
            "set": title,
            "questions": len(own),
            "system": system,
            "sentences": sum(line["sentences"] for line in own),
            "grounded": _find_share(own, "supported", seed),
            "unknown": _find_share(own, "unknown", seed),
            "contradicting": _find_share(own, "contradicting", seed),
            "scored by": "ROUGE-L" if task in REFERENCES else "F1",
            "score": scores[system] or None,
            "lead of the trained one": lead,
            "tokens": fmean(line["tokens"] for line in own),
            "seconds": fmean(line["seconds"] for line in own),
        }


def _find_share(lines: Lines, counted: str, seed: int) -> Estimate:
    """Return the share of all sentences that are `counted`; 0 without sentences."""
    sentences = np.array([line["sentences"] for line in lines], dtype=float)
    if not sentences.any():
        return Estimate(0.0, 0.0, 0.0)
    return bootstrap(np.array([line[counted] for line in lines], dtype=float), sentences, seed).round()


if __name__ == "__main__":
    sys.exit(main())
