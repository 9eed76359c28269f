"""Losses, averages of weights and the rounding of int8, checked against values worked out by hand."""

from __future__ import annotations

import json
import math
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
from tests.training.tiny import make_config, save_encoder
from training.export.card import list_runs
from training.run import Run, read_runs
from training.selector import average
from training.selector.losses import balanced_bce, centred_regression, listwise
from training.selector_model.model import SelectorModel, build_selector
from training.selector_model.packed import can_pack, encode_packed
from training.selector_model.rounding import round_inputs, round_rows, round_weight
from training.selector_model.trained import load_trained, load_weights, save_trained


def log1pexp(x: float) -> float:
    return math.log1p(math.exp(x))


def test_balanced_bce_weighs_both_classes_alike() -> None:
    logits = torch.tensor([1.0, -2.0, 0.5, 0.0])
    labels = torch.tensor([1, 0, 0, 0])
    # Weights n / (2 n_c): 4 / 2 = 2 for the positive, 4 / 6 for each negative; the mean is over four entries.
    expected = (2 * log1pexp(-1.0) + (4 / 6) * (log1pexp(-2.0) + log1pexp(0.5) + log1pexp(0.0))) / 4
    assert float(balanced_bce(logits, labels)) == pytest.approx(expected, rel=1e-6)


def test_balanced_bce_ignores_unlabelled_entries() -> None:
    logits = torch.tensor([1.0, -2.0, 9.0], requires_grad=True)
    labelled = balanced_bce(logits[:2], torch.tensor([1, 0]))
    assert balanced_bce(logits, torch.tensor([1, 0, -1])).item() == pytest.approx(labelled.item())
    balanced_bce(logits, torch.tensor([-1, -1, -1])).backward()
    assert logits.grad is not None
    assert logits.grad.tolist() == [0.0, 0.0, 0.0]


def test_balanced_bce_of_one_class_is_plain_cross_entropy() -> None:
    loss = balanced_bce(torch.tensor([0.0, 1.0]), torch.tensor([0, 0]))
    assert float(loss) == pytest.approx((math.log(2) + log1pexp(1.0)) / 2)


def test_listwise_compares_within_one_question() -> None:
    logits = torch.tensor([2.0, 1.0, 0.0, -1.0, 5.0])
    labels = torch.tensor([1, 1, 0, 0, 0])
    group = torch.tensor([0, 0, 0, 0, 1])  # the last sentence belongs to a question without a positive
    crowd = math.exp(0.0) + math.exp(-1.0)
    first = -math.log(math.exp(2.0) / (math.exp(2.0) + crowd))
    second = -math.log(math.exp(1.0) / (math.exp(1.0) + crowd))
    assert float(listwise(logits, labels, group, 2)) == pytest.approx((first + second) / 2, rel=1e-6)


def test_listwise_counts_each_question_once() -> None:
    logits = torch.tensor([0.0, 0.0, 0.0, 0.0, 1.0])
    labels = torch.tensor([1, 0, 0, 1, 0])
    group = torch.tensor([0, 0, 0, 1, 1])
    expected = (math.log(3) + log1pexp(1.0)) / 2
    assert float(listwise(logits, labels, group, 2)) == pytest.approx(expected, rel=1e-6)


def test_centred_regression_compares_within_one_question() -> None:
    logits = torch.tensor([1.0, 3.0, 10.0, 4.0, 4.0])
    targets = torch.tensor([0.0, 0.0, 0.0, 1.0, 3.0])
    group = torch.tensor([0, 0, 1, 2, 2])
    # Differences 1 and 3 around 2, no differences of a single sentence, and 3 and 1 around 2.
    assert float(centred_regression(logits, targets, group, 3)) == pytest.approx((1.0 + 0.0 + 1.0) / 3)


EARLIER = {"seed": 1, "questions": 5, "minutes": 2, "learning_rate": 0.1}


def make_run(folder: Path, seed: int, *origins: dict[str, float]) -> Path:
    """Make a finished run of random weights that started from those of other runs."""
    torch.manual_seed(seed)
    save_encoder("bert", folder / "base")
    model, tokenizer, layout = build_selector(make_config(folder / "base"))
    run = Run(folder)
    save_trained(model, tokenizer, layout, run.final)
    run.origins = [*origins]
    run.finish({**EARLIER, "seed": seed})
    (folder / "prepared").mkdir()
    (folder / "prepared/settings.json").write_text(str(seed))
    return folder


def test_weights_are_the_mean_and_all_runs_are_named(tmp_path: Path) -> None:
    start = make_run(tmp_path / "start", 1)
    runs = [start, *(make_run(tmp_path / name, seed, EARLIER) for seed, name in enumerate("ab", 2))]
    average.average(runs, tmp_path / "mean")
    mean = load_weights(tmp_path / "mean/final")
    own = [load_weights(run / "final") for run in runs]
    for name, value in mean.items():
        torch.testing.assert_close(value, (own[0][name] + own[1][name] + own[2][name]) / 3)
    load_trained(tmp_path / "mean/final")
    assert (tmp_path / "mean/prepared/settings.json").read_text() == "3"
    named = read_runs(tmp_path / "mean/final")
    assert [run["seed"] for run in named] == [1, 2, 3]
    assert named[-1]["averaged"] == {"runs": 2, "start": True}
    said = list_runs(named)
    assert "(seed 1, learning rate 0.1); then, each of them from the last of these: 5 questions" in said
    assert said.endswith("the mean of those of the last 2 runs and of those that they started from")
    average.average(runs[1:], tmp_path / "without start")
    assert read_runs(tmp_path / "without start/final")[-1]["averaged"] == {"runs": 2, "start": False}


def test_refuses_what_has_no_mean(tmp_path: Path) -> None:
    one, other = (make_run(tmp_path / name, 2) for name in "ab")
    with pytest.raises(ValueError, match="two runs or more"):
        average.average([one], tmp_path / "mean")
    layout = other / "final/layout.json"
    layout.write_text(json.dumps({**json.loads(layout.read_text()), "max_length": 7}))
    with pytest.raises(ValueError, match="different layouts or shapes"):
        average.average([one, other], tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


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


class Scaled(nn.Module):
    shift: Tensor

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor
        self.register_buffer("shift", torch.tensor([1.0]))
        self.weight = nn.Parameter(torch.tensor([1.0]))

    def forward(self, ids: Tensor) -> Tensor:
        return ids * self.weight * self.factor + self.shift


def test_a_graph_has_its_own_weights_and_settings(tmp_path: Path) -> None:
    """The exporter reads a network once, and fills in the weights of later ones that are built alike."""
    path, axes = tmp_path / "graph.onnx", {0: make_dimension("batch", 16)}
    for factor, weight, shift in ((2.0, 3.0, 1.0), (2.0, 5.0, 1.0), (2.0, 5.0, 4.0), (7.0, 5.0, 4.0)):
        model = Scaled(factor)
        model.load_state_dict({"weight": torch.tensor([weight]), "shift": torch.tensor([shift])})
        export_graph(model, {"ids": (torch.ones(2), axes)}, ["out"], path)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        (out,) = session.run(["out"], {"ids": np.array([1.0, 2.0, 10.0], dtype=np.float32)})
        assert np.asarray(out).tolist() == [x * weight * factor + shift for x in (1, 2, 10)]


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


def load(folder: Path, dropout: float = 0.0) -> torch.nn.Module:
    encoder = AutoModel.from_pretrained(folder, attn_implementation="eager")
    for module in encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = dropout
    return encoder.train()


@pytest.mark.parametrize("lengths", [[7], [3, 9, 6], [1, 12]])
def test_states_and_gradients_are_those_of_the_encoder(bert: Path, lengths: list[int]) -> None:
    encoder = load(bert)
    mask = (torch.arange(max(lengths))[None, :] < torch.tensor(lengths)[:, None]).long()
    ids = torch.randint(5, 90, mask.shape, generator=torch.Generator().manual_seed(0)) * mask
    aim = torch.randn(*mask.shape, 32, generator=torch.Generator().manual_seed(1)) * mask[..., None]
    results: list[tuple[torch.Tensor, torch.Tensor]] = []
    for hidden in (
        encode_packed(encoder, ids, mask),
        encoder(input_ids=ids, attention_mask=mask).last_hidden_state,
    ):
        encoder.zero_grad()
        (hidden * aim).sum().backward()
        gradients = [p.grad.flatten().clone() for p in encoder.parameters() if p.grad is not None]
        results.append((hidden.detach() * mask[..., None], torch.cat(gradients)))
    (states, gradients), (expected_states, expected_gradients) = results
    torch.testing.assert_close(states, expected_states, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(gradients, expected_gradients, atol=1e-4, rtol=1e-3)


def test_packs_only_bert_without_dropout(bert: Path, modernbert: Path) -> None:
    assert can_pack(load(bert))
    assert not can_pack(load(bert, dropout=0.1))
    assert can_pack(load(bert, dropout=0.1).eval())
    assert not can_pack(load(modernbert))
