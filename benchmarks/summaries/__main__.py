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
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Unpack

from benchmarks.arguments import add_data, add_out, add_seed, make_parser
from benchmarks.progress import Progress
from benchmarks.results import publish
from benchmarks.shared.environment import name_model, read_environment
from benchmarks.shared.readers import CachedReader, Prompt, Reader, open_reader
from benchmarks.shared.tasks import Example, Task, load, load_findable
from benchmarks.summaries.contradiction import contradicts
from benchmarks.summaries.report import BASE, EXTRACTIVE, OURS, SELECTION, WRITTEN, render
from benchmarks.summaries.rouge import rouge_l
from benchmarks.summaries.rows import CheckedSentence, SummariesRun, SummaryRow
from tersely import Compression, Compressor, Document
from tersely.chat import ChatModel, LocalChat, Message, Reply
from tersely.chat.protocol import Options as ChatOptions
from tersely.inputs import DocumentLike, read_documents
from tersely.metrics import token_f1
from tersely.options import CompressionArguments
from tersely.runtime.artifacts import load_artifact
from tersely.summarize import Summarizer
from tersely.summarize.grounding import Sources
from tersely.summarize.local import TrainedModel, load_trained
from tersely.summarize.written import score_texts

QUESTIONS = ("hotpotqa", "qed_nq_10")
SQUALITY = Task("squality", "SQuALITY, 5k-word stories", {"eval": "squality"})
"""Its questions have no labels, which other benchmarks need."""
REFERENCES = ("qmsum", SQUALITY.name)
SUMMARIZER = "tersely-recon"


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
    bench = _Bench(_ReadingOnce(), load_trained(SUMMARIZER, None), LocalChat(context=2048, temperature=0.0))
    sets = {
        task: load_examples(task, options, options.limit if task in QUESTIONS else options.long_limit)
        for task in (*QUESTIONS, *REFERENCES)
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
        summarizer=describe_summarizer(),
        reader=None if reader is None else reader.name,
        seed=options.seed,
        environment=read_environment(),
        rows=tuple(rows),
    )


def describe_summarizer() -> str:
    """Name and fingerprint of the summarizer."""
    return name_model(load_artifact(SUMMARIZER, kind="summarizer"))


def load_examples(task: str, options: Options, limit: int) -> list[Example]:
    """The first `limit` questions of a set in the order of the run's seed."""
    if task in QUESTIONS:
        return load_findable(task, "eval", data=options.data, seed=options.seed, limit=limit)
    if task == SQUALITY.name:
        return SQUALITY.load("eval", data=options.data, seed=options.seed, limit=limit)
    return load(task, "eval", data=options.data, seed=options.seed, limit=limit)


def _append(file: Path, sentences: Sequence[CheckedSentence]) -> None:
    with open(file, "a", encoding="utf-8") as stream:
        stream.writelines(json.dumps(asdict(s), ensure_ascii=False) + "\n" for s in sentences)


class _Remembering:
    """A chat model that writes once for a prompt: what is dropped of a text changes nothing in the text."""

    def __init__(self, chat: ChatModel) -> None:
        self.name = chat.name
        self.seconds = 0.0
        """That the reply took."""
        self._chat = chat
        self._replies: dict[str, Reply] = {}

    def complete(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Reply:
        prompt = str(messages)
        if prompt not in self._replies:
            started = time.perf_counter()
            self._replies[prompt] = self._chat.complete(messages, **options)
            self.seconds = time.perf_counter() - started
        return self._replies[prompt]

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Reply:
        return self.complete(messages, **options)


class _ReadingOnce(Compressor):
    """A compressor that makes each compression once: all systems read the same choice of a long text."""

    def __init__(self) -> None:
        super().__init__()
        self.saved = 0.0
        """Seconds that the repeated compressions would have taken."""
        self._known: dict[tuple[object, ...], tuple[Compression, float]] = {}

    def compress(
        self, query: str | None, docs: Iterable[DocumentLike], **options: Unpack[CompressionArguments]
    ) -> Compression:
        documents = read_documents(docs)
        key = (query, tuple((d.title, d.text) for d in documents), str(options))
        if key in self._known:
            compression, seconds = self._known[key]
            self.saved += seconds
            return compression
        started = time.perf_counter()
        compression = super().compress(query, documents, **options)
        self._known[key] = (compression, time.perf_counter() - started)
        return compression

    def read_clock(self) -> float:
        """Seconds of a clock on which nothing is saved."""
        return time.perf_counter() + self.saved


@dataclass(frozen=True, slots=True)
class _Bench:
    compressor: _ReadingOnce
    trained: TrainedModel
    base: ChatModel

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

        chat = _Remembering(self.trained.chat)
        ours = replace(self.trained, chat=chat)
        plain = replace(self.trained, chat=self.base)
        for system, model in ((BASE, plain), (WRITTEN, ours), (OURS, ours)):
            started = self.compressor.read_clock()
            checks = None if system == OURS else "flag"
            summarizer = Summarizer(model, compressor=self.compressor, unsupported=checks)
            summary = summarizer.summarize(example.question, documents)
            seconds = self.compressor.read_clock() - started + (chat.seconds if system == OURS else 0.0)
            add(system, summary.text, [summary.text[s.start : s.end] for s in summary.sentences], seconds)
        for system, budget in ((EXTRACTIVE, rows[-1].tokens), (SELECTION, self.trained.preselect)):
            started = self.compressor.read_clock()
            kept = self.compressor.compress(example.question, documents, budget=max(1, budget))
            units = [documents[s.doc].text[s.start : s.end] for s in kept.kept]
            add(system, kept.text, units, self.compressor.read_clock() - started)
        return rows, checked

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
