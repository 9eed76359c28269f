"""`python -m benchmarks.quality.allocation`: how a budget is shared between documents.

ZipRL's Theorem 4.1 says that detail which rises with relevance beats the same detail for every document, at
the same budget. Three ways to spend it, on the same scores of the same sentences:

- uniform: the next sentence goes to the document that has the fewest tokens with it, its own best;
- by level: the same, but a document's tokens count by the detail of its relevance level (ZipRL's five);
- one pool: no shares; the packer takes the best sentences wherever they stand, as `compress` does.

All three go on until nothing fits.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from math import floor
from typing import Any

import numpy as np

from benchmarks.progress import Progress
from benchmarks.quality.statistics import bootstrap, paired_difference
from benchmarks.results import add_out, describe, environment, publish, table
from benchmarks.shared.tasks import TASKS, Example, KeptSpan, load, score_kept
from tersely.levels import choose_level
from tersely.packing.fill import Candidate, Place, pack, priority, sort_by_priority
from tersely.runtime.artifacts import load_artifact
from tersely.selector import DocumentScores, ScoredInput
from tersely.selector.selector import Selector
from tersely.text.sentences import split_units
from tersely.text.tokens import resolve_counter

NAMES = ("hotpotqa", "qed_nq_10", "squad")
RATES = (0.05, 0.1, 0.25)

Shares = Callable[[Sequence[DocumentScores]], list[float]]


def uniform(scored: Sequence[DocumentScores]) -> list[float]:
    return [1.0 for _ in scored]


def by_level(scored: Sequence[DocumentScores]) -> list[float]:
    """The middle of the character range of each document's level."""
    return [sum(choose_level(s.relevance).characters) / 2 for s in scored]


SYSTEMS: dict[str, Shares | None] = {"uniform": uniform, "by level": by_level, "one pool": None}


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 0 on success, 1 with one line on standard error for anything the caller can mend."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.allocation", description=__doc__)
    parser.add_argument("--data", help="data folder; TERSELY_DATA by default")
    parser.add_argument("--limit", type=int, default=200, help="questions of each set, at most")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--threads", type=int, help="threads that run the model")
    add_out(parser, "allocation")
    options = parser.parse_args(arguments)
    return publish("allocation", lambda: run(options), markdown, options.out)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The JSON of a run: per task, system and rate the answers and the supporting sentences kept."""
    artifact = load_artifact(None)
    selector = Selector.load(artifact, options.threads)
    tasks: dict[str, Any] = {}
    for name in NAMES:
        examples = load(name, "eval", data=options.data, limit=options.limit, seed=options.seed)
        progress = Progress(len(examples))
        rows: dict[str, dict[str, list[list[float]]]] = {s: {str(r): [] for r in RATES} for s in SYSTEMS}
        for example in examples:
            for (system, rate), kept in keep(selector, example).items():
                score = score_kept(example, kept)
                answer = float("nan") if score.answer_kept is None else float(score.answer_kept)
                support = (score.support_kept or 0.0) * score.supports
                rows[system][str(rate)].append([answer, support, float(score.supports)])
            progress.step(name)
        progress.close()
        tasks[name] = {
            system: {
                rate: summary(np.array(found), np.array(rows["uniform"][rate]), options.seed)
                for rate, found in cells.items()
            }
            for system, cells in rows.items()
        }
        tasks[name]["questions"] = len(examples)
    return {
        "benchmark": "allocation",
        "model": f"{artifact.name}@{artifact.fingerprint}",
        "seed": options.seed,
        "environment": environment(),
        "tasks": tasks,
    }


def keep(selector: Selector, example: Example) -> dict[tuple[str, float], list[KeptSpan]]:
    """What each system keeps at each rate, from one scoring."""
    count = resolve_counter(None).count
    units = [split_units(d.text) for d in example.documents]
    inputs = [ScoredInput(d.title, d.text, u) for d, u in zip(example.documents, units, strict=True)]
    scored = selector.score(example.question, inputs)
    costs = [[count(d.text[u.start : u.end]) for u in d.units] for d in inputs]
    titles = [count(f"{d.title}\n") if d.title else 0 for d in example.documents]
    sizes = [sum(c) + t for c, t in zip(costs, titles, strict=True)]
    items = sort_by_priority(
        [
            Candidate(
                doc, unit, priority(float(worth), costs[doc][unit], selector.length_price), costs[doc][unit]
            )
            for doc, s in enumerate(scored)
            for unit, worth in enumerate(s.scores if s.packing_scores is None else s.packing_scores)
        ]
    )
    out: dict[tuple[str, float], list[KeptSpan]] = {}
    for system, shares in SYSTEMS.items():
        for rate in RATES:
            room = floor(rate * sum(sizes))
            if shares is None:
                chosen, _ = pack(items, titles, room)
            else:
                chosen = take_turns(items, titles, room, shares(scored))
            out[system, rate] = [(d, units[d][u].start, units[d][u].end) for d, u in sorted(chosen)]
    return out


def take_turns(
    items: Sequence[Candidate], titles: Sequence[int], room: int, shares: Sequence[float]
) -> frozenset[Place]:
    """The best sentence that fits of the document that then has the fewest tokens for its share, again and
    again; `items` are best first."""
    waiting: dict[int, list[Candidate]] = {}
    for item in items:
        waiting.setdefault(item.doc, []).append(item)
    spent = dict.fromkeys(waiting, 0)
    chosen: set[tuple[int, int]] = set()
    while True:
        offers: list[tuple[float, int, int, Candidate]] = []
        for doc, own in waiting.items():
            title = 0 if spent[doc] else titles[doc]
            item = next((i for i in own if i.cost + title <= room), None)
            if item:
                price = item.cost + title
                offers.append(((spent[doc] + price) / shares[doc], doc, price, item))
        if not offers:
            return frozenset(chosen)
        _, doc, price, item = min(offers, key=lambda offer: offer[:2])
        waiting[doc].remove(item)
        room -= price
        spent[doc] += price
        chosen.add((doc, item.unit))


def summary(found: np.ndarray, base: np.ndarray, seed: int) -> dict[str, Any]:
    """Answers and support kept, and the answers' lead over uniform shares, with intervals; columns are
    answer, support kept, supports."""
    answered = ~np.isnan(found[:, 0])
    ones = np.ones(int(answered.sum()))
    answers = bootstrap(found[answered, 0], ones, seed)
    lead = paired_difference(found[answered, 0], base[answered, 0], ones, seed)
    out: dict[str, Any] = {
        "answers": round(answers.value, 4),
        "lead": [round(x, 4) for x in (lead.value, lead.low, lead.high)],
    }
    if found[:, 2].sum():
        out["support"] = round(float(found[:, 1].sum() / found[:, 2].sum()), 4)
    return out


def markdown(result: dict[str, Any]) -> str:
    """The section of RESULTS.md for a run's JSON."""
    header = ["", "rate", "uniform", "by level", "lead over uniform", "one pool", "lead over uniform"]
    rows: list[list[str]] = []
    for name, systems in result["tasks"].items():
        for rate in map(str, RATES):
            cells = [f"{TASKS[name].title} ({systems['questions']})", rate]
            for system in SYSTEMS:
                found = systems[system][rate]
                support = f" / {100 * found['support']:.1f}" if "support" in found else ""
                cells.append(f"{100 * found['answers']:.1f}{support}")
                if system != "uniform":
                    lead, low, high = (100 * x for x in found["lead"])
                    cells.append(f"{lead:+.1f} [{low:+.1f}, {high:+.1f}]")
            rows.append(cells)
    return "\n\n".join(
        [
            f"Model {result['model']}. {describe(result['environment'])} Seed {result['seed']}.",
            "Answers / supporting sentences kept, in percent; the lead is that of answers.",
            table(header, rows),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
