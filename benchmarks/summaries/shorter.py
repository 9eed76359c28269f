"""`python -m benchmarks.summaries.shorter --data DATA --reader extractive:models/span-reader`

RECON's claim on HotpotQA: a context that is a third shorter than the five best passages, at answers that are
no worse. The passages are the five that the selector ranks first, raw; what the selector keeps of them in
65 % of their tokens; and what tersely-recon writes about them. The summarizer is slow, so it gets fewer
questions.
Prints a table, writes the JSON and fills RESULTS.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.arguments import add_data, add_out, add_seed, make_parser
from benchmarks.markdown import format_lead, format_percent, format_table
from benchmarks.progress import Progress
from benchmarks.results import publish
from benchmarks.shared.environment import Environment, name_model, read_environment
from benchmarks.shared.readers import CachedReader, Prompt, Reader, open_reader
from benchmarks.shared.statistics import Estimate, bootstrap, bootstrap_mean, bootstrap_mean_difference
from benchmarks.shared.tasks import Example, load_findable
from tersely import Compressor, Document
from tersely.metrics import token_f1
from tersely.pack.choose import choose_documents
from tersely.pack.render import title_line
from tersely.runtime.artifacts import load_artifact
from tersely_agents.summaries import Summarizer
from tersely_agents.summaries.summarizer import load_trained

TASK = "hotpotqa"
PASSAGES = 5
SHARE = 0.65
"""Of the tokens of the raw passages."""
SUMMARIZER = "tersely-recon"

Shorten = Callable[[str, Sequence[Document]], str]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    data: str | None
    reader: str
    limit: int
    written_limit: int
    seed: int
    out: Path


@dataclass(frozen=True, slots=True)
class ContextRow:
    """One way to shorten the passages of the same questions."""

    system: str
    questions: int
    tokens: float
    """Mean of a context."""
    shorter: Estimate
    """Share of the raw tokens that is saved."""
    f1: Estimate
    """Of the reader's answers."""
    difference: Estimate
    """To the raw passages, paired by question."""


@dataclass(frozen=True, slots=True)
class ShorterRun:
    """One run of the benchmark."""

    benchmark: str
    model: str
    summarizer: str
    reader: str
    seed: int
    environment: Environment
    rows: tuple[ContextRow, ...]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.summaries.shorter", __doc__)
    add_data(parser)
    parser.add_argument("--reader", required=True, help="extractive:DIR and the like")
    parser.add_argument("--limit", type=int, default=200, help="questions for the selector")
    parser.add_argument("--written-limit", type=int, default=24, help="questions for the summarizer")
    add_seed(parser)
    add_out(parser, "shorter")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("shorter", lambda: measure(options), render, options.out)


def measure(options: Options) -> ShorterRun:
    """Ask the reader with each context."""
    reader = CachedReader(open_reader(options.reader))
    compressor = Compressor()
    summarizer = Summarizer(load_trained(SUMMARIZER, None), compressor=compressor)
    examples = load_findable(TASK, "eval", data=options.data, seed=options.seed, limit=options.limit)

    def select(question: str, passages: Sequence[Document]) -> str:
        return compressor.compress(question, passages, rate=SHARE).text

    def write(question: str, passages: Sequence[Document]) -> str:
        return summarizer.summarize(question, passages).text

    found = [find_best(compressor, example) for example in examples]
    written = examples[: options.written_limit]
    progress = Progress(len(examples) + len(written))
    rows: list[ContextRow] = []
    for name, shorten, questions in (("selector", select, examples), (SUMMARIZER, write, written)):
        contexts: list[tuple[str, str]] = []
        for example, passages in zip(questions, found, strict=False):  # the summarizer gets the first ones
            contexts.append((join(passages), shorten(example.question, passages)))
            progress.step(name)
        rows.append(compare(name, questions, contexts, reader, compressor.count_tokens, options.seed))
    progress.close()
    return ShorterRun(
        benchmark="shorter",
        model=name_model(load_artifact(None)),
        summarizer=name_model(load_artifact(SUMMARIZER, kind="summarizer")),
        reader=reader.name,
        seed=options.seed,
        environment=read_environment(),
        rows=tuple(rows),
    )


def find_best(compressor: Compressor, example: Example) -> list[Document]:
    """The passages that the selector ranks first, in their own order."""
    documents = example.to_documents()
    relevance = compressor.compress(example.question, documents).relevance
    best = choose_documents(relevance, range(len(documents)), PASSAGES)
    return [documents[doc] for doc in sorted(best)]


def join(passages: Sequence[Document]) -> str:
    """The raw passages with their titles."""
    return "\n\n".join(f"{title_line(passage)}{passage.text}" for passage in passages)


def compare(
    system: str,
    examples: Sequence[Example],
    contexts: Sequence[tuple[str, str]],
    reader: Reader,
    count: Callable[[str], int],
    seed: int,
) -> ContextRow:
    """A row. `contexts`: raw and shortened, of each question."""
    f1 = [
        [_answer(reader, example, texts[kind]) for example, texts in zip(examples, contexts, strict=True)]
        for kind in (0, 1)
    ]
    tokens = np.array([[count(text) for text in texts] for texts in contexts], dtype=float)
    return ContextRow(
        system=system,
        questions=len(examples),
        tokens=round(float(tokens[:, 1].mean()), 1),
        shorter=bootstrap(tokens[:, 0] - tokens[:, 1], tokens[:, 0], seed).round(),
        f1=bootstrap_mean(f1[1], seed).round(),
        difference=bootstrap_mean_difference(f1[1], f1[0], seed).round(),
    )


def _answer(reader: Reader, example: Example, context: str) -> float:
    (answer,) = reader.answer([Prompt(example.question, context)])
    return 0.0 if answer is None else token_f1(answer, example.answers)


def render(run: ShorterRun) -> str:
    """The section of RESULTS.md."""
    rows = [
        [
            row.system,
            str(row.questions),
            f"{row.tokens:.0f}",
            format_percent(row.shorter),
            format_percent(row.f1),
            format_lead(row.difference),
        ]
        for row in run.rows
    ]
    header = ["context", "questions", "tokens", "shorter by, % [95 %]", "F1 [95 %]", "F1, to raw passages"]
    return "\n\n".join(
        [
            f"Selector {run.model}, summarizer {run.summarizer}, reader {run.reader}, seed {run.seed}. "
            f"{run.environment.describe()}",
            format_table(header, rows),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
