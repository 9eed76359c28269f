"""Does a person agree with the check of `tersely_agents.summaries`? Sentences labelled blind to the system.

    python -m benchmarks.summaries --data DATA --sentences SENTENCES ...
    python -m benchmarks.summaries.labels --data DATA --sentences SENTENCES --sheet SHEET ...
    python -m benchmarks.summaries.labels --sentences SENTENCES --judged JUDGED --who NAME

The first two commands need the same limits.

The second command draws sentences of all systems in random order and writes each with its question and the
sentences of the documents that share most with it, without its system and without the check's verdict.
JUDGED gets a line for each: its id and "yes" where the documents say the same, or "no". The third command
counts, prints a table, writes the JSON and fills RESULTS.md. Neither of the two files belongs in the
repository; the JSON holds ids and verdicts alone.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.arguments import add_data, add_out, add_seed, make_parser
from benchmarks.markdown import format_percent, format_table
from benchmarks.results import publish
from benchmarks.shared.cache import digest
from benchmarks.shared.statistics import bootstrap_mean
from benchmarks.shared.tasks import Example
from benchmarks.summaries.__main__ import QUESTIONS, REFERENCES, load_set
from benchmarks.summaries.report import BASE, EXTRACTIVE, OURS, WRITTEN
from benchmarks.summaries.rows import CheckedSentence
from tersely.score.bm25 import BM25
from tersely.split.sentences import split_units

SYSTEMS = (EXTRACTIVE, BASE, WRITTEN, OURS)
COUNT = 50
SOURCES = 5
"""Units of the documents that a person reads beside a sentence."""


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A sentence. Its text stands nowhere in the repository."""

    id: str
    """Of its task, question and text."""
    systems: tuple[str, ...]
    """Those that wrote it."""
    supported: bool
    """Whether the check finds a source."""
    grounded: bool
    """Whether a person says that the documents say the same."""


@dataclass(frozen=True, slots=True)
class LabelsRun:
    """One sample and what a person said of it."""

    benchmark: str
    who: str
    """Who judged."""
    seed: int
    rows: tuple[LabelRow, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sentence of the sample and the systems that wrote it."""

    id: str
    sentence: CheckedSentence
    systems: tuple[str, ...]


def draw(sentences: Iterable[CheckedSentence], count: int, seed: int) -> list[Drawn]:
    """Different sentences in random order, about as many of each system as of any other."""
    writers: dict[str, list[str]] = {}
    texts: dict[str, CheckedSentence] = {}
    for sentence in sentences:
        if sentence.system in SYSTEMS:
            key = digest(sentence.task, sentence.question, sentence.text).hex()
            texts.setdefault(key, sentence)
            writers.setdefault(key, []).append(sentence.system)
    order = random.Random(seed)
    queues = {
        system: order.sample(own, len(own))
        for system in SYSTEMS
        if (own := [key for key, systems in writers.items() if system in systems])
    }
    chosen: dict[str, None] = {}
    while queues and len(chosen) < count:
        for system in list(queues):
            while queues[system] and queues[system][-1] in chosen:
                queues[system].pop()
            if not queues[system]:
                del queues[system]
            elif len(chosen) < count:
                chosen[queues[system].pop()] = None
    keys = order.sample(list(chosen), len(chosen))
    return [Drawn(key, texts[key], tuple(s for s in SYSTEMS if s in writers[key])) for key in keys]


def write_sheet(drawn: Sequence[Drawn], examples: Mapping[tuple[str, str], Example], file: Path) -> None:
    """What a person reads: no system, no verdict. `examples` are found by task and id."""
    with open(file, "w", encoding="utf-8") as stream:
        for number, item in enumerate(drawn, 1):
            example = examples[item.sentence.task, item.sentence.question]
            sources = "\n".join(f"  - {text}" for text in find_nearest(example, item.sentence.text))
            stream.write(
                f"{number}. {item.id}\nQuestion: {example.question}\nSentence: {item.sentence.text}\n"
                f"{sources}\n\n"
            )


def find_nearest(example: Example, sentence: str) -> list[str]:
    """The units of the documents that share most with the sentence, with the titles of their documents."""
    units = [
        f"[{document.title or ''}] {document.text[unit.start : unit.end]}"
        for document in example.to_documents()
        for unit in split_units(document.text)
    ]
    scores = BM25(units).scores(sentence)
    best = sorted(range(len(units)), key=lambda i: -scores[i])[:SOURCES]
    return [units[i] for i in sorted(best)]


def join_labels(drawn: Sequence[Drawn], judged: Path, who: str, seed: int) -> LabelsRun:
    """The sample with a person's words. Raises KeyError for a sentence without a label."""
    lines = (line.split() for line in judged.read_text(encoding="utf-8").splitlines() if line.strip())
    said = {words[0]: {"yes": True, "no": False}[words[1]] for words in lines}
    rows = (LabelRow(d.id, d.systems, d.sentence.supported, said[d.id]) for d in drawn)
    return LabelsRun("summary_labels", who, seed, tuple(rows))


def render(run: LabelsRun) -> str:
    """The section of RESULTS.md."""
    table: list[list[str]] = []
    for system in SYSTEMS:
        rows = [row for row in run.rows if system in row.systems]
        if not rows:
            continue
        shares = [
            format_percent(bootstrap_mean([float(value) for value in values], run.seed))
            for values in (
                [row.grounded for row in rows],
                [row.supported for row in rows],
                [row.grounded == row.supported for row in rows],
            )
        ]
        table.append([system, str(len(rows)), *shares])
    missed = sum(row.supported and not row.grounded for row in run.rows)
    refused = sum(row.grounded and not row.supported for row in run.rows)
    return "\n\n".join(
        [
            f"{len(run.rows)} different sentences, labelled by {run.who}, blind to the system and to the "
            "check. A sentence counts for each system that wrote it; a quotation can be told from other "
            f"sentences. Seed {run.seed}. In percent, with bootstrap intervals of 95 % over sentences.",
            format_table(["grounded:", "sentences", "by the judge", "by the check", "agreement"], table),
            f"Sentences that the check let pass and the documents do not say: {missed}. Sentences that it "
            f"refused and the documents say: {refused}.",
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    """Draw the sample, or count what a person said of it; the exit code."""
    parser = make_parser("benchmarks.summaries.labels", __doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_data(parser)
    parser.add_argument("--sentences", type=Path, required=True, help="FILE of benchmarks.summaries")
    parser.add_argument("--sheet", type=Path, help="write the sample, for a person who judges")
    parser.add_argument("--judged", type=Path, help='lines of an id and "yes" or "no"')
    parser.add_argument("--who", default="a person", help="who judged")
    parser.add_argument("--count", type=int, default=COUNT, help="sentences of the sample")
    parser.add_argument("--limit", type=int, default=40, help="as in the run")
    parser.add_argument("--long-limit", type=int, default=20, help="as in the run")
    add_seed(parser)
    add_out(parser, "summary_labels")
    args = parser.parse_args(arguments)
    lines = args.sentences.read_text(encoding="utf-8").split("\n")
    drawn = draw((CheckedSentence(**json.loads(line)) for line in lines if line), args.count, args.seed)
    if args.sheet:
        limits: dict[str, int] = dict.fromkeys(QUESTIONS, int(args.limit))
        limits |= dict.fromkeys(REFERENCES, int(args.long_limit))
        tasks = sorted({item.sentence.task for item in drawn})
        examples = {(t, e.id): e for t in tasks for e in load_set(t, args.data, args.seed, limits[t])}
        write_sheet(drawn, examples, args.sheet)
    if args.judged:
        return publish(
            "summary_labels", lambda: join_labels(drawn, args.judged, args.who, args.seed), render, args.out
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
