"""The reports of `tersely inspect`, `tersely doctor` and `tersely calibrate`."""

from __future__ import annotations

import os
import platform
import re
import shutil
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO, cast

from tersely import __version__
from tersely.cli.read import DEMO_QUERY, Request, demo_documents, name_file, read_requests
from tersely.cli.show import Report, show_progress
from tersely.compressor import Compressor
from tersely.errors import ArtifactError, InvalidInputError, MissingDependencyError, OfflineError
from tersely.metrics import contains_answer
from tersely.runtime.artifacts import Artifact, load_artifact, write_manifest
from tersely.runtime.workers import usable_cores
from tersely.score.answerable import Answerability, read_answerability, write_answerability
from tersely.score.calibration import Calibration, write_calibration
from tersely.score.layout import check_layout_version
from tersely.score.protocol import Judgement

RECALLS = (0.8, 0.9, 0.95, 0.98, 0.99)
_PACKAGES = ("onnxruntime", "tokenizers", "sentencex", "numpy")
_TIMED_RUNS = 5


def inspect(model: str | None) -> Report:
    """Return a model's card, configuration, verified files and measured metrics.

    Raises ArtifactError if the model is missing or damaged.
    """
    artifact = load_artifact(model, kind=None)
    if artifact.config.get("kind") == "selector":
        check_layout_version(artifact)
    files = artifact.files
    values: dict[str, Any] = {
        "name": artifact.name,
        "path": str(artifact.path),
        "size": _count_bytes(artifact),
        "checksums": f"{len(files)} files verified",
        "files": files,
        "config": {
            key: value for key, value in artifact.config.items() if not isinstance(value, dict | list)
        },
        **artifact.facts,
    }
    return Report(values, heading=_read_card(artifact))


def _count_bytes(artifact: Artifact) -> int:
    """Return the bytes of all files that a model lists."""
    return sum(entry["size"] for entry in artifact.files.values())


def doctor(model: str | None, threads: int | None) -> Report:
    """Return versions, threads, the model, and one timed compression of the sample documents.

    A fault of the model becomes part of the report instead of ending it.
    """
    cores = usable_cores()
    values: dict[str, Any] = {
        "python": f"{platform.python_version()} on {platform.platform()}",
        "packages": {"tersely": __version__, **{name: metadata.version(name) for name in _PACKAGES}},
        "threads": f"{min(threads or cores, cores)} used, {os.cpu_count()} cores in the machine",
        "offline": os.environ.get("TERSELY_OFFLINE", "not set; only a hub name uses the network"),
    }
    problem = None
    try:
        artifact = load_artifact(model)
        check_layout_version(artifact)
        megabytes = _count_bytes(artifact) / 1e6
        values["model"] = f"{artifact.name} at {artifact.path}, {megabytes:.1f} MB, checksums verified"
        values["compression"], problem = _time_compression(model, threads)
    except (ArtifactError, OfflineError, MissingDependencyError) as error:
        problem = str(error)
    return Report({**values, "result": problem or "all is well"}, problem)


def calibrate(model: str | None, threads: int | None, data: BinaryIO, out: Path) -> Report:
    """Write a copy of `model`, calibrated on the questions in the file `data`, to the folder `out`.

    The report says how much text each recall keeps on these questions, and how many of them are refused
    without the documents that hold their answers.

    Raises:
        InvalidInputError: the file has a bad line or no usable question, or the folder exists already.
        ArtifactError: the model is missing or damaged.
    """
    if out.exists():
        raise InvalidInputError(f"{out} exists already. Name a new folder.")
    name = name_file(data)
    cases = [(request, _read_answers(request, name)) for request in read_requests(data)]
    artifact = load_artifact(model)
    compressor = Compressor(artifact.path, threads=threads)
    with show_progress(cases) as progress:
        measured = [_measure(compressor, request, answers) for request, answers in progress]
    found = [case for case in measured if case.score is not None]
    scores = tuple(case.score for case in found if case.score is not None)
    if not scores:
        raise InvalidInputError(f"{name}: no document sentence holds one of its answers. Check the answers.")
    questions = {Path(name).stem: len(scores)}
    calibration = Calibration(scores, questions)
    answerability = read_answerability(artifact)
    if answerability is not None:
        answerability = answerability.calibrate(
            [case.answered for case in found], [case.unanswered for case in measured], questions
        )
    shutil.copytree(artifact.path, out)
    write_calibration(out, calibration)
    if answerability is not None:
        write_answerability(out, answerability)
    write_manifest(out, **artifact.facts)
    recalls: dict[str, str] = {}
    abstentions: dict[str, str] = {}
    for share in RECALLS:
        if share <= calibration.highest_recall:
            recalls[f"{share:g}"] = _describe_recall(calibration, share, measured)
        # Questions in an unknown script count for recall, but are not judged.
        if answerability is not None and share <= answerability.answered.highest_recall:
            abstentions[f"{share:g}"] = _describe_abstention(answerability, share)
    return Report(
        {
            "model": str(out),
            "questions": len(scores),
            "without an answer sentence": len(measured) - len(scores),
            "highest recall": calibration.highest_recall,
            "recall": recalls,
            "abstain": abstentions,
        }
    )


@dataclass(frozen=True, slots=True)
class _Case:
    """The scores of one question."""

    score: float | None
    """Best score of a unit that holds an answer."""
    units: list[tuple[float, int]]
    """Score and characters of every unit."""
    answered: Judgement
    unanswered: Judgement
    """The judgement without the documents that hold an answer."""


def _describe_recall(calibration: Calibration, recall: float, cases: Sequence[_Case]) -> str:
    threshold = calibration.threshold(recall)
    kept = statistics.fmean(_share_kept(case.units, threshold) for case in cases)
    low, high = calibration.interval(recall)
    return (
        f"threshold {threshold:.4f}, keeps {kept:.1%} of the text, and the answer of {low:.0%} to {high:.0%} "
        "of further questions"
    )


def _describe_abstention(answerability: Answerability, share: float) -> str:
    passed, refused = answerability.answered.interval(share), answerability.refused_interval(share)
    return (
        f"lets {passed[0]:.0%} to {passed[1]:.0%} of further questions with an answer through, and refuses "
        f"{refused[0]:.0%} to {refused[1]:.0%} of those without one"
    )


def _measure(compressor: Compressor, request: Request, answers: Sequence[str]) -> _Case:
    result = compressor.compress(request.query, request.documents)
    if result.status == "failed_open":
        raise ArtifactError(f"{compressor.model} cannot be calibrated: {result.reason}")
    spans = [*result.kept, *result.dropped]
    texts = [request.documents[span.doc].text[span.start : span.end] for span in spans]
    found = [span.score for span, text in zip(spans, texts, strict=True) if contains_answer(text, answers)]
    units = [(span.score, len(text)) for span, text in zip(spans, texts, strict=True)]
    others = [document for document in request.documents if not contains_answer(document.text, answers)]
    without = compressor.compress(request.query, others)
    judgements = (Judgement(each.answerable, each.distance) for each in (result, without))
    return _Case(max(found, default=None), units, *judgements)


def _share_kept(units: Sequence[tuple[float, int]], threshold: float) -> float:
    kept = sum(characters for score, characters in units if score >= threshold)
    return kept / max(1, sum(characters for _, characters in units))


def _read_answers(request: Request, file: str) -> list[str]:
    if request.error is not None:
        raise request.error
    where = f"{file}, line {request.line}"
    if request.query is None:
        raise InvalidInputError(f"{where}: there is no 'query'. Add the question.")
    answers = request.answers
    items = cast("list[object]", answers) if isinstance(answers, list) else [answers]
    texts = [item for item in items if isinstance(item, str) and item.strip()]
    if not texts or len(texts) != len(items):
        raise InvalidInputError(f"{where}: 'answers' has to be the answer's text, or a list of such texts.")
    return texts


def _time_compression(model: str | None, threads: int | None) -> tuple[dict[str, str], str | None]:
    """Time the compression of the sample documents. Return measurements, and the problem if there is one."""
    documents = demo_documents()
    start = time.perf_counter()
    compressor = Compressor(model, threads=threads)
    result = compressor.compress(DEMO_QUERY, documents)
    first = time.perf_counter() - start
    runs = [compressor.compress(DEMO_QUERY, documents).timings["total"] for _ in range(_TIMED_RUNS)]
    values = {
        "documents": f"{len(documents)}, {result.tokens_before:,} -> {result.tokens_after:,} tokens",
        "first": f"{first * 1000:.0f} ms with loading",
        "next": f"{statistics.median(runs) * 1000:.0f} ms, median of {_TIMED_RUNS}",
    }
    return values, result.reason if result.status == "failed_open" else None


def _read_card(artifact: Artifact) -> str:
    """Return the model card from its title to its first section, without the YAML in front."""
    card = artifact.path / "README.md"
    if not card.is_file():
        return ""
    text = re.sub(r"\A---\n.*?\n---\n", "", card.read_text(encoding="utf-8"), flags=re.DOTALL)
    return text.split("\n## ")[0].strip()
