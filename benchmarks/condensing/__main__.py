"""`python -m benchmarks.condensing --data DATA --summarizer FOLDER --base FILE`: measure the tokens that
condensed search results save, and their cost in right answers and seconds (RECON, table 3).

Each question is the search query, and five passages are found. A small language model answers from the output
of one of three systems:

- passages: the passages as they are;
- selector: the sentences above the selector's own threshold;
- summary: what the trained summarizer writes, after the check of its sentences.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from benchmarks import command
from benchmarks.command import Measured, make_parser, run, track
from benchmarks.shared.environment import name_model
from benchmarks.shared.episodes import make_index
from benchmarks.shared.readers import Prompt
from benchmarks.shared.readers.protocol import NEW_TOKENS, take_first_line
from benchmarks.shared.statistics import bootstrap_mean_difference
from benchmarks.shared.tasks import TASKS, Example, load_findable
from benchmarks.summaries.once import WritingOnce
from benchmarks.table import Column, Row, Table
from tersely import Compressor
from tersely.metrics import exact_match, token_f1
from tersely.runtime.artifacts import load_artifact
from tersely_agents.agent.retrieval import Reading, SelectedSentences, WrittenSummary, read_passages
from tersely_agents.agent.tools import READING_HITS
from tersely_agents.chat import LocalChat
from tersely_agents.chat.trained import TrainedModel
from tersely_agents.summaries import Summarizer
from tersely_agents.summaries.summarizer import load_trained

PASSAGES, SELECTOR, SUMMARY = "passages", "selector", "summary"
QUESTIONS = ("hotpotqa", "qed_nq_10")
TIMEOUT_S = 3600.0
"""Time limit of a reply: a busy machine must not change the texts."""
_CONTEXT = 4096
"""Number of tokens that the answering model reads at most."""
COLUMNS = (
    Column("set"),
    Column("questions"),
    Column("system"),
    Column("tokens", format=".0f"),
    Column("shorter", "%"),
    Column("exact", "%", interval="bootstrap"),
    Column("F1", "%", interval="bootstrap"),
    Column("F1, lead over passages", "points", interval="bootstrap"),
    Column("seconds to condense", format=".1f"),
    Column("seconds to answer", format=".1f"),
    Column("longer", "%"),
)
"""Tokens and seconds are means of a question. Shorter: the share of the passages' tokens that is saved.
Longer: seconds of both steps, more than those of the passages, as a share of these."""


class Options(command.Options):
    """The options of the command."""

    summarizer: str
    base: Path | None


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer to one question, and what it cost."""

    tokens: int
    """Number of tokens that the model read, of passages or their summary."""
    exact: bool
    f1: float
    condensing_s: float
    answering_s: float


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.condensing", __doc__, "data", "threads", limit=40)
    parser.add_argument("--summarizer", required=True, help="folder of a trained summarizer")
    parser.add_argument("--base", type=Path, help="GGUF file of the reader (default: SmolLM2-135M)")
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Answer every question with every system."""
    compressor = Compressor(threads=options.threads)
    trained = load_trained(options.summarizer, None, timeout_s=TIMEOUT_S)
    reader = LocalChat(
        options.base, context=_CONTEXT, threads=options.threads, timeout_s=TIMEOUT_S, temperature=0.0
    )
    summarizer = name_model(load_artifact(options.summarizer, kind="summarizer"))
    bench = Bench(
        compressor,
        WritingOnce(trained.chat, summarizer),
        trained,
        WritingOnce(reader, options.base.name if options.base else reader.name),
    )
    rows: list[Row] = []
    for task in QUESTIONS:
        examples = load_findable(task, "eval", data=options.data, seed=options.seed, limit=options.limit)
        answered = [bench.answer(example) for example in track(examples, task)]
        rows += make_rows(TASKS[task].title, answered, options.seed)
    settings = {"summarizer": summarizer, "reader": bench.reader.name, "passages": READING_HITS}
    return Measured([Table("Answers", COLUMNS, tuple(rows))], compressor.model, settings)


class Bench:
    """All systems, and the model that answers. Both models write each text once."""

    def __init__(
        self, compressor: Compressor, writer: WritingOnce, trained: TrainedModel, reader: WritingOnce
    ) -> None:
        self.compressor, self.writer, self.reader = compressor, writer, reader
        summarizer = Summarizer(
            TrainedModel(writer, trained.input_tokens, trained.max_tokens), compressor=compressor
        )
        self.systems: Mapping[str, Reading] = {
            PASSAGES: read_passages,
            SELECTOR: SelectedSentences(compressor),
            SUMMARY: WrittenSummary(summarizer),
        }

    def answer(self, example: Example) -> dict[str, Answered]:
        """Answer one question with every system."""
        hits = make_index(example).search(example.question, READING_HITS)
        answered: dict[str, Answered] = {}
        for system, read in self.systems.items():
            started = self._read_clock()
            context = read(example.question, example.question, hits)
            condensed = self._read_clock()
            messages = Prompt(example.question, context).messages("examples")
            reply = self.reader.complete(messages, max_tokens=NEW_TOKENS)
            text = take_first_line(reply.text)
            answered[system] = Answered(
                tokens=self.compressor.count_tokens(context),
                exact=exact_match(text, example.answers),
                f1=round(token_f1(text, example.answers), 4),
                condensing_s=round(condensed - started, 3),
                answering_s=round(self._read_clock() - condensed, 3),
            )
        return answered

    def _read_clock(self) -> float:
        return time.perf_counter() + self.writer.saved + self.reader.saved


def make_rows(title: str, answered: Sequence[Mapping[str, Answered]], seed: int) -> list[Row]:
    """Return the row of each system from the answers of a set."""

    def list_f1(system: str) -> tuple[float, ...]:
        return tuple(answers[system].f1 for answers in answered)

    rows: list[Row] = []
    plain = [answers[PASSAGES] for answers in answered]
    for system in answered[0]:
        own = [answers[system] for answers in answered]
        lead = bootstrap_mean_difference(list_f1(system), list_f1(PASSAGES), seed).round()
        rows.append(
            {
                "set": title,
                "questions": len(own),
                "system": system,
                "tokens": fmean(a.tokens for a in own),
                "shorter": None if system == PASSAGES else 1 - _add_tokens(own) / _add_tokens(plain),
                "exact": tuple(float(a.exact) for a in own),
                "F1": list_f1(system),
                "F1, lead over passages": None if system == PASSAGES else lead,
                "seconds to condense": fmean(a.condensing_s for a in own),
                "seconds to answer": fmean(a.answering_s for a in own),
                "longer": None if system == PASSAGES else _add_seconds(own) / _add_seconds(plain) - 1,
            }
        )
    return rows


def _add_tokens(answers: Sequence[Answered]) -> int:
    return sum(a.tokens for a in answers)


def _add_seconds(answers: Sequence[Answered]) -> float:
    return sum(a.condensing_s + a.answering_s for a in answers)


if __name__ == "__main__":
    sys.exit(main())
