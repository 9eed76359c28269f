"""`python -m benchmarks.quality.reading --reader extractive:DIR --model-reader openai:URL#MODEL`

Does a reader answer as well from compressed documents as from all of them?

Token F1 of each reader's answer, question by question. The readers given by --reader read every system's
output; those given by --model-reader, which cost more, read fewer questions, tersely's output, random
sentences and all documents.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.progress import Progress
from benchmarks.quality.controls import Scorer, beside
from benchmarks.quality.runner import OURS, Remembering
from benchmarks.quality.statistics import bootstrap, paired_difference
from benchmarks.results import add_out, describe, environment, publish, table
from benchmarks.shared.readers import CachedReader, Prompt, Reader, open_reader
from benchmarks.shared.tasks import TASKS, Example, findable
from tersely import Compressor, Document
from tersely.metrics import token_f1
from tersely.runtime.artifacts import load_artifact
from tersely.selector.selector import Selector

NAMES = ("hotpotqa", "qed_nq_10", "squad")
RATES = (0.1, 0.25, 0.5)
WHOLE, RANDOM = "all documents", "random"
OWN = "own"
"""In place of a rate: as much as tersely keeps by itself."""
FEW = (OURS, RANDOM, WHOLE)
"""What a costly reader reads."""

Texts = dict[str, dict[str, list[str]]]
"""By system and rate, the context of each question."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 0 on success, 1 with one line on standard error for anything the caller can mend."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.reading", description=__doc__)
    parser.add_argument("--data", help="data folder; TERSELY_DATA by default")
    parser.add_argument(
        "--reader", action="append", default=[], help="extractive:DIR and the like; repeatable"
    )
    parser.add_argument("--model-reader", action="append", default=[], help="a language model; repeatable")
    parser.add_argument("--limit", type=int, default=400, help="questions of each set")
    parser.add_argument("--model-limit", type=int, default=100, help="of these, for each --model-reader")
    parser.add_argument("--no-minilm", dest="minilm", action="store_false", help="without that control")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--threads", type=int, help="threads that run the model")
    add_out(parser, "reading")
    options = parser.parse_args(arguments)
    return publish("reading", lambda: run(options), markdown, options.out)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The JSON of a run."""
    artifact = load_artifact(None)
    quick = [CachedReader(open_reader(spec)) for spec in options.reader]
    costly = [CachedReader(open_reader(spec)) for spec in options.model_reader]
    selector = Selector.load(artifact, options.threads)
    scorers = beside(selector, minilm=options.minilm, seed=options.seed)
    tasks: dict[str, Any] = {}
    for name in NAMES:
        examples = findable(name, "eval", data=options.data, seed=options.seed, limit=options.limit)
        texts, rate = _compressed(scorers, examples, options.threads, name)
        texts[WHOLE] = {"1.0": [e.whole for e in examples]}
        tasks[name] = {"questions": len(examples), "rate": rate, "f1": {}}
        for reader in quick:
            tasks[name]["f1"][reader.name] = _read(reader, texts, examples)
        for reader in costly:
            few = {system: texts[system] for system in FEW}
            tasks[name]["f1"][reader.name] = _read(reader, few, examples[: options.model_limit])
    return {
        "benchmark": "reading",
        "model": f"{artifact.name}@{artifact.fingerprint}",
        "seed": options.seed,
        "environment": environment(),
        "tasks": tasks,
    }


def _compressed(
    scorers: dict[str, Scorer], examples: Sequence[Example], threads: int | None, name: str
) -> tuple[Texts, dict[str, dict[str, float]]]:
    """The contexts, and the mean share of tokens that each system kept."""
    texts: Texts = {}
    shares: dict[str, dict[str, float]] = {}
    progress = Progress(len(scorers) * len(examples))
    for system, scorer in scorers.items():
        compressor = Compressor(Remembering(scorer), threads=threads)
        limits: dict[str, float | None] = {str(rate): rate for rate in RATES}
        if system == OURS:
            limits[OWN] = None
        texts[system] = {name: [] for name in limits}
        kept: dict[str, list[float]] = {name: [] for name in limits}
        for example in examples:
            documents = [Document(d.text, d.title) for d in example.documents]
            for limit, rate in limits.items():
                found = compressor.compress(example.question, documents, rate=rate)
                texts[system][limit].append(found.text)
                kept[limit].append(found.rate)
            progress.step(f"{name}, {system}")
        shares[system] = {rate: round(float(np.mean(values)), 4) for rate, values in kept.items()}
    progress.close()
    return texts, shares


def _read(reader: Reader, texts: Texts, examples: Sequence[Example]) -> dict[str, dict[str, list[Any]]]:
    """By system and rate, the F1 of each question; None where the reader failed."""
    out: dict[str, dict[str, list[Any]]] = {}
    progress = Progress(sum(len(rates) for rates in texts.values()))
    for system, rates in texts.items():
        out[system] = {}
        for rate, contexts in rates.items():
            pairs = list(zip(examples, contexts, strict=False))
            answers = reader.answer([Prompt(e.question, text) for e, text in pairs])
            out[system][rate] = [
                None if answer is None else round(token_f1(answer, e.answers), 4)
                for answer, (e, _) in zip(answers, pairs, strict=True)
            ]
            progress.step(f"{reader.name}, {system}")
    progress.close()
    return out


def markdown(result: dict[str, Any]) -> str:
    """The section of RESULTS.md for a run's JSON."""
    parts = [
        f"Model {result['model']}. {describe(result['environment'])} Seed {result['seed']}.",
        "F1 of the reader's answer, and in brackets the difference to what it answers from all documents, by "
        "question, with a bootstrap interval of 95 %.",
    ]
    readers = list(next(iter(result["tasks"].values()))["f1"])
    for reader in readers:
        parts += [f"### {reader}", _table(result, reader)]
    return "\n\n".join(parts)


def _table(result: dict[str, Any], reader: str) -> str:
    rows: list[list[str]] = []
    for name, task in result["tasks"].items():
        found = task["f1"][reader]
        whole = found[WHOLE]["1.0"]
        for rate in (*map(str, RATES), OWN, "1.0"):
            for system, rates in found.items():
                if rate not in rates:
                    continue
                share = "1.000" if system == WHOLE else f"{task['rate'][system][rate]:.3f}"
                label = f"**{system}**" if system == OURS else system
                label += ", own threshold" if rate == OWN else ""
                title = f"{TASKS[name].title} ({len(whole)})"
                against = None if system == WHOLE else whole
                rows.append([title, label, share, _cell(rates[rate], against, result["seed"])])
    return table(["set (questions)", "system", "rate", "F1 [difference]"], rows)


def _cell(values: list[Any], whole: list[Any] | None, seed: int) -> str:
    pairs = [(a, b) for a, b in zip(values, whole or values, strict=True) if None not in (a, b)]
    if not pairs:
        return ""
    ours, theirs = np.array(pairs, dtype=float).T
    ones = np.ones(len(ours))
    text = f"{100 * bootstrap(ours, ones, seed).value:.1f}"
    if whole is None:
        return text
    lead = paired_difference(ours, theirs, ones, seed)
    return f"{text} [{100 * lead.value:+.1f}: {100 * lead.low:+.1f}, {100 * lead.high:+.1f}]"


if __name__ == "__main__":
    sys.exit(main())
