"""`python -m benchmarks.quality.dial`: does `recall=` keep its promise?

Coverage is the share of questions whose compressed documents still hold an answer, of those that have one in
some sentence. The questions of the first table come from dev splits, with as many documents as the
calibration, and are mixed as it is: HotpotQA also stands for 2WikiMultihopQA and SQuAD for SQuADShifts, which
have no such split here, and SelQA is missing. For the sets of the second table nothing is promised.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.progress import Progress
from benchmarks.quality.runner import Remembering
from benchmarks.quality.statistics import wilson
from benchmarks.results import add_out, describe, environment, publish, table
from benchmarks.shared.tasks import Example, load, score_kept
from tersely import Compressor, Document
from tersely.errors import TerselyError
from tersely.metrics import contains_answer
from tersely.runtime.artifacts import load_artifact
from tersely.selector.calibration import Calibration
from tersely.selector.selector import Selector
from tersely.text.sentences import split_units

RECALLS = (0.9, 0.95, 0.99)
NEGATIVES = 14
"""Hard negatives beside each passage in the calibration set."""


@dataclass(frozen=True, slots=True)
class Part:
    """A task, and the sets of the calibration that it stands for."""

    task: str
    title: str
    sets: tuple[str, ...] = ()
    negatives: int | None = None


SAME = (
    Part("hotpotqa", "HotpotQA dev", ("hotpotqa", "twowiki")),
    Part("qed_nq_10", "Natural Questions (QED) dev, 14 negatives", ("qed_nq",), NEGATIVES),
    Part("squad", "SQuAD dev, 14 negatives", ("squad_train44", "squadshifts_wiki"), NEGATIVES),
)
OTHER = (
    Part("qed_nq_30", "Natural Questions (QED) dev, 30 negatives"),
    Part("wikiqa", "WikiQA"),
    Part("xquad_en", "XQuAD, English"),
    Part("xquad_de", "XQuAD, German"),
    Part("xquad_zh", "XQuAD, Chinese"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 0 on success, 1 with one line on standard error for anything the caller can mend."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.dial", description=__doc__)
    parser.add_argument("--data", help="data folder; TERSELY_DATA by default")
    parser.add_argument("--model", help="artifact folder (default: the bundled model)")
    parser.add_argument("--limit", type=int, default=500, help="questions of each set, at most")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--threads", type=int, help="threads that run the model")
    add_out(parser, "dial")
    options = parser.parse_args(arguments)
    return publish("dial", lambda: run(options), markdown, options.out)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The JSON of a run."""
    artifact = load_artifact(options.model)
    selector = Selector.load(artifact, options.threads)
    if selector.calibration is None:
        raise TerselyError(f"{artifact.path} has no calibration: export it again, or run `tersely calibrate`")
    compressor = Compressor(Remembering(selector), threads=options.threads)
    parts: dict[str, Any] = {}
    for part in (*SAME, *OTHER):
        examples = load(
            part.task,
            "eval",
            data=options.data,
            limit=options.limit,
            seed=options.seed,
            negatives=part.negatives,
        )
        parts[part.task] = {"title": part.title, **measure(compressor, [e for e in examples if _in_unit(e)])}
    return {
        "benchmark": "dial",
        "model": f"{artifact.name}@{artifact.fingerprint}",
        "seed": options.seed,
        "environment": environment(),
        "calibration": dict(selector.calibration.questions),
        "thresholds": {str(r): selector.calibration.threshold(r) for r in RECALLS},
        "parts": parts,
        "mixed": mixed(parts, selector.calibration),
    }


def _in_unit(example: Example) -> bool:
    """Whether a single sentence holds an answer, as in the calibration's questions."""
    return any(
        contains_answer(d.text[u.start : u.end], example.answers)
        for d in example.documents
        for u in split_units(d.text)
    )


def measure(compressor: Compressor, examples: Sequence[Example]) -> dict[str, Any]:
    """Per recall: kept answers, one 0 or 1 a question, and the mean share of tokens kept."""
    progress = Progress(len(examples))
    kept: dict[str, list[int]] = {str(r): [] for r in RECALLS}
    rates: dict[str, list[float]] = {str(r): [] for r in RECALLS}
    for example in examples:
        documents = [Document(d.text, d.title) for d in example.documents]
        for recall in RECALLS:
            found = compressor.compress(example.question, documents, recall=recall)
            score = score_kept(example, [(s.doc, s.start, s.end) for s in found.kept])
            kept[str(recall)].append(int(bool(score.answer_kept)))
            rates[str(recall)].append(found.rate)
        progress.step("questions")
    progress.close()
    return {
        "questions": len(examples),
        "kept": kept,
        "rate": {r: round(float(np.mean(values)), 4) for r, values in rates.items()},
    }


def mixed(parts: dict[str, Any], calibration: Calibration) -> dict[str, Any]:
    """Coverage over the same sets in the calibration's proportions, with a 95 % interval."""
    weights = np.array([sum(calibration.questions.get(s, 0) for s in p.sets) for p in SAME], dtype=float)
    weights /= weights.sum()
    out: dict[str, Any] = {}
    for recall in map(str, RECALLS):
        rows = [np.array(parts[p.task]["kept"][recall], dtype=float) for p in SAME]
        mean = sum(w * row.mean() for w, row in zip(weights, rows, strict=True))
        variance = sum(w**2 * row.var() / len(row) for w, row in zip(weights, rows, strict=True))
        rate = sum(w * parts[p.task]["rate"][recall] for w, p in zip(weights, SAME, strict=True))
        values = {"coverage": mean, "half": 1.96 * np.sqrt(variance), "rate": rate}
        out[recall] = {name: round(float(value), 4) for name, value in values.items()}
    return out


def markdown(result: dict[str, Any]) -> str:
    """The section of RESULTS.md for a run's JSON."""
    header = ["Answers kept, %"]
    for recall in RECALLS:
        header += [f"promised {100 * recall:g}", "share of tokens"]
    questions: dict[str, int] = result["calibration"]
    sets = ", ".join(f"{name} {count}" for name, count in questions.items())
    together = ["**all three, mixed as the calibration is**"]
    for found in result["mixed"].values():
        together += [f"**{100 * found['coverage']:.1f}** ± {100 * found['half']:.1f}", f"{found['rate']:.3f}"]
    return "\n\n".join(
        [
            f"Model {result['model']}, calibrated on {sum(questions.values())} held-out questions of the "
            f"training sets ({sets}). {describe(result['environment'])} Seed {result['seed']}.",
            "The promise is for questions like those of the calibration. Here they come from dev splits, "
            "mixed as it is; HotpotQA also stands for 2WikiMultihopQA and SQuAD for SQuADShifts, which have "
            "no such split here, and SelQA is missing. A set alone may lie above or below the promise.",
            table(header, [together, *(_row(result["parts"][p.task]) for p in SAME)]),
            "Other sets, for which nothing is promised; `tersely calibrate` makes the promise for one's own.",
            table(header, [_row(result["parts"][p.task]) for p in OTHER]),
        ]
    )


def _row(part: dict[str, Any]) -> list[str]:
    cells = [f"{part['title']} ({part['questions']})"]
    for recall in map(str, RECALLS):
        values = np.array(part["kept"][recall], dtype=float)
        found = wilson(float(values.sum()), len(values))
        share = f"{100 * found.value:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"
        cells += [share, f"{part['rate'][recall]:.3f}"]
    return cells


if __name__ == "__main__":
    sys.exit(main())
