"""A data folder in the benchmarks' format, with texts written for these tests."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

TOWNS = (
    "Orvelle",
    "Brackmoor",
    "Lindisvale",
    "Tarnwick",
    "Ostrahaven",
    "Quillport",
    "Mereford",
    "Haldane Cross",
)
FOUNDERS = (
    "Ada Penrose",
    "Bertil Krans",
    "Chiara Volpi",
    "Dovid Amsel",
    "Edda Stroem",
    "Farid Noori",
    "Greta Oduya",
    "Hugo Lantier",
)
EXPORTS = (
    "salt",
    "copper wire",
    "barley",
    "sail cloth",
    "lamp oil",
    "clay pipes",
    "dried plums",
    "slate roofing",
)


def _town(i: int) -> dict[str, Any]:
    sentences = [
        f"{TOWNS[i]} is a harbour town on the northern coast.",
        f"It was founded by {FOUNDERS[i]} after the great flood.",
        f"Its harbour exports {EXPORTS[i]} to the islands every spring.",
        "Visitors praise the quiet market and the lighthouse.",
    ]
    return {
        "title": TOWNS[i].replace(" ", "_"),
        "text": " ".join(sentences),
        "gold": True,
        "sentences": sentences,
    }


def _span(text: str, answer: str) -> list[list[int]]:
    start = text.index(answer)
    return [[start, start + len(answer)]]


def _single(i: int, prefix: str = "") -> dict[str, Any]:
    doc = _town(i)
    doc |= {"support": [1], "spans": _span(doc["text"], FOUNDERS[i])}
    return {
        "id": f"{prefix}town-{i}",
        "question": f"Who founded {TOWNS[i]}?",
        "answers": [FOUNDERS[i]],
        "docs": [doc],
        "split": "dev",
        "source": "fixture",
        "meta": {},
    }


def _hotpot(i: int) -> dict[str, Any]:
    docs = [dict(_town(k % 8), title=f"{TOWNS[k % 8]} {k}", gold=False, support=[]) for k in range(10)]
    docs[i] |= {"gold": True, "support": [1, 2]}
    verdict = i == 3
    return {
        "id": f"hop-{i}",
        "question": f"What does the town founded by {FOUNDERS[i]} export?",
        "answers": ["yes"] if verdict else [EXPORTS[i]],
        "docs": docs,
        "split": "dev",
        "meta": {},
    }


def _unanswered(i: int) -> dict[str, Any]:
    row = _single(i)
    row["docs"][0] |= {"gold": False, "support": [], "spans": []}
    return {**row, "id": f"none-{i}", "question": f"Which river crosses {TOWNS[i]}?", "answers": []}


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both splits of every task, a handful of questions each."""
    root = tmp_path_factory.mktemp("data")
    turns = [
        f"Speaker {'AB'[k % 2]}: The {EXPORTS[k % 8]} shipment is item {k} of the list ." for k in range(40)
    ]
    meeting = {"title": "meeting-1", "text": "\n".join(turns), "gold": True, "sentences": turns}
    asked = {
        "id": "m-1",
        "question": "What was said about barley?",
        "answers": ["It is on the list."],
        "docs": None,
        "docs_ref": "meeting-1",
        "gold_docs": [0],
        "support": [[0, 2], [0, 10]],
        "split": "val",
        "meta": {},
    }
    general = {k: v for k, v in asked.items() if k != "support"} | {"id": "m-2", "question": "Summarise it."}
    sets = {
        "train": ("hotpotqa", "qed_nq", "squad_train44", "selqa", "qmsum", "twowiki"),
        "eval": ("hotpotqa", "qed_nq", "squad_dev", "wikiqa", "qmsum", "xquad_multilingual"),
    }
    for split, names in sets.items():
        (root / split).mkdir()
        for name in names:
            rows = [_single(i) for i in range(8)]
            if name in ("hotpotqa", "twowiki"):
                rows = [_hotpot(i) for i in range(6)]
            elif name == "qmsum":
                rows = [asked, general]
                stored = [{"docs_ref": "meeting-1", "docs": [meeting]}]
                _write(root / split / "qmsum.docs.jsonl.gz", stored)
            elif name == "wikiqa":
                rows += [_unanswered(i) for i in range(2)]
            elif name == "xquad_multilingual":
                rows = [_single(i, f"{language}:") for language in ("de", "zh") for i in range(7)]
            _write(root / split / f"{name}.jsonl.gz", rows)
    return root
