"""Random documents and options, and a check that a compressed text leads back to its original."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

QUERY = "tower lamp"
_WORDS = ["tower", "lamp.", "Ada", "灯塔。", "sea!", "e\u0301", "😀", "\n\n", "1904"]
_LIMITS: list[dict[str, Any]] = [{}, {"rate": 0.5}, {"budget": 9}, {"max_docs": 1}, {"level": 1}]


def random_text(rng: random.Random) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(0, 30)))


def random_options(rng: random.Random) -> dict[str, Any]:
    return {"order": rng.choice(["source", "rerank"]), **rng.choice(_LIMITS)}


def check_spans(text: str, original: str, spans: Sequence[dict[str, int]]) -> None:
    """Every character of `text` but whitespace and marks stands in a span, and every span in the original."""
    uncovered = set(range(len(text)))
    for span in spans:
        piece = slice(span["at"], span["at"] + span["end"] - span["start"])
        assert text[piece] == original[span["start"] : span["end"]]
        uncovered -= set(range(piece.start, piece.stop))
    assert spans
    rest = "".join(text[place] for place in sorted(uncovered))
    assert not re.sub(r"\[…\]|…", "", rest).strip()
