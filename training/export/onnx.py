"""Export of the selector to ONNX, and comparison of the float32 and int8 graphs with torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray

from benchmarks.shared.export import export_graph, make_dimension
from tersely.runtime.session import EncoderSession
from tersely.score.layout import INPUT_NAMES, OUTPUT_NAMES, Window, collate
from training.selector_model.model import SelectorModel

Outputs = tuple[NDArray[np.float32], NDArray[np.float32]]


def export_float(model: SelectorModel, path: Path, max_length: int) -> None:
    """Write the float32 graph; batch, length, sentences and documents are free dimensions."""
    model = model.cpu().float()
    model.encoder.set_attn_implementation("eager")
    rows = {0: make_dimension("batch", 4096), 1: make_dimension("length", max_length, at_least=2)}
    sentences = {0: rows[0], 1: make_dimension("sentences", max_length)}
    documents = {0: rows[0], 1: make_dimension("documents", max_length)}
    ids = torch.randint(5, 50, (2, 16))
    samples = (
        (ids, rows),
        (torch.ones_like(ids), rows),
        (torch.zeros_like(ids), rows),
        (torch.zeros(2, 3, dtype=torch.long), sentences),
        (torch.zeros(2, 4, dtype=torch.long), documents),
    )
    inputs = dict(zip(INPUT_NAMES, samples, strict=True))
    export_graph(model, inputs, list(OUTPUT_NAMES), path)
    strip_notes(path)


def strip_notes(path: Path) -> None:
    """Remove the exporter's notes from a graph: stack traces with paths of this machine."""
    model = onnx.load(path)
    for part in (model, model.graph, *model.graph.node, *model.graph.value_info, *model.graph.initializer):
        part.doc_string = ""
        del part.metadata_props[:]
    onnx.save(model, path)


def run_torch(
    model: SelectorModel, windows: Sequence[Window], pad_id: int, *, as_trained: bool = False
) -> list[Outputs]:
    """Return keep and relevance logits of each window, cut to its markers; in float32, or with the rounding
    that the model was trained with."""
    arrays = collate(windows, pad_id)
    compute = model.eval().read if as_trained else model.eval()
    with torch.inference_mode():
        keep, relevance = compute(**{k: torch.from_numpy(v) for k, v in arrays.items()})
    return _cut(windows, keep.float().numpy(), relevance.float().numpy())


def run_onnx(session: EncoderSession, windows: Sequence[Window], pad_id: int) -> list[Outputs]:
    """Return the same logits from a graph, in one batch."""
    keep, relevance = session.run(dict(collate(windows, pad_id)), OUTPUT_NAMES)
    return _cut(windows, keep, relevance)


def _cut(windows: Sequence[Window], keep: Any, relevance: Any) -> list[Outputs]:
    return [(keep[i, : len(w.sentences)], relevance[i, : len(w.documents)]) for i, w in enumerate(windows)]


def measure_parity(
    model: SelectorModel, float_graph: Path, int8_graph: Path, windows: Sequence[Window], pad_id: int
) -> dict[str, float]:
    """Return the largest differences between keep logits: torch against ONNX, batched against single, and
    int8 against the trained model.

    `int8_rank` is the mean Spearman correlation between the last two orders of the sentences in a window with
    at least three.
    """
    float_session, int8_session = EncoderSession(float_graph), EncoderSession(int8_graph)
    reference = run_torch(model, windows, pad_id)
    batched = run_onnx(float_session, windows, pad_id)
    single = [run_onnx(float_session, [w], pad_id)[0] for w in windows]
    quantised = [run_onnx(int8_session, [w], pad_id)[0] for w in windows]
    trained = run_torch(model, windows, pad_id, as_trained=True)
    ranks = [_spearman(a[0], b[0]) for a, b in zip(trained, quantised, strict=True) if len(a[0]) >= 3]
    return {
        "torch_vs_onnx": _gap(reference, batched),
        "batched_vs_single": _gap(batched, single),
        "int8_vs_trained": _gap(trained, quantised),
        "int8_rank": round(float(np.mean(ranks)), 4) if ranks else float("nan"),
    }


def _gap(left: Sequence[Outputs], right: Sequence[Outputs]) -> float:
    return max(
        float(np.abs(a - b).max())
        for one, two in zip(left, right, strict=True)
        for a, b in zip(one, two, strict=True)
    )


def _spearman(left: NDArray[np.float32], right: NDArray[np.float32]) -> float:
    ranks = [np.argsort(np.argsort(x)).astype(float) for x in (left, right)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])
