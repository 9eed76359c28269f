"""Phase I from a data folder to an artifact that compresses, on a CPU with tiny encoders."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from tokenizers import Tokenizer

from benchmarks.shared.minilm import INSTALL, PACKAGE
from benchmarks.shared.tasks import negatives
from tersely import Compressor, Document
from tersely.embedding import SentenceEmbedder
from tersely.runtime.artifacts import load_artifact
from tersely.score.attention import SentenceAttention
from tersely.score.layout import Layout
from tests.training.tiny import DATA, copy_groups, make_config, save_encoder
from training import run as run_module
from training.export import artifact as artifact_module
from training.export.artifact import MIN_INT8_RANK, export_artifact, quantise_and_check
from training.export.onnx import export_float
from training.export.refit import refit
from training.export.restore import read_weights
from training.run import Clock, Run, read_runs
from training.selector import __main__ as program
from training.selector import train as training_module
from training.selector.train import train
from training.selector_model import groups as groups_module
from training.selector_model.batching import draw_order
from training.selector_model.config import SelectorConfig
from training.selector_model.groups import label_document, prepare_groups, read_groups
from training.selector_model.model import build_selector
from training.selector_model.trained import load_weights


def test_labels_mark_the_sentence_that_answers(phase1: Path) -> None:
    single = [g for g in read_groups(phase1, "train") if g.source == "qed_nq"]
    assert single
    for group in single:
        positives = [
            d.text[a:b] for d in group.documents for (a, b), y in zip(d.units, d.labels, strict=True) if y
        ]
        assert any(group.answers[0] in text for text in positives)
        assert len(group.documents) == 1 + DATA.negatives
        assert sum(d.gold for d in group.documents) == 1


def test_training_sees_no_held_out_article_or_passage(phase1: Path) -> None:
    groups, heldout = (read_groups(phase1, part) for part in ("train", "heldout"))
    articles = [{d.title for g in part for d in g.documents if d.gold} for part in (groups, heldout)]
    assert all(articles)
    assert not articles[0] & articles[1]
    needed = {d.text for g in heldout if g.source == "qed_nq" for d in g.documents if d.gold}
    assert needed
    assert not needed & {d.text for g in groups if g.source == "qed_nq" for d in g.documents}


def test_longer_training_continues_from_the_checkpoint(phase1: Path, bert: Path, tmp_path: Path) -> None:
    metrics = json.loads((phase1 / "final" / "validation.json").read_text())
    assert set(metrics) == {"hotpotqa", "qed_nq"}
    assert 0 <= metrics["hotpotqa"]["support@0.25"] <= 100
    before, config = Run(phase1), make_config(bert)
    assert [entry["epoch"] for entry in before.validations()] == [1, 2]
    shutil.copytree(phase1, tmp_path, dirs_exist_ok=True)
    train(replace(config, train=replace(config.train, epochs=3)), Run(tmp_path))
    after = Run(tmp_path)
    assert after.history[: len(before.history)] == before.history
    assert [entry["epoch"] for entry in after.validations()] == [1, 2, 3]
    steps = [entry["step"] for entry in after.history if "step" in entry]
    assert steps == list(range(1, len(steps) + 1))


def test_prepared_run_keeps_its_mixture(
    bert: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(bert)
    config = replace(config, data=replace(config.data, repeats={"hotpotqa": 40}))
    seen: list[SelectorConfig] = []
    monkeypatch.setattr(program, "read_settings", lambda *_: config)
    monkeypatch.setattr(program, "train", lambda c, _, start_from: seen.append(c))
    command = ["selector", "--config", "x.toml", "--data", str(data), "--out", str(tmp_path), "--stage"]
    # 24 draws, then more than there are.
    for options in (["prepare", "--max-minutes", "0.1"], ["prepare", "--max-minutes", "300"], ["train"]):
        monkeypatch.setattr("sys.argv", [*command, *options])
        program.main()
    (used,) = seen
    assert used.data.questions == config.data.limit(24).questions != config.data.questions
    assert used.data.repeats == config.data.limit(24).repeats != config.data.repeats


def test_an_export_replaces_no_model_unless_told_to(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets: list[Path] = []
    monkeypatch.setattr(program, "read_settings", lambda *_: make_config(bert))
    monkeypatch.setattr(program, "read_runs", lambda _: [{}])
    monkeypatch.setattr(program, "export_artifact", lambda _, __, target, *___: targets.append(target))
    command = ["selector", "--config", "x.toml", "--out", str(tmp_path), "--stage", "export"]
    for options in ([], ["--artifact", "models/mine"]):
        monkeypatch.setattr("sys.argv", [*command, *options])
        program.main()
    assert targets == [tmp_path / "model", Path("models/mine")]


@pytest.mark.parametrize("embeds", [False, True])
def test_preparation_ends_in_time_on_a_slow_machine(
    bert: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embeds: bool
) -> None:
    now = [0.0]
    monkeypatch.setattr(run_module.time, "monotonic", lambda: now[0])

    def slowly(*args: Any) -> Any:
        now[0] += 1.0
        return label_document(*args)

    def embed(texts: list[str], advance: Any) -> None:
        for _ in texts:
            now[0] += 1.0
            advance(1)

    monkeypatch.setattr(groups_module, "label_document", slowly)
    monkeypatch.setattr(negatives, "embed_cached", embed)
    config = replace(DATA, neighbours="mixed" if embeds else "bm25")
    prepare_groups(data, tmp_path, config, 3, Clock(max_minutes=1))
    longest = 20.0  # seconds of a group
    assert now[0] < 60 + longest * len(DATA.questions)
    trained, held = (read_groups(tmp_path, part) for part in ("train", "heldout"))
    assert {group.source for group in trained} == DATA.questions.keys()
    assert {group.source for group in held} == DATA.heldout.keys()
    assert len(trained) < sum(DATA.questions.values())


def test_export_takes_as_many_questions_as_time_allows(phase1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(run_module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(artifact_module, "FEWEST_QUESTIONS", 2)

    class Slow:
        def first_pass(self, *_: object) -> None:
            now[0] += 1.0

    groups = read_groups(phase1, "train") * 10

    def count(clock: Clock) -> int:
        return len(artifact_module.choose_questions(Slow(), groups, clock, 3))

    assert count(Clock()) == len(groups)
    assert count(Clock(max_minutes=4)) == (240 - artifact_module.TIMED) // artifact_module.PASSES
    assert count(Clock(max_minutes=0.1)) == 2


def test_training_starts_from_earlier_weights_in_another_order(
    phase1: Path, bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(bert)
    orders: list[list[int]] = []

    def draw(*args: Any) -> list[int]:
        orders.append(draw_order(*args))
        return orders[-1]

    monkeypatch.setattr(training_module, "draw_order", draw)
    still = replace(config, train=replace(config.train, epochs=1, learning_rate=0.0))
    copy_groups(phase1, tmp_path)
    train(still, Run(tmp_path), start_from=phase1 / "final")
    before, after = (load_weights(folder / "final") for folder in (phase1, tmp_path))
    assert all(torch.equal(before[name], after[name]) for name in before)
    runs = read_runs(tmp_path / "final")
    assert [entry["learning_rate"] for entry in runs] == [1e-3, 0.0]
    assert runs[0]["questions"] > 0
    groups = read_groups(phase1, "train")
    first = draw_order(groups, range(len(groups)), config.data, config.seed, 0)
    assert first != orders[0]
    assert sorted(first) == sorted(orders[0])


@pytest.mark.parametrize("outlier", [0.0, 10_000.0])
def test_narrowing_layers_stay_whole_if_int8_would_lose_the_order(
    phase1: Path, tmp_path: Path, outlier: float
) -> None:
    """A large value that no output uses changes nothing in float32, but leaves int8 a single step."""
    torch.manual_seed(0)
    save_encoder("bert", tmp_path)
    model, _, layout_config = build_selector(make_config(tmp_path))
    with torch.no_grad():
        for parameter in model.parameters():  # the export would drop a bias of zeros
            parameter += 0.01 * torch.randn_like(parameter)
        model.keep.weight.normal_()
        model.scale.zero_()
        for layer in model.encoder.encoder.layer:  # the feed-forward blocks decide the order
            layer.intermediate.dense.weight *= 20.0
            layer.output.dense.weight *= 20.0
            layer.intermediate.dense.bias[0] = outlier
            layer.output.dense.weight[:, 0] = 0.0
    export_float(model, tmp_path / "model.onnx", layout_config.max_length)
    layout = Layout(Tokenizer.from_file(str(tmp_path / "tokenizer.json")), layout_config)
    gaps, narrowing = quantise_and_check(model, layout, read_groups(phase1, "heldout"), tmp_path)
    assert gaps["int8_rank"] >= MIN_INT8_RANK
    assert narrowing == (outlier == 0.0)
    weights = read_weights(onnx.load(tmp_path / "model_quantized.onnx").graph)
    for name, value in model.state_dict().items():
        if "pooler" not in name and name != "scale":
            assert (weights[name] - value).abs().max() <= 0.01 * value.abs().max().clamp(min=1.0), name


@pytest.mark.skipif(find_spec(PACKAGE) is None, reason=f"needs MiniLM: {INSTALL}")
def test_exported_artifact_compresses_and_can_be_refitted(phase1: Path, bert: Path, tmp_path: Path) -> None:
    config = make_config(bert)
    shutil.copytree(phase1, tmp_path / "run")
    folder = export_artifact(config, tmp_path / "run", tmp_path / "model", "make tiny")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["parity"]["torch_vs_onnx"] < 1e-3
    assert manifest["parity"]["batched_vs_single"] < 1e-3
    assert b"stack_trace" not in (folder / "onnx" / "model_quantized.onnx").read_bytes()
    card = (folder / "README.md").read_text()
    assert "`make tiny`" in card
    assert "| + attention | + second pass |" in card
    orvelle = "Orvelle is a harbour town. It was founded by Ada Penrose. Its harbour exports salt."
    brackmoor = "Brackmoor was founded by Bertil Krans. Visitors praise the quiet market."
    documents = [Document(orvelle, title="Orvelle"), Document(brackmoor, title="Brackmoor")]
    result = Compressor(folder).compress("Who founded Orvelle?", documents, rate=0.6)
    assert result.status == "compressed"
    assert 0 < result.tokens_after <= 0.6 * result.tokens_before
    for span in result.kept:
        assert documents[span.doc].text[span.start : span.end] in result.text
    vectors = SentenceEmbedder(folder).embed(["Who founded Orvelle?", orvelle])
    assert manifest["embedding"]["dimension"] == vectors.shape[1]
    assert f"reciprocal rank {manifest['embedding']['mrr']}" in card

    # A refit to the same questions gives the same layers after the encoder.
    again = tmp_path / "again" / folder.name
    refit(config, load_artifact(folder), tmp_path / "run", again)
    for name in ("fusion.json", "calibration.json", "README.md"):
        assert (again / name).read_text() == (folder / name).read_text()
    expected = SentenceAttention.load(folder / "attention.npz").weights
    weights = SentenceAttention.load(again / "attention.npz").weights
    assert all(np.array_equal(weights[name], expected[name]) for name in expected)
