"""The second graph of an artifact: its base model, untouched, which gives sentences their vectors."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transformers import AutoModel

from benchmarks.shared.export import export_encoder, quantise
from benchmarks.shared.passages import find_ranks, join_title
from tersely.runtime.artifacts import load_artifact
from tersely.score.vectors import GRAPH, MAX_PASSAGE_TOKENS, Embedder
from training.export.onnx import strip_notes
from training.run import show_progress
from training.selector_model.config import SelectorConfig
from training.selector_model.groups import Group, GroupDocument
from training.selector_model.model import resolve_base

HELD_OUT = 200
"""Maximum number of questions in the check."""
LONGEST_PASSAGE = 2000
"""Number of characters of a passage in the check; the graph reads only the first window of a longer one."""
CHUNK = 256


def write_sentence_graph(config: SelectorConfig, folder: Path, *, narrowing: bool) -> None:
    """Write the int8 graph of the base model into the folder of an artifact; `narrowing` as in `quantise`."""
    encoder = AutoModel.from_pretrained(resolve_base(config.base_model), attn_implementation="eager")
    target = folder / GRAPH
    full = target.with_name("sentences.onnx")
    export_encoder(encoder, full, max_length=min(MAX_PASSAGE_TOKENS, config.max_length))
    strip_notes(full)
    quantise(full, target, narrowing=narrowing)
    full.unlink()


def measure_retrieval(folder: Path, heldout: Sequence[Group], seed: int) -> dict[str, Any]:
    """Return how well the vectors of the sealed artifact in `folder` find the passages of held-out questions.

    `mrr` is the mean reciprocal rank of the best gold passage, in percent; ties count against it.
    """
    embedder = Embedder(load_artifact(folder))
    pool, gold, questions = _make_pool(random.Random(seed).sample(heldout, len(heldout)))
    queries, passages = (_embed(embedder, texts) for texts in (questions, pool))
    ranks = find_ranks(queries @ passages.T, gold)
    mrr = round(float(100 * np.mean([1 / rank for rank in ranks])), 1)
    return {
        "dimension": embedder.dimension,
        "questions": len(questions),
        "passages": len(pool),
        "mrr": mrr,
    }


def _embed(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    parts = [texts[at : at + CHUNK] for at in range(0, len(texts), CHUNK)]
    rows = [embedder(embedder.layout.tokenize(part)) for part in show_progress("vectors", parts)]
    return np.concatenate(rows)


def _make_pool(groups: Sequence[Group]) -> tuple[list[str], list[set[int]], list[str]]:
    """Return passages, the gold ones of each question, and the questions."""
    chosen = [g for g in groups if _list_gold(g)][:HELD_OUT]
    pool = sorted({join_title(d.title, d.text) for g in chosen for d in g.documents})
    place = {text: i for i, text in enumerate(pool)}
    gold = [{place[join_title(d.title, d.text)] for d in _list_gold(g)} for g in chosen]
    return pool, gold, [g.question for g in chosen]


def _list_gold(group: Group) -> list[GroupDocument]:
    return [d for d in group.documents if any(d.labels) and len(d.text) <= LONGEST_PASSAGE]
