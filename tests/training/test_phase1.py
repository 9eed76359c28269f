"""Phase I from a data folder to an artifact that compresses, on a CPU and with tiny encoders."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.shared.minilm import INSTALL, PACKAGE
from tersely import Compressor, Document
from tersely.embedding import SentenceEmbedder
from tersely.runtime.artifacts import load_artifact
from tersely.score.attention import SentenceAttention
from tests.training.tiny import DATA, make_config, train_phase1
from training.export.artifact import export_artifact
from training.export.refit import refit
from training.run import Run, read_runs
from training.selector import __main__ as program
from training.selector import train as training_module
from training.selector.train import train
from training.selector_model.batching import draw_order
from training.selector_model.config import SelectorConfig
from training.selector_model.groups import read_groups, write_groups
from training.selector_model.trained import load_weights


@pytest.fixture(scope="module")
def trained(
    tiny_encoder: Path, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[SelectorConfig, Path]:
    run = tmp_path_factory.mktemp("run")
    return train_phase1(tiny_encoder, data, run), run


def copy_groups(run: Path, target: Path) -> None:
    for part in ("train", "heldout"):
        write_groups(target, part, read_groups(run, part))


def test_labels_mark_the_sentence_that_answers(trained: tuple[SelectorConfig, Path]) -> None:
    _, run = trained
    single = [g for g in read_groups(run, "train") if g.source == "qed_nq"]
    assert single
    for group in single:
        positives = [
            d.text[a:b] for d in group.documents for (a, b), y in zip(d.units, d.labels, strict=True) if y
        ]
        assert any(group.answers[0] in text for text in positives)
        assert len(group.documents) == 1 + DATA.negatives
        assert sum(d.gold for d in group.documents) == 1


def test_no_article_is_trained_on_and_held_out(trained: tuple[SelectorConfig, Path]) -> None:
    _, run = trained
    train_articles, heldout_articles = (
        {d.title for g in read_groups(run, part) for d in g.documents if d.gold}
        for part in ("train", "heldout")
    )
    assert train_articles
    assert heldout_articles
    assert not train_articles & heldout_articles


def test_no_held_out_passage_is_drawn_as_a_negative(trained: tuple[SelectorConfig, Path]) -> None:
    _, run = trained
    train, heldout = ([g for g in read_groups(run, p) if g.source == "qed_nq"] for p in ("train", "heldout"))
    needed = {d.text for g in heldout for d in g.documents if d.gold}
    assert needed
    assert not needed & {d.text for g in train for d in g.documents}


def test_training_writes_metrics_and_continues_from_its_checkpoint(
    trained: tuple[SelectorConfig, Path],
) -> None:
    config, run = trained
    metrics = json.loads((run / "final" / "validation.json").read_text())
    assert set(metrics) == {"hotpotqa", "qed_nq"}
    assert 0 <= metrics["hotpotqa"]["support@0.25"] <= 100
    before = Run(run).history
    assert [entry["epoch"] for entry in Run(run).validations()] == [1, 2]
    longer = replace(config, train=replace(config.train, epochs=3))
    train(longer, Run(run))
    after = Run(run).history
    assert after[: len(before)] == before
    assert [entry["epoch"] for entry in Run(run).validations()] == [1, 2, 3]
    steps = [entry["step"] for entry in after if "step" in entry]
    assert steps == list(range(1, len(steps) + 1))


def test_a_run_that_goes_on_keeps_the_mixture_that_it_was_prepared_with(
    tiny_encoder: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(tiny_encoder)
    config = replace(config, data=replace(config.data, repeats={"hotpotqa": 40}))
    seen: list[SelectorConfig] = []
    monkeypatch.setattr(program, "read_settings", lambda *_: config)
    monkeypatch.setattr(program, "train", lambda c, _, start_from: seen.append(c))
    command = ["selector", "--config", "x.toml", "--data", str(data), "--out", str(tmp_path), "--max-minutes"]
    for limit in ("0.1", "300"):  # 24 draws, then more than there are
        monkeypatch.setattr("sys.argv", [*command, limit, "--stage", "prepare"])
        program.main()
    monkeypatch.setattr("sys.argv", [*command[:-1], "--stage", "train"])
    program.main()
    (used,) = seen
    assert used.data.questions == config.data.limit(24).questions != config.data.questions
    assert used.data.repeats == config.data.limit(24).repeats != config.data.repeats


def test_training_starts_from_earlier_weights(trained: tuple[SelectorConfig, Path], tmp_path: Path) -> None:
    config, run = trained
    still = replace(config, train=replace(config.train, epochs=1, learning_rate=0.0))
    copy_groups(run, tmp_path)
    train(still, Run(tmp_path), start_from=run / "final")
    before, after = (load_weights(folder / "final") for folder in (run, tmp_path))
    assert all(torch.equal(before[name], after[name]) for name in before)
    runs = read_runs(tmp_path / "final")
    assert [entry["learning_rate"] for entry in runs] == [1e-3, 0.0]
    assert runs[0]["questions"] > 0
    assert [entry["seed"] for entry in runs] == [config.seed, config.seed + 1]


def test_a_run_reads_the_questions_in_another_order_than_the_one_it_starts_from(
    trained: tuple[SelectorConfig, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, run = trained
    orders: list[list[int]] = []

    def draw(*args: Any) -> list[int]:
        orders.append(draw_order(*args))
        return orders[-1]

    monkeypatch.setattr(training_module, "draw_order", draw)
    once = replace(config, train=replace(config.train, epochs=1))
    for name, start in (("first", None), ("second", run / "final")):
        copy_groups(run, tmp_path / name)
        train(once, Run(tmp_path / name), start_from=start)
    first, second = orders
    assert first != second
    assert sorted(first) == sorted(second)


def test_the_exported_artifact_agrees_with_torch_compresses_and_can_be_fitted_again(
    trained: tuple[SelectorConfig, Path], tmp_path: Path
) -> None:
    if find_spec(PACKAGE) is None:
        pytest.skip(f"needs MiniLM: {INSTALL}")
    config, run = trained
    folder = export_artifact(config, run, tmp_path / "model", "make tiny")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["parity"]["torch_vs_onnx"] < 1e-3
    assert manifest["parity"]["batched_vs_single"] < 1e-3
    assert b"stack_trace" not in (folder / "onnx" / "model_quantized.onnx").read_bytes()
    card = (folder / "README.md").read_text()
    assert "| + attention | + second pass |" in card
    assert "`make tiny`" in card
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

    # Fitted again on the same questions, what stands behind the encoder is the same.
    again = tmp_path / "again" / folder.name
    refit(config, load_artifact(folder), run, again)
    for name in ("fusion.json", "calibration.json", "README.md"):
        assert (again / name).read_text() == (folder / name).read_text()
    expected = SentenceAttention.load(folder / "attention.npz").weights
    weights = SentenceAttention.load(again / "attention.npz").weights
    assert all(np.array_equal(weights[name], expected[name]) for name in expected)
    learned = tmp_path / "learned"
    export_artifact(config, run, learned, "make tiny", "learned")
    with pytest.raises(ValueError, match="nothing to fit"):
        refit(config, load_artifact(learned), run, tmp_path / "none")
