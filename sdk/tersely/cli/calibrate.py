"""`tersely calibrate`: a copy of a model with a calibration from the caller's own questions."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from tersely.cli.documents import Request, read_requests
from tersely.cli.output import Progress
from tersely.cli.reports import Report
from tersely.errors import InvalidInputError
from tersely.runtime.artifacts import load_artifact, write_manifest
from tersely.selector.calibration import Calibration, Case, Measured, measure, write_calibration
from tersely.selector.selector import Selector

RECALLS = (0.8, 0.9, 0.95, 0.98, 0.99)


def calibrate(model: str | None, threads: int | None, data: str, out: str) -> Report:
    """Write a calibrated copy of `model` to the folder `out`.

    The report says what each recall costs on these questions.

    Raises:
        InvalidInputError: the file has a bad line or no usable question, or the folder is there already.
        ArtifactError: the model is missing or damaged.
    """
    target = Path(out)
    if target.exists():
        raise InvalidInputError(f"{target} exists already. Name a new folder.")
    requests = list(read_requests(data))
    cases = [Case(_question(r, data), r.documents, _answers(r, data)) for r in requests]
    artifact = load_artifact(model)
    selector = Selector.load(artifact, threads)
    measured: list[Measured] = []
    with Progress(len(cases)) as progress:
        for case in cases:
            measured.append(measure(selector, case))
            progress.step()
    scores = tuple(m.answer for m in measured if m.answer is not None)
    if not scores:
        raise InvalidInputError(f"{data}: no document sentence holds one of its answers. Check the answers.")
    calibration = Calibration(scores, {Path(data).stem: len(scores)})
    shutil.copytree(artifact.path, target)
    write_calibration(target, calibration)
    write_manifest(target, **{k: v for k, v in artifact.manifest.items() if k not in ("format", "files")})
    facts = {
        "model": str(target),
        "questions": len(scores),
        "without an answer sentence": len(measured) - len(scores),
        "highest recall": round(calibration.highest_recall, 4),
        "recall": {
            f"{recall:g}": f"threshold {threshold:.4f}, keeps {kept:.1%} of the text"
            for recall, threshold, kept in _costs(calibration, measured)
        },
    }
    return Report("", facts)


def _question(request: Request, data: str) -> str:
    if request.query is None:
        raise InvalidInputError(f"{data}, line {request.line}: there is no 'query'. Add the question.")
    return request.query


def _answers(request: Request, data: str) -> tuple[str, ...]:
    given = request.answers
    items = cast("list[object]", given) if isinstance(given, list) else [given]
    texts = tuple(item for item in items if isinstance(item, str) and item.strip())
    if not texts or len(texts) != len(items):
        raise InvalidInputError(
            f"{data}, line {request.line}: 'answers' has to be the answer's text, or a list of such texts."
        )
    return texts


def _costs(calibration: Calibration, measured: Sequence[Measured]) -> Iterator[tuple[float, float, float]]:
    """Recall, threshold, and the mean share of the text that it keeps, for each recall in reach."""
    for recall in RECALLS:
        if recall <= calibration.highest_recall:
            threshold = calibration.threshold(recall)
            yield recall, threshold, sum(m.rate(threshold) for m in measured) / len(measured)
