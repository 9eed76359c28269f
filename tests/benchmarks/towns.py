"""Texts about towns that do not exist, as rows of the benchmarks' data format."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]

TOWNS, FOUNDERS, EXPORTS = zip(
    ("Orvelle", "Ada Penrose", "salt"),
    ("Brackmoor", "Bertil Krans", "copper wire"),
    ("Lindisvale", "Chiara Volpi", "barley"),
    ("Tarnwick", "Dovid Amsel", "sail cloth"),
    ("Ostrahaven", "Edda Stroem", "lamp oil"),
    ("Quillport", "Farid Noori", "clay pipes"),
    ("Mereford", "Greta Oduya", "dried plums"),
    ("Haldane Cross", "Hugo Lantier", "slate roofing"),
    strict=True,
)
ANSWERED_BY_YES = 3
"""The question of the HotpotQA fixture that has no answer to keep."""

SETS = {
    "train": ("hotpotqa", "qed_nq", "squad_train44", "selqa", "qmsum", "twowiki", "package_questions"),
    "eval": (
        *("hotpotqa", "qed_nq", "squad_dev", "wikiqa", "qmsum", "xquad_multilingual", "package_questions"),
        "wice",
    ),
}


def make_town(i: int) -> Row:
    """Return a document of four sentences about one town."""
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


def make_single(i: int, prefix: str = "") -> Row:
    """Return a question that one document answers."""
    doc = make_town(i)
    start = doc["text"].index(FOUNDERS[i])
    doc |= {"support": [1], "spans": [[start, start + len(FOUNDERS[i])]]}
    return {
        "id": f"{prefix}town-{i}",
        "question": f"Who founded {TOWNS[i]}?",
        "answers": [FOUNDERS[i]],
        "docs": [doc],
        "split": "dev",
        "source": "fixture",
        "meta": {},
    }


def make_two_hop(i: int) -> Row:
    """Return a question over ten documents, whose answer needs two sentences."""
    docs = [dict(make_town(k % 8), title=f"{TOWNS[k % 8]} {k}", gold=False, support=[]) for k in range(10)]
    docs[i] |= {"gold": True, "support": [1, 2]}
    return {
        "id": f"hop-{i}",
        "question": f"What does the town founded by {FOUNDERS[i]} export?",
        "answers": ["yes"] if i == ANSWERED_BY_YES else [EXPORTS[i]],
        "docs": docs,
        "split": "dev",
        "meta": {},
    }


def make_claim(i: int) -> Row:
    """Return a claim that sentence 1 supports, and so do sentences 0 and 2 together."""
    doc = make_town(i)
    labels = {"label": "supported" if i else "not_supported", "sets": [[1], [0, 2]] if i else [[]]}
    doc |= {"gold": True if i else None, "support": [0, 1, 2] if i else []}
    return {**make_single(i), "id": f"claim-{i}", "answers": [], "docs": [doc], "meta": labels}


def make_unanswered(i: int) -> Row:
    """Return a question that its document does not answer."""
    row = make_single(i)
    row["docs"][0] |= {"gold": False, "support": [], "spans": []}
    return {**row, "id": f"none-{i}", "question": f"Which river crosses {TOWNS[i]}?", "answers": []}


def make_meeting() -> tuple[list[Row], Row]:
    """Return two questions about one meeting, and the meeting. The second question has no labels."""
    turns = [
        f"Speaker {'AB'[k % 2]}: The {EXPORTS[k % 8]} shipment is item {k} of the list ." for k in range(40)
    ]
    meeting = {"title": "meeting-1", "text": "\n".join(turns), "gold": True, "sentences": turns}
    specific = {
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
    general = {k: v for k, v in specific.items() if k != "support"}
    general |= {"id": "m-2", "question": "Summarise it."}
    return [specific, general], {"docs_ref": "meeting-1", "docs": [meeting]}


def make_rows(name: str) -> list[Row]:
    """Return the rows of a set, by its file name."""
    if name in ("hotpotqa", "twowiki", "package_questions"):
        return [make_two_hop(i) for i in range(6)]
    if name == "qmsum":
        return make_meeting()[0]
    if name == "wice":
        return [make_claim(i) for i in range(4)]
    if name == "xquad_multilingual":
        counts = dict.fromkeys(("de", "zh", "ar", "el", "es", "hi", "ro", "ru", "tr", "vi"), 7) | {"th": 5}
        return [make_single(i, f"{language}:") for language, count in counts.items() for i in range(count)]
    rows = [make_single(i) for i in range(8)]
    return [*rows, *(make_unanswered(i) for i in range(2))] if name == "wikiqa" else rows


def write_rows(path: Path, rows: list[Row]) -> None:
    """Write gzipped JSON lines; the folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)


def write_data_folder(root: Path) -> None:
    """Write both splits of every set, with a few questions each."""
    for split, names in SETS.items():
        for name in names:
            write_rows(root / split / f"{name}.jsonl.gz", make_rows(name))
        write_rows(root / split / "qmsum.docs.jsonl.gz", [make_meeting()[1]])
