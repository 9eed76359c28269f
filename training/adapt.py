"""`python -m training.adapt --data MY.jsonl --out MODEL`: fit a model to questions of your own.

Each line of the file is a question in the form that `tersely calibrate` reads. At least 50 are needed:

    {"query": "...", "documents": ["...", {"title": "...", "text": "..."}], "answers": ["..."]}

A sentence counts as needed if it holds an answer. A line may have `"evidence": ["..."]` with texts that are
copied from the documents. Then the sentences that these texts cover count as needed instead.

The networks stay as they are. The command fits the layer that weighs their outputs and the exact matches. The
fit starts from the layer's present weights. The command also fits the threshold and the calibration of
`recall`. It measures each question with a layer that was fitted without that question. If the new layer does
not keep more of the needed sentences, the command says so, writes nothing, and exits with 3.

The command copies the data for `abstain` and `calibrated` from the model that it starts from. To fit them to
your questions too, run `tersely calibrate --model MODEL`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from benchmarks.shared.statistics import Estimate, bootstrap_difference
from tersely.cli.read import Request, read_requests
from tersely.errors import TerselyError
from tersely.metrics import Range
from tersely.runtime.artifacts import Artifact, load_artifact, write_manifest
from tersely.score.calibration import write_calibration
from tersely.score.features import first_features
from tersely.score.fusion import Fusion, LinearLayer
from tersely.score.matching import Floats
from tersely.score.selector import Selector
from training.export.artifact import TARGET_RECALL
from training.export.calibration import build_calibration
from training.export.fit_fusion import (
    Case,
    choose_threshold,
    cross_fit,
    fit_towards,
    make_inputs,
    split_by_document,
)
from training.run import run_command, show_progress
from training.selector_model.groups import Group, label_document
from training.selector_model.questions import LabelledDocument, find_evidence, read_answers
from training.selector_model.scores import GroupScores, count_support

FEWEST = 50
"""Smallest number of questions with a needed sentence. With fewer, chance hides any difference."""
RATES = (0.1, 0.25)
NOT_BETTER = 3
"""Exit code if the new layer does not keep more of the needed sentences."""


class UnusableDataError(Exception):
    """The file cannot be used; the text names each line and says what to do."""


def read_questions(path: Path) -> tuple[list[Group], int]:
    """Return the questions with a needed sentence, and the number of the others.

    Raises UnusableDataError if a line is wrong or fewer than FEWEST questions are left.
    """
    problems: list[str] = []
    groups: list[Group] = []
    unlabelled = 0
    with path.open("rb") as file:
        for request in read_requests(file):
            try:
                group = make_group(request)
            except (TerselyError, ValueError) as error:
                problems.append(str(error))
                continue
            if any(1 in d.labels for d in group.documents):
                groups.append(group)
            else:
                unlabelled += 1
    if problems:
        raise UnusableDataError("\n".join(problems))
    if len(groups) < FEWEST:
        raise UnusableDataError(
            f"{path}: {len(groups)} questions have a sentence that holds an answer or is evidence, and "
            f"{unlabelled} have none. At least {FEWEST} are needed: add questions, or check their answers."
        )
    return groups, unlabelled


def make_group(request: Request) -> Group:
    """Return a question with labelled documents. Without evidence, the answers are looked for.

    Raises the request's error, or ValueError for labels that cannot be used.
    """
    if request.error is not None:
        raise request.error
    where = f"line {request.line}"
    answers = read_answers(request.answers or [], where)
    texts = _check_evidence(request.evidence, where)
    if not request.query or not request.query.strip():
        raise ValueError(f'{where}: "query" is missing or empty.')
    if not answers and not texts:
        raise ValueError(f'{where}: it has neither "answers" nor "evidence", so nothing can be learned.')
    documents: list[LabelledDocument] = []
    missing = set(texts)
    for document in request.documents:
        spans = _find_texts(document.text, texts)
        missing -= {document.text[a:b] for a, b in spans}
        if not texts:
            spans = set(find_evidence(document.text, None, answers))
        documents.append(LabelledDocument(document.title, document.text, tuple(sorted(spans))))
    if missing:
        raise ValueError(
            f"{where}: the evidence {min(missing)[:60]!r} is in no document. Copy it as it is there."
        )
    labelled = [d for d in map(label_document, documents) if d.units]
    return Group(f"{where} {request.query}", "own", request.query, answers, labelled)


def adapt(
    selector: Selector, groups: Sequence[Group]
) -> tuple[LinearLayer, list[GroupScores], list[GroupScores]]:
    """Return a first layer fitted to all questions, each question's scores by the model's layer, and each
    question's scores by a layer that was fitted without it."""
    torch.set_num_threads(1)  # threads make so small a layer slower
    cases = [Case.make(group) for group in groups]
    inputs = [make_inputs(group) for group in groups]
    passes = [
        selector.first_pass(g.question, i) for g, i in zip(show_progress("read", groups), inputs, strict=True)
    ]
    features = [first_features(done.matches, done.logits, done.near) for done in passes]
    prior = selector.fusion.first_layer

    def fit(part: Sequence[int]) -> LinearLayer:
        return fit_towards(prior, [features[i] for i in part], [cases[i] for i in part])

    layers = cross_fit(cases, fit)

    def score(at: int, layer: LinearLayer) -> GroupScores:
        fusion = replace(selector.fusion, first_layer=layer)
        changed = Selector(
            selector.encoder,
            selector.layout,
            fusion,
            selector.idf,
            selector.threshold,
            embedder=selector.embedder,
        )
        return split_by_document(cases[at], changed.read(groups[at].question, inputs[at]).logits)

    rows = list(enumerate(layers))
    before = [score(at, prior) for at, _ in show_progress("before", rows)]
    after = [score(at, layer) for at, layer in show_progress("after", rows)]
    return fit(range(len(cases))), before, after


def compare(before: Sequence[GroupScores], after: Sequence[GroupScores], rate: float) -> Estimate:
    """Return the change in the share of needed sentences that are kept at this rate, with its interval."""
    old, total = _count(before, rate)
    new, _ = _count(after, rate)
    return bootstrap_difference(new, old, total, seed=13)


def is_better(differences: Sequence[Estimate]) -> bool:
    """Return whether the interval of at least one difference is above zero, and no interval is below it."""
    standings = {difference.standing for difference in differences}
    return "ahead" in standings and "behind" not in standings


def write_model(artifact: Artifact, fusion: Fusion, after: Sequence[GroupScores], out: Path) -> None:
    """Write a copy of the artifact with the fusion, and with threshold and calibration from the scores."""
    shutil.copytree(artifact.path, out)
    fusion.save(out)
    write_calibration(out, build_calibration(after))
    config = artifact.config | {"threshold": choose_threshold(after, TARGET_RECALL)}
    (out / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    facts = {k: v for k, v in artifact.manifest.items() if k not in ("format", "files")}
    write_manifest(out, **facts, adapted_to=f"{len(after)} questions of the user's own")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m training.adapt", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--data", type=Path, required=True, help="your questions, a line each")
    parser.add_argument("--out", type=Path, required=True, help="new folder for the model")
    parser.add_argument("--model", help="the model to start from; the bundled one by default")
    args = parser.parse_args(arguments)
    if args.out.exists():
        parser.error(f"{args.out} exists already; name a new folder")
    try:
        groups, unlabelled = read_questions(args.data)
        artifact = load_artifact(args.model)
        selector = Selector.load(artifact)
    except (OSError, UnusableDataError, TerselyError) as error:
        print(error, file=sys.stderr)
        return 2
    layer, before, after = adapt(selector, groups)
    differences = [compare(before, after, rate) for rate in RATES]
    print(render_table(before, after, differences, unlabelled))
    if not is_better(differences):
        print(f"The new layer is not better for these questions. Keep {artifact.name}; nothing was written.")
        return NOT_BETTER
    write_model(artifact, replace(selector.fusion, first_layer=layer), after, args.out)
    print(f'Written to {args.out}: Compressor("{args.out}")')
    return 0


def render_table(
    before: Sequence[GroupScores],
    after: Sequence[GroupScores],
    differences: Sequence[Estimate],
    unlabelled: int,
) -> str:
    """Return the shares kept before and after at each rate, as text."""
    lines = [f"{len(before)} questions; {unlabelled} more have no sentence that holds an answer"]
    lines.append("needed sentences kept    before   after   difference (95 % interval)")
    for rate, difference in zip(RATES, differences, strict=True):
        shares = []
        for scored in (before, after):
            kept, total = _count(scored, rate)
            shares.append(100 * kept.sum() / total.sum())
        d = [100 * x for x in (difference.value, difference.low, difference.high)]
        interval = f"{d[0]:+.1f} ({d[1]:+.1f} to {d[2]:+.1f})"
        lines.append(f"at {rate:<4} of the text       {shares[0]:6.1f}  {shares[1]:6.1f}   {interval}")
    return "\n".join(lines)


def _check_evidence(value: object, where: str) -> list[str]:
    """Return the texts. Raises ValueError if the value is neither a list of texts nor missing."""
    texts = [] if value is None else value
    if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise ValueError(f'{where}: expected "evidence": [string, ...], and no empty string.')
    return texts


def _find_texts(text: str, wanted: Sequence[str]) -> set[Range]:
    places = ((text.find(own), len(own)) for own in wanted)
    return {(at, at + length) for at, length in places if at >= 0}


def _count(scored: Sequence[GroupScores], rate: float) -> tuple[Floats, Floats]:
    rows = np.array([count_support(item, rate) for item in scored], dtype=np.float64)
    return rows[:, 0], rows[:, 1]


if __name__ == "__main__":
    run_command(main, "Nothing was written; the same command starts again.")
