"""`tersely calibrate`: a copy of a model with a calibration from the caller's own questions."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tersely.cli.documents import Request, read_requests
from tersely.cli.output import Progress
from tersely.cli.reports import Report
from tersely.compressor import Compressor
from tersely.errors import ArtifactError, InvalidInputError
from tersely.metrics import contains_answer
from tersely.runtime.artifacts import load_artifact, write_manifest
from tersely.score.calibration import Calibration, write_calibration
from tersely.types import Document

RECALLS = (0.8, 0.9, 0.95, 0.98, 0.99)


@dataclass(frozen=True, slots=True)
class Case:
    """A question whose answer is known."""

    query: str
    documents: Sequence[Document]
    answers: Sequence[str]
    """A unit that holds one of these texts is an answer unit."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The scores of a case's units, flat over its documents, and of its best answer unit."""

    answer: float | None
    """None if no unit holds an answer."""
    scores: tuple[float, ...]
    sizes: tuple[int, ...]
    """Characters of each unit."""

    def rate(self, threshold: float) -> float:
        """Share of the characters that a threshold keeps."""
        kept = sum(size for size, score in zip(self.sizes, self.scores, strict=True) if score >= threshold)
        return kept / max(1, sum(self.sizes))


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
    compressor = Compressor(artifact.path, threads=threads)
    measured: list[Measured] = []
    with Progress(len(cases)) as progress:
        for case in cases:
            measured.append(measure(compressor, case))
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


def measure(compressor: Compressor, case: Case) -> Measured:
    """The scores that a compression gives a case. Raises ArtifactError if the model fails."""
    result = compressor.compress(case.query, case.documents)
    if result.status == "failed_open":
        raise ArtifactError(f"{compressor.model} cannot be calibrated: {result.reason}")
    spans = sorted([*result.kept, *result.dropped], key=lambda span: (span.doc, span.start))
    texts = [case.documents[span.doc].text[span.start : span.end] for span in spans]
    answers = [s.score for s, text in zip(spans, texts, strict=True) if contains_answer(text, case.answers)]
    return Measured(max(answers, default=None), tuple(span.score for span in spans), tuple(map(len, texts)))


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
