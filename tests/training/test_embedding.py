"""The mathematics of the embedding head, checked against values worked by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.shared import minilm
from training.export import embedding
from training.export.embedding import contrastive_loss, fit_ridge, reciprocal_rank


def test_ridge_regression(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "RIDGE", 0.5)
    pooled = np.array([[2.0, 0.0], [0.0, 2.0]])  # squares 4 and 4, so 4 + 0.5 * 4 on the diagonal
    assert fit_ridge(pooled, np.array([[3.0], [6.0]])) == pytest.approx(np.array([[1.0], [2.0]]))


def test_contrastive_loss() -> None:
    right = torch.tensor([[5.0, 0.0], [0.0, 0.1]])
    loss = contrastive_loss(torch.eye(2), right)
    assert float(loss) == pytest.approx(np.log(1 + np.exp(-embedding.SCALE)), rel=1e-4, abs=1e-8)
    assert float(contrastive_loss(torch.eye(2), right.flip(0))) == pytest.approx(embedding.SCALE, rel=1e-4)


def test_reciprocal_rank() -> None:
    scores = np.array([[0.9, 0.1, 0.5], [0.3, 0.3, 0.2]])
    # The gold passage of the first is third; that of the second shares the first place with another.
    assert reciprocal_rank(scores, [{1}, {0}]) == pytest.approx(100 * (1 / 3 + 1 / 2) / 2, abs=0.05)


def test_writes_no_projection_without_minilm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package")
    with pytest.warns(UserWarning, match="pip install"):
        assert embedding.write_projection(tmp_path, [], [], 13) is None
