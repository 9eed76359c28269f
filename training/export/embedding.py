"""The embedding head of an artifact: one linear projection of the encoder's pooled hidden states.

It starts as the ridge regression to all-MiniLM-L6-v2's embeddings, rotated to their principal axes. It then
learns to find the passage of a question among others (InfoNCE over a batch, both ways). A penalty keeps the
similarities inside a batch of any texts near MiniLM's.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from benchmarks.shared.minilm import embed_cached, find_weights
from benchmarks.shared.passages import find_ranks, join_title
from tersely.errors import MissingDependencyError
from tersely.runtime.artifacts import load_artifact
from tersely.score.vectors import PROJECTION, Pooler
from training.run import show_progress
from training.selector_model.groups import Group, GroupDocument

DIMENSION = 192
PAIRS = 6000
"""Maximum number of training questions, each with a passage and one of its sentences."""
HELD_OUT = 200
"""Maximum number of questions in the check."""
LONGEST = 2000
"""Characters of a passage; the encoder reads only the first window of a longer one."""
RIDGE = 1e-3
"""Relative to the mean squared feature."""
EPOCHS = 6
BATCH = 512
LEARNING_RATE = 3e-4
SCALE = 20.0
"""Factor of cosines before the softmax."""
HOLD = 10.0
"""Weight of the squared difference to MiniLM's similarities."""
CHUNK = 256

Floats = NDArray[np.float64]


def write_projection(
    folder: Path, training: Sequence[Group], heldout: Sequence[Group], seed: int
) -> dict[str, Any] | None:
    """Fit the projection of the sealed artifact in `folder` and write it there.

    Returns how well it retrieves the passages of held-out questions, and how well MiniLM itself does.
    Without MiniLM's weights it writes nothing and returns None.
    """
    try:
        find_weights()
    except MissingDependencyError as error:
        warnings.warn(f"the model gets no sentence embeddings: {error}", stacklevel=2)
        return None
    pooler = Pooler(load_artifact(folder))
    rng = random.Random(seed)
    questions, passages, sentences = zip(*_draw_triples(training, rng), strict=True)
    texts = [*questions, *passages, *sentences]
    pooled, targets = _pool_texts(pooler, texts), embed_cached(texts).astype(np.float64)
    axes = np.linalg.svd(targets, full_matrices=False)[2][:DIMENSION].T
    projection = train_projection(fit_ridge(pooled, targets @ axes), pooled, targets, len(questions), seed)
    # Move most of the length into the first numbers; the dot products do not change.
    projection = projection @ np.linalg.svd(_normalise(pooled @ projection), full_matrices=False)[2].T
    np.savez_compressed(folder / PROJECTION, projection=projection.astype(np.float16))
    pool, gold, queries = _make_pool(rng.sample(heldout, len(heldout)))
    own = [_normalise(_pool_texts(pooler, part) @ projection) for part in (queries, pool)]
    theirs = [embed_cached(part) for part in (queries, pool)]
    return {
        "dimension": projection.shape[1],
        "questions": len(queries),
        "passages": len(pool),
        "mrr": reciprocal_rank(own[0] @ own[1].T, gold),
        "mrr_minilm": reciprocal_rank(theirs[0] @ theirs[1].T, gold),
    }


def fit_ridge(pooled: Floats, targets: Floats) -> Floats:
    """Fit the projection (features, dimension) that maps `pooled` (n, features) closest to `targets` (n,
    dimension)."""
    squares = pooled.T @ pooled
    squares[np.diag_indices_from(squares)] += RIDGE * np.trace(squares) / len(squares)
    return np.linalg.solve(squares, pooled.T @ targets)


def train_projection(start: Floats, pooled: Floats, targets: Floats, pairs: int, seed: int) -> Floats:
    """Train the projection with contrastive steps; rows i and pairs + i of `pooled` belong together."""
    generator = torch.Generator().manual_seed(seed)
    weight = torch.tensor(start, dtype=torch.float32, requires_grad=True)
    x, t = (torch.tensor(values, dtype=torch.float32) for values in (pooled, targets))
    optimizer = torch.optim.Adam([weight], lr=LEARNING_RATE)
    for _ in range(EPOCHS):
        order = torch.randperm(pairs, generator=generator)
        for rows in order.split(BATCH):
            loss = contrastive_loss(x[rows] @ weight, x[pairs + rows] @ weight)
            others = torch.randint(len(x), (2 * BATCH,), generator=generator)
            mine = functional.normalize(x[others] @ weight, dim=1)
            loss = loss + HOLD * (mine @ mine.T - t[others] @ t[others].T).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return weight.detach().numpy().astype(np.float64)


def contrastive_loss(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Return InfoNCE both ways: row i of one belongs to row i of the other, both (n, dimension)."""
    scores = SCALE * functional.normalize(left, dim=1) @ functional.normalize(right, dim=1).T
    own = torch.arange(len(scores))
    return (functional.cross_entropy(scores, own) + functional.cross_entropy(scores.T, own)) / 2


def reciprocal_rank(scores: NDArray[Any], gold: Sequence[set[int]]) -> float:
    """Return the mean reciprocal rank of the best gold passage, in percent; ties count against it."""
    return round(float(100 * np.mean([1 / rank for rank in find_ranks(scores, gold)])), 1)


def _draw_triples(groups: Sequence[Group], rng: random.Random) -> list[tuple[str, str, str]]:
    """Draw questions, each with a passage that answers it and a sentence of that passage."""
    triples: list[tuple[str, str, str]] = []
    for group in rng.sample(groups, len(groups)):
        gold = _list_gold(group)
        if gold:
            document = rng.choice(gold)
            start, end = rng.choice(document.units)
            triples.append(
                (group.question, join_title(document.title, document.text), document.text[start:end])
            )
    return triples[:PAIRS]


def _make_pool(groups: Sequence[Group]) -> tuple[list[str], list[set[int]], list[str]]:
    """Return passages, the gold ones of each question, and the questions."""
    chosen = [g for g in groups if _list_gold(g)][:HELD_OUT]
    pool = sorted({join_title(d.title, d.text) for g in chosen for d in g.documents})
    place = {text: i for i, text in enumerate(pool)}
    gold = [{place[join_title(d.title, d.text)] for d in _list_gold(g)} for g in chosen]
    return pool, gold, [g.question for g in chosen]


def _list_gold(group: Group) -> list[GroupDocument]:
    return [d for d in group.documents if any(d.labels) and len(d.text) <= LONGEST]


def _pool_texts(pooler: Pooler, texts: Sequence[str]) -> Floats:
    parts = [texts[at : at + CHUNK] for at in range(0, len(texts), CHUNK)]
    return np.concatenate([pooler(part) for part in show_progress("embeddings", parts)]).astype(np.float64)


def _normalise(rows: Floats) -> Floats:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
