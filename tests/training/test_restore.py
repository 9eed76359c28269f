"""The weights of the bundled artifact, restored to train on from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.shared.export import quantise
from tersely.runtime.artifacts import load_artifact
from tersely.runtime.session import EncoderSession
from tersely.score.layout import OUTPUT_NAMES, POOLED_NAME
from training.export.onnx import export_float
from training.export.restore import restore
from training.run import read_runs
from training.selector_model.config import SelectorConfig
from training.selector_model.trained import load_trained
from training.settings import read_settings

CONFIG = read_settings(SelectorConfig, Path("training/configs/selector_mini.toml"))


def run_graph(graph: Path) -> Sequence[np.ndarray]:
    """The outputs of a graph for random tokens."""
    r = np.random.default_rng(3)
    ids = r.integers(1000, 20000, (2, 40))
    ids[:, 0], ids[:, 8], ids[:, 39] = 101, 3, 102
    places = np.array([[9, 20, 30]] * 2)
    ids[np.arange(2)[:, None], places] = 2
    segments = np.repeat([[0] * 8 + [1] * 12 + [2] * 10 + [3] * 10], 2, axis=0)
    feed = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "segments": segments,
        "sentence_positions": places,
        "doc_positions": np.array([[8], [8]]),
    }
    return EncoderSession(graph, 1).run(feed, [*OUTPUT_NAMES, POOLED_NAME])


def test_restored_weights_export_to_the_same_artifact(tmp_path: Path) -> None:
    restore(CONFIG, None, tmp_path / "final")
    model, layout = load_trained(tmp_path / "final")
    export_float(model, tmp_path / "float.onnx", layout.max_length)
    quantise(tmp_path / "float.onnx", tmp_path / "int8.onnx")
    shipped = load_artifact(None)
    for ours, theirs in zip(run_graph(tmp_path / "int8.onnx"), run_graph(shipped.model_path), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
    assert read_runs(tmp_path / "final") == shipped.manifest["runs"]


def test_the_settings_of_another_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="another layout"):
        restore(replace(CONFIG, query_length=32), None, tmp_path)
    assert not list(tmp_path.iterdir())
