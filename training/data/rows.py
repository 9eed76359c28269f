"""Reads the training part of a data folder: gzip JSON lines, one question a row.

Only `train/` is ever opened here; benchmarks own `eval/`.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DATA_VARIABLE = "TERSELY_DATA"


@dataclass(frozen=True, slots=True)
class Passage:
    """One source document of a row. `evidence` holds the code-point ranges that answer the question;
    None means that nobody labelled it, which is not the same as "nothing here"."""

    title: str | None
    text: str
    gold: bool | None
    evidence: tuple[tuple[int, int], ...] | None


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    source: str
    question: str
    answers: tuple[str, ...]
    passages: tuple[Passage, ...]
    meta: dict[str, Any] = field(default_factory=dict[str, Any])


def data_folder(value: str | os.PathLike[str] | None) -> Path:
    """The folder given, or the one named by TERSELY_DATA. Raises FileNotFoundError with the remedy."""
    chosen = value or os.environ.get(DATA_VARIABLE)
    if not chosen:
        raise FileNotFoundError(f"no data folder: pass --data DIR or set {DATA_VARIABLE}")
    folder = Path(chosen)
    if not (folder / "train").is_dir():
        raise FileNotFoundError(f"{folder} has no train/ folder; see training/data/README.md for its layout")
    return folder


def iter_rows(folder: Path, name: str) -> Iterator[Row]:
    """Rows of the training set `name`, documents inline and labels as code-point ranges."""
    shared = {d["docs_ref"]: d["docs"] for d in _lines(folder / "train" / f"{name}.docs.jsonl.gz")}
    for raw in _lines(folder / "train" / f"{name}.jsonl.gz"):
        documents = raw.get("docs")
        support: dict[int, list[int]] = {}
        if documents is None:
            documents = shared[raw["docs_ref"]]
            for document, sentence in raw.get("support") or []:
                support.setdefault(document, []).append(sentence)
            gold = set(raw.get("gold_docs") or ())
            documents = [
                {
                    **d,
                    "gold": i in gold if gold else d.get("gold"),
                    "support": support.get(i, []) if raw.get("support") is not None else None,
                }
                for i, d in enumerate(documents)
            ]
        yield Row(
            id=str(raw["id"]),
            source=raw["source"],
            question=raw["question"].strip(),
            answers=tuple(raw["answers"]),
            passages=tuple(_passage(d) for d in documents),
            meta=raw.get("meta") or {},
        )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        if path.name.endswith(".docs.jsonl.gz"):
            return
        raise FileNotFoundError(f"{path} is missing; see training/data/README.md")
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)


def _passage(document: dict[str, Any]) -> Passage:
    text: str = document["text"]
    ranges: list[tuple[int, int]] | None = None
    if document.get("support") is not None and document.get("sentences"):
        located = locate(text, document["sentences"])
        ranges = [located[i] for i in document["support"] if i < len(located) and located[i] is not None]
    if document.get("spans"):
        ranges = (ranges or []) + [(int(a), int(b)) for a, b in document["spans"]]
    title = document.get("title")
    return Passage(
        title=title.replace("_", " ") if title else None,
        text=text,
        gold=document.get("gold"),
        evidence=None if ranges is None else tuple(sorted(set(ranges))),
    )


def locate(text: str, sentences: list[str]) -> list[tuple[int, int] | None]:
    """Where each sentence stands in `text`, searched from left to right; None where it is not found."""
    found: list[tuple[int, int] | None] = []
    cursor = 0
    for sentence in sentences:
        wanted = sentence.strip()
        start = text.find(wanted, cursor)
        if not wanted or start < 0:
            found.append(None)
            continue
        cursor = start + len(wanted)
        found.append((start, cursor))
    return found
