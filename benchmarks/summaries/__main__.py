"""`python -m benchmarks.summaries --data DATA --reader extractive:models/span-reader`

Summaries of the documents of a question, by four systems:

- extractive: the sentences that the selector chooses, in as many tokens as the trained summarizer wrote;
- selection: all that the two models read;
- base: SmolLM2-135M-Instruct with the summarizer's prompt, greedy;
- written: the trained summarizer, before anything is dropped;
- tersely-recon: the same after the check of its sentences.

Every sentence is checked against all documents of its question. Questions are answered by a small reader;
meetings and stories are compared with what people wrote. Of a meeting or a story the selector reads all.
With --sentences FILE, which belongs outside the repository, a person can judge them: see `labels`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.arguments import add_data, add_out, add_seed, make_parser
from benchmarks.progress import Progress
from benchmarks.results import publish
from benchmarks.shared.environment import name_model, read_environment
from benchmarks.shared.readers import CachedReader, Prompt, Reader, open_reader
from benchmarks.shared.tasks import Example, Task, load, load_findable
from benchmarks.summaries.contradiction import contradicts
from benchmarks.summaries.once import ReadingOnce, WritingOnce, read_clock
from benchmarks.summaries.report import BASE, EXTRACTIVE, OURS, SELECTION, WRITTEN, render
from benchmarks.summaries.rouge import rouge_l
from benchmarks.summaries.rows import CheckedSentence, SummariesRun, SummaryRow
from tersely import Document
from tersely.metrics import token_f1
from tersely.runtime.artifacts import load_artifact
from tersely_agents.chat import LocalChat
from tersely_agents.summaries import Summarizer
from tersely_agents.summaries.grounding import Sources
from tersely_agents.summaries.summarizer import TrainedModel, load_trained
from tersely_agents.summaries.writing import score_texts

QUESTIONS = ("hotpotqa", "qed_nq_10")
SQUALITY = Task("squality", "SQuALITY, 5k-word stories", {"eval": "squality"})
"""Its questions have no labels, which other benchmarks need."""
REFERENCES = ("qmsum", SQUALITY.name)
SUMMARIZER = "tersely-recon"
TIMEOUT_S = 3600.0
"""For a reply: a busy machine must not change what is measured of the texts."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    data: str | None
    reader: str | None
    limit: int
    long_limit: int
    seed: int
    sentences: Path | None
    out: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.summaries", __doc__)
    add_data(parser)
    parser.add_argument("--reader", help="extractive:DIR and the like; without it no question is answered")
    parser.add_argument("--limit", type=int, default=40, help="questions of each set of short documents")
    parser.add_argument("--long-limit", type=int, default=20, help="of each set of meetings or stories")
    add_seed(parser)
    parser.add_argument("--sentences", type=Path, metavar="FILE", help="write every sentence to FILE")
    add_out(parser, "summaries")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("summaries", lambda: measure(options), render, options.out)


def measure(options: Options) -> SummariesRun:
    """Summarize for every question with every system."""
    reader = CachedReader(open_reader(options.reader)) if options.reader else None
    trained = load_trained(SUMMARIZER, None, timeout_s=TIMEOUT_S)
    base = LocalChat(context=2048, temperature=0.0, timeout_s=TIMEOUT_S)
    summarizer = describe_summarizer()
    bench = _Bench(
        ReadingOnce(), trained, WritingOnce(trained.chat, summarizer), WritingOnce(base, base.name)
    )
    sets = {
        task: load_set(task, options.data, options.seed, limit)
        for tasks, limit in ((QUESTIONS, options.limit), (REFERENCES, options.long_limit))
        for task in tasks
    }
    if options.sentences is not None:
        options.sentences.unlink(missing_ok=True)
    progress = Progress(sum(map(len, sets.values())))
    rows: list[SummaryRow] = []
    for task, examples in sets.items():
        for example in examples:
            own, sentences = bench.run(task, example, reader if task in QUESTIONS else None)
            rows += own
            if options.sentences is not None:
                _append(options.sentences, sentences)
            progress.step(task)
    progress.close()
    return SummariesRun(
        benchmark="summaries",
        model=name_model(load_artifact(None)),
        summarizer=summarizer,
        reader=None if reader is None else reader.name,
        seed=options.seed,
        environment=read_environment(),
        rows=tuple(rows),
    )


def describe_summarizer() -> str:
    """Name and fingerprint of the summarizer."""
    return name_model(load_artifact(SUMMARIZER, kind="summarizer"))


def load_set(task: str, data: str | None, seed: int, limit: int) -> list[Example]:
    """The `limit` questions of a set that a run asks."""
    if task in QUESTIONS:
        return load_findable(task, "eval", data=data, seed=seed, limit=limit)
    if task == SQUALITY.name:
        return SQUALITY.load("eval", data=data, seed=seed, limit=limit)
    return load(task, "eval", data=data, seed=seed, limit=limit)


def _append(file: Path, sentences: Sequence[CheckedSentence]) -> None:
    with open(file, "a", encoding="utf-8") as stream:
        stream.writelines(json.dumps(asdict(s), ensure_ascii=False) + "\n" for s in sentences)


@dataclass(frozen=True, slots=True)
class _Bench:
    compressor: ReadingOnce
    trained: TrainedModel
    written: WritingOnce
    """Its chat model."""
    base: WritingOnce

    def run(
        self, task: str, example: Example, reader: Reader | None
    ) -> tuple[list[SummaryRow], list[CheckedSentence]]:
        """A row for each system, and all that they wrote."""
        documents = example.to_documents()
        sources = Sources(documents, lambda sentence, texts: score_texts(self.compressor, sentence, texts))
        rows: list[SummaryRow] = []
        checked: list[CheckedSentence] = []

        def add(system: str, text: str, sentences: Sequence[str], seconds: float) -> None:
            own = [
                CheckedSentence(task, example.id, system, s, bool(sources.find_support(s)))
                for s in sentences
                if any(c.isalnum() for c in s)
            ]
            checked.extend(own)
            rows.append(self._count(task, example, system, text, own, seconds, documents, sources, reader))

        ours = replace(self.trained, chat=self.written)
        plain = replace(self.trained, chat=self.base)
        for system, model in ((BASE, plain), (WRITTEN, ours), (OURS, ours)):
            started = self._read_clock()
            checks = None if system == OURS else "flag"
            summarizer = Summarizer(model, compressor=self.compressor, unsupported=checks)
            summary = summarizer.summarize(example.question, documents)
            seconds = self._read_clock() - started
            add(system, summary.text, [summary.text[s.start : s.end] for s in summary.sentences], seconds)
        for system, budget in ((EXTRACTIVE, rows[-1].tokens), (SELECTION, self.trained.preselect)):
            started = self._read_clock()
            kept = self.compressor.compress(example.question, documents, budget=max(1, budget))
            units = [documents[s.doc].text[s.start : s.end] for s in kept.kept]
            add(system, kept.text, units, self._read_clock() - started)
        return rows, checked

    def _read_clock(self) -> float:
        return read_clock(self.compressor, self.written, self.base)

    def _count(
        self,
        task: str,
        example: Example,
        system: str,
        text: str,
        sentences: Sequence[CheckedSentence],
        seconds: float,
        documents: Sequence[Document],
        sources: Sources,
        reader: Reader | None,
    ) -> SummaryRow:
        f1 = None
        if reader is not None:
            (answer,) = reader.answer([Prompt(example.question, text)])
            f1 = None if answer is None else round(token_f1(answer, example.answers), 4)
        return SummaryRow(
            task=task,
            question=example.id,
            system=system,
            sentences=len(sentences),
            supported=sum(s.supported for s in sentences),
            unknown=sum(bool(sources.find_unknown(s.text)) for s in sentences),
            contradicting=sum(contradicts(s.text, documents, sources) for s in sentences),
            tokens=self.compressor.count_tokens(text),
            seconds=round(seconds, 3),
            rouge=round(rouge_l(text, example.answers), 4) if task in REFERENCES else None,
            f1=f1,
        )


if __name__ == "__main__":
    sys.exit(main())
