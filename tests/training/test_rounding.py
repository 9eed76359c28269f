"""The rounding of training against that of onnxruntime's int8 graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModel

from benchmarks.shared import export
from benchmarks.shared.export import export_graph, make_dimension, quantise
from training.selector_model.model import SelectorModel
from training.selector_model.packed import encode_packed
from training.selector_model.rounding import round_inputs, round_rows, round_weight


class Reader(nn.Module):
    """An embedding, a normalisation and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(40, 32)
        self.norm = nn.LayerNorm(32)
        self.linear = nn.Linear(32, 24)

    def forward(self, ids: Tensor) -> Tensor:
        return self.linear(self.norm(self.words(ids)))


def test_embedding_and_linear_layer_round_as_the_graph_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    model = Reader()
    with torch.no_grad():  # channels of different ranges, and values that are mostly positive
        model.linear.weight.mul_(torch.linspace(0.1, 5, 24)[:, None])
        model.words.weight.add_(1.0)
        model.norm.bias.add_(1.0)
    axes = {0: make_dimension("batch", 16), 1: make_dimension("length", 32, at_least=2)}
    whole, small, rounded = (tmp_path / f"{name}.onnx" for name in ("whole", "small", "rounded"))
    export_graph(model, {"ids": (torch.randint(0, 40, (2, 7)), axes)}, ["states"], whole)
    quantise(whole, small)
    names = {table.name for table in onnx.load(small).graph.initializer}
    assert "words.weight" in names  # a small table stays as it is
    assert any(name.endswith("_quantized") for name in names)
    monkeypatch.setattr(export, "LARGE_TABLE", 40)
    quantise(whole, rounded)
    session = onnxruntime.InferenceSession(str(rounded), providers=["CPUExecutionProvider"])
    for row in torch.randint(0, 40, (5, 9), generator=torch.Generator().manual_seed(1)):
        (graph,) = session.run(["states"], {"ids": row[None].numpy()})
        words = round_rows(model.words(row), model.words.weight)
        inputs = round_inputs(model.norm(words), torch.zeros(9, dtype=torch.int64), 1)
        ours = nn.functional.linear(inputs, round_weight(model.linear.weight), model.linear.bias)
        assert np.abs(ours.detach().numpy() - graph[0]).max() < 1e-4
        assert np.abs(model(row).detach().numpy() - graph[0]).max() > 1e-2


def test_each_window_has_its_own_step() -> None:
    inputs = torch.tensor([[0.0, 255.0], [0.4, 1.6], [-1.0, 0.5], [0.026, 254.0 / 255.0]])
    rounded = round_inputs(inputs, torch.tensor([0, 0, 1, 2]), 3)
    # Steps of 1, of 1.5 / 255, and of 254 / 255 / 255 = 0.003906.
    assert rounded[:2].tolist() == [[0.0, 255.0], [0.0, 2.0]]
    assert rounded[2].tolist() == pytest.approx([-1.0, 0.5], abs=1e-6)
    assert rounded[3].tolist() == pytest.approx([7 * 254 / 255**2, 254 / 255], abs=1e-6)


def test_gradients_ignore_the_rounding() -> None:
    weight = torch.tensor([[0.3, -1.0], [0.011, 2.0]], requires_grad=True)
    (round_weight(weight) * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert round_weight(weight)[1].tolist() == [0.0, 2.0]  # 0.011 is less than half of 2 / 64


def test_rounded_encoder_computes_the_same_in_a_batch_and_alone(bert: Path) -> None:
    encoder = AutoModel.from_pretrained(bert, attn_implementation="eager").eval()
    ids = torch.randint(5, 90, (2, 12), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    together = encode_packed(encoder, ids, mask, int8=True)
    alone = encode_packed(encoder, ids[1:, :5], mask[1:, :5], int8=True)
    torch.testing.assert_close(together[1, :5], alone[0])
    assert not torch.allclose(together, encode_packed(encoder, ids, mask), atol=1e-3)


def test_refuses_to_round_an_unsupported_encoder(modernbert: Path) -> None:
    with pytest.raises(ValueError, match="remove int8"):
        SelectorModel(AutoModel.from_pretrained(modernbert), doc_id=3, int8=True)
