"""Shorten texts that other tools make, and read the results as people and parsers do.

python -m tests.audit.foreign                                  # 20,000 results
python -m tests.audit.foreign --only "git log" --count 200     # one format
python -m tests.audit.foreign --only "git log" --seed 4711 --count 1    # one result again, printed in full

The texts come from commands and files of this machine, and from writers of documented formats. The readers
and judges share no code with the SDK. A mark is `[…]` with anything inside, perhaps in a comment.

- lines: every row is a row of the source or, in running text, whole sentences of it
- heads: read without its marks, no value belongs to a head that isn't its own
- lost: no value has lost one of its heads
- parses: what parsed before still parses
- gaps: a mark separates rows that were not neighbours, except inside running text
- edges: the same, next to running text from which only sentences are missing
- orphans: no head is kept without a part of its body

The exit code is 1 if a result failed. One result in `MODEL_EVERY` uses the bundled model.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import sys
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tersely import Compressor
from tests.audit import (  # noqa: F401 - each registers its formats
    foreign_commands,
    foreign_data,
    foreign_documents,
    foreign_files,
    foreign_formats,
    foreign_logs,
    foreign_markup,
    foreign_packages,
    foreign_reports,
    foreign_system,
    foreign_tools,
)
from tests.audit.foreign_draw import FORMATS, Draw, Format, Missing
from tests.audit.foreign_judges import judge_rows
from tests.audit.foreign_parts import JUDGES, MARK, Verdict, is_bare_mark, split_marks, split_sentences
from tests.audit.foreign_readers import Line, Reader, flat
from tests.audit.foreign_trees import judge_tree
from tests.audit.foreign_web import judge_web
from tests.audit.requests import DrawnScorer

MODEL_EVERY = 20
LIMITS: list[dict[str, Any]] = [
    *({"rate": rate} for rate in (0.1, 0.2, 0.35, 0.5, 0.7)),
    *({"budget": budget} for budget in (40, 120, 300, 1000)),
]


@dataclass
class Document:
    """A text of one format, perhaps with a message around it."""

    form: Format
    body: str
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    fence: str = ""

    @property
    def text(self) -> str:
        if not self.before:
            return self.body
        end = f"\n{self.fence}" if self.fence else ""
        return (
            f"{' '.join(self.before)}\n\n{self.fence}\n{self.body.rstrip()}{end}\n\n{' '.join(self.after)}\n"
        )


@dataclass
class Case:
    """A request and its documents."""

    query: str
    documents: list[Document]
    options: dict[str, Any]


def make_document(form: Format, d: Draw) -> Document:
    body = form.make(d).replace("…", "...").replace("\r\n", "\n")
    document = Document(form, body)
    if d.random() < 0.2 and "```" not in body:
        document.before = split_sentences(d.paragraph())
        document.after = split_sentences(d.paragraph())
        document.fence = d.choice(["", "```"])
    return document


def ask(d: Draw, document: Document) -> str:
    """Return a question about a random value."""
    rows = [row for row in document.body.split("\n") if len(re.findall(r"\w{2,}", row)) > 1]
    if not rows:
        return "What does it say?"
    at = d.randrange(len(rows))
    words = re.findall(r"[\w./:-]{2,}", rows[at]) or ["it"]
    value = " ".join(words[: d.randint(1, 3)])
    near = d.choice(re.findall(r"[\w./-]{2,}", rows[max(0, at - d.randint(0, 3))]) or ["it"])
    return d.choice(
        [f"What is the {value} of {near}?", f"What does it say about {value}?", f"Where is {value}?"]
    )


def make_case(form: Format, seed: int) -> Case:
    d = Draw(zlib.crc32(f"{form.name} {seed}".encode()))
    documents = [make_document(form, d)]
    if d.random() < 0.1:
        others = d.sample(sorted(FORMATS), d.randint(1, 2))
        for name in others:
            try:
                documents.append(make_document(FORMATS[name], d))
            except Missing:
                continue
    return Case(ask(d, documents[0]), documents, d.choice(LIMITS))


def strip_message(document: Document, result: str, verdict: Verdict) -> str:
    """Return the result without the message around it."""
    if not document.before:
        return result
    rows = result.split("\n")
    around = {*document.before, *document.after}
    start, end = 0, len(rows)

    def outside(row: str) -> bool:
        sentences = [part for part in split_sentences(MARK.sub(" ", row)) if part.strip()]
        return not row.strip() or is_bare_mark(row) or all(part.strip() in around for part in sentences)

    while start < end and outside(rows[start]):
        start += 1
    while end > start and outside(rows[end - 1]):
        end -= 1
    body = rows[start:end]
    if document.fence and "```" in body:
        if len(body) < 2 or body[0] != "```" or body[-1] != "```":
            verdict.add("parses", "a fence is open or lost")
        body = [row for row in body if row != "```"]
    return "\n".join(body)


def judge(document: Document, result: str, limit_tokens: float) -> Verdict:
    verdict = Verdict()
    form = document.form
    body = strip_message(document, result, verdict)
    if form.web:
        judge_web(document.body, body, verdict)
        return verdict
    if form.tree:
        judge_tree(form.tree, document.body, body, verdict)
    read = form.read
    if read is None:
        return verdict
    rows = document.body.split("\n")
    judge_rows(rows, body, read, verdict, limit_tokens)
    if document.before:
        judge_around(document, result, verdict, limit_tokens)
        if not document.fence:
            excuse_last_head(document, body, result, verdict)
    return verdict


def excuse_last_head(document: Document, body: str, result: str, verdict: Verdict) -> None:
    """Remove the complaint about a head if the message below the text is all that is under it."""
    last = next((row.strip() for row in reversed(split_marks(body)[0]) if row.strip()), "")
    if last and any(sentence.strip() in result for sentence in document.after):
        found = verdict.found.pop("orphans", [])
        for complaint in found:
            if complaint != f"head without its body: {' '.join(last.split())!r}":
                verdict.add("orphans", complaint)


def judge_around(document: Document, result: str, verdict: Verdict, limit_tokens: float) -> None:
    """Judge the gaps between the message and what it embeds."""
    around = Verdict()
    judge_rows(document.text.split("\n"), result, message_reader(document), around, limit_tokens)
    for complaint in around.found["gaps"]:
        if any(sentence[:60] in complaint for sentence in (*document.before, *document.after)):
            verdict.add("gaps", complaint)


def message_reader(document: Document) -> Reader:
    prose = {" ".join(document.before), " ".join(document.after)}

    def read(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
        return [replace(line, prose=line.text in prose) for line in flat(rows, source)]

    return read


class Counts:
    """Results and failures by format."""

    def __init__(self) -> None:
        self.results: Counter[str] = Counter()
        self.failed: dict[str, Counter[str]] = defaultdict(Counter)
        self.examples: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.skipped: dict[str, str] = {}

    def add(self, name: str, seed: int, verdict: Verdict) -> None:
        self.results[name] += 1
        for which, complaints in verdict.found.items():
            self.failed[name][which] += 1
            examples = self.examples[name, which]
            if len(examples) < 3:
                examples.append(f"--seed {seed}: {complaints[0]}")


def run_case(form: Format, seed: int, compressors: list[Compressor], counts: Counts, show: bool) -> None:
    case = make_case(form, seed)
    texts = [document.text for document in case.documents]
    compressor = compressors[seed % MODEL_EVERY == 0]
    try:
        result = compressor.compress(case.query, texts, **case.options)
    except Exception as error:  # noqa: BLE001 - whatever it is, there is no result
        broken = Verdict()
        broken.add("lines", f"raised {type(error).__name__}: {error}")
        counts.add(form.name, seed, broken)
        return
    limit = case.options.get("budget") or case.options["rate"] * result.tokens_before
    if show:
        for at, text in enumerate(texts):
            print(f"----- document {at}: {case.documents[at].form.name}\n{text}")
        print(f"----- {case.query} {case.options}, {result.status}\n{result.text}\n-----")
    for part in result.documents:
        document = case.documents[part.source]
        verdict = judge(document, part.text, limit)
        counts.add(document.form.name, seed, verdict)
        if document is not case.documents[0]:
            for which in verdict.found:
                examples = counts.examples[document.form.name, which]
                if examples and examples[-1].startswith(f"--seed {seed}:"):
                    examples[-1] = f"--only {form.name!r} {examples[-1]}"
        if show:
            for which, complaints in verdict.found.items():
                print("\n".join(f"{document.form.name}, {which}: {complaint}" for complaint in complaints))


def run_all(names: list[str], count: int, seed: int) -> Counts:
    logging.getLogger("tersely").addHandler(logging.NullHandler())
    compressors = [Compressor(DrawnScorer()), Compressor()]
    counts = Counts()
    for number in range(count):
        name = names[number % len(names)]
        try:
            run_case(FORMATS[name], seed + number // len(names), compressors, counts, count == 1)
        except Missing as missing:
            counts.skipped[name] = str(missing)
    counts.skipped = {name: why for name, why in counts.skipped.items() if not counts.results[name]}
    return counts


def show_counts(counts: Counts) -> None:
    width = max(map(len, FORMATS))
    print(" " * width, "results", *(f"{which:>8}" for which in JUDGES))
    total: Counter[str] = Counter()
    for name in sorted(counts.results):
        cells = [counts.failed[name][which] for which in JUDGES]
        total.update(dict(zip(JUDGES, cells, strict=True)))
        print(f"{name:{width}} {counts.results[name]:7}", *(f"{cell or '':>8}" for cell in cells))
    print(f"{'all':{width}} {counts.results.total():7}", *(f"{total[which]:8}" for which in JUDGES))
    for name, why in counts.skipped.items():
        print(f"skipped: {name} ({why})")
    for (name, which), examples in sorted(counts.examples.items()):
        for example in examples:
            print(f"\n{name}, {which}: {example}")


def main() -> int:
    """Run the results of the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="number of the first case of each format")
    parser.add_argument("--only", choices=sorted(FORMATS), help="one format")
    parser.add_argument("--out", type=Path, help="write the counts as JSON")
    args = parser.parse_args()
    started = time.perf_counter()
    counts = run_all([args.only] if args.only else list(FORMATS), args.count, args.seed)
    show_counts(counts)
    print(f"\n{time.perf_counter() - started:.0f} s")
    if args.out:
        rows = {name: {"results": n, **counts.failed[name]} for name, n in sorted(counts.results.items())}
        args.out.write_text(json.dumps({"formats": rows, "skipped": counts.skipped}, indent=2) + "\n")
    return 1 if any(counts.failed.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
