"""Read questions of one's own, in the form that `tersely calibrate` reads, with answers or evidence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tersely.cli.read import Request, read_requests
from tersely.errors import TerselyError
from tersely.metrics import Range
from training.selector_model.groups import Group, label_document
from training.selector_model.questions import LabelledDocument, find_evidence, read_answers

FEWEST = 50
"""Smallest number of questions with a needed sentence. With fewer, chance hides any difference."""


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


def _check_evidence(value: object, where: str) -> list[str]:
    """Return the texts. Raises ValueError if the value is neither a list of texts nor missing."""
    texts = [] if value is None else value
    if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise ValueError(f'{where}: expected "evidence": [string, ...], and no empty string.')
    return texts


def _find_texts(text: str, wanted: Sequence[str]) -> set[Range]:
    places = ((text.find(own), len(own)) for own in wanted)
    return {(at, at + length) for at, length in places if at >= 0}
