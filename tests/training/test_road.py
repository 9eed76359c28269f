"""The whole road on a CPU: data folder, labels, training steps, ONNX, int8, parity, artifact, compression."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from benchmarks.shared.minilm import INSTALL, PACKAGE
from tersely import Compressor, Document
from tersely.embedding import SentenceEmbedder
from training.export.artifact import export
from training.selector.config import DataConfig, SelectorConfig, TrainConfig
from training.selector.data import prepare
from training.selector.train import train

DATA = DataConfig(
    questions={"hotpotqa": 8, "qed_nq": 8, "qmsum": 2},
    heldout={"hotpotqa": 2, "qed_nq": 3},
    negatives=2,
    heldout_negatives=3,
    neighbours="bm25",
)


def config_for(base: Path) -> SelectorConfig:
    return SelectorConfig(
        name="tiny",
        base_model=str(base),
        max_length=96,
        docs_per_window=3 if "modernbert" in base.name else 1,
        query_length=16,
        data=DATA,
        train=TrainConfig(epochs=2, learning_rate=1e-3, batch_tokens=600, checkpoint_steps=2),
    )


@pytest.fixture(scope="module")
def trained(
    tiny_encoder: Path, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[SelectorConfig, Path]:
    run = tmp_path_factory.mktemp("run")
    config = config_for(tiny_encoder)
    prepare(data, run / "prepared", config.data, config.seed)
    train(config, run / "prepared", run)
    return config, run


def test_labels_mark_the_sentence_that_answers(trained: tuple[SelectorConfig, Path]) -> None:
    _, run = trained
    groups = [json.loads(line) for line in (run / "prepared" / "train.jsonl").read_text().splitlines()]
    single = [g for g in groups if g["source"] == "qed_nq"]
    assert single
    for group in single:
        marked = [
            d["text"][a:b]
            for d in group["documents"]
            for (a, b), y in zip(d["units"], d["labels"], strict=True)
            if y
        ]
        assert any(group["answers"][0] in text for text in marked)
        assert len(group["documents"]) == 1 + DATA.negatives
        assert sum(d["gold"] for d in group["documents"]) == 1


def test_no_article_is_trained_on_and_held_out(trained: tuple[SelectorConfig, Path]) -> None:
    _, run = trained
    articles: dict[str, set[str]] = {}
    for part in ("train", "heldout"):
        groups = [json.loads(line) for line in (run / "prepared" / f"{part}.jsonl").read_text().splitlines()]
        articles[part] = {
            d["title"] for g in groups if g["source"] == "qed_nq" for d in g["documents"] if d["gold"]
        }
    assert articles["train"]
    assert articles["heldout"]
    assert not articles["train"] & articles["heldout"]


def test_training_writes_metrics_and_continues_from_its_checkpoint(
    trained: tuple[SelectorConfig, Path], tmp_path: Path
) -> None:
    config, run = trained
    metrics = json.loads((run / "final" / "validation.json").read_text())
    assert set(metrics) == {"hotpotqa", "qed_nq"}
    assert 0 <= metrics["hotpotqa"]["support@0.25"] <= 100
    before = json.loads((run / "checkpoint" / "progress.json").read_text())
    longer = replace(config, train=replace(config.train, epochs=3))
    train(longer, run / "prepared", run)
    after = json.loads((run / "checkpoint" / "progress.json").read_text())
    assert after["step"] > before["step"] > 0


def test_training_starts_from_earlier_weights(trained: tuple[SelectorConfig, Path], tmp_path: Path) -> None:
    config, run = trained
    still = replace(config, train=replace(config.train, epochs=1, learning_rate=0.0))
    train(still, run / "prepared", tmp_path, start_from=run / "final")
    before, after = (torch.load(folder / "final" / "selector.pt") for folder in (run, tmp_path))
    assert all(torch.equal(before[name], after[name]) for name in before)
    runs = json.loads((tmp_path / "final" / "runs.json").read_text())
    assert [entry["learning_rate"] for entry in runs] == [1e-3, 0.0]
    assert runs[0]["questions"] > 0


def test_exported_artifact_agrees_with_torch_and_compresses(
    trained: tuple[SelectorConfig, Path], tmp_path: Path
) -> None:
    if find_spec(PACKAGE) is None:
        pytest.skip(f"needs MiniLM: {INSTALL}")
    config, run = trained
    folder = export(config, run, tmp_path / "model", "make tiny")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["parity"]["torch_vs_onnx"] < 1e-3
    assert manifest["parity"]["batched_vs_single"] < 1e-3
    assert b"stack_trace" not in (folder / "onnx" / "model_quantized.onnx").read_bytes()
    card = (folder / "README.md").read_text()
    assert "| + second pass |" in card
    assert "`make tiny`" in card
    orvelle = "Orvelle is a harbour town. It was founded by Ada Penrose. Its harbour exports salt."
    brackmoor = "Brackmoor was founded by Bertil Krans. Visitors praise the quiet market."
    documents = [Document(orvelle, title="Orvelle"), Document(brackmoor, title="Brackmoor")]
    result = Compressor(folder).compress("Who founded Orvelle?", documents, rate=0.6)
    assert result.status == "compressed"
    assert 0 < result.tokens_after <= 0.6 * result.tokens_before
    for span in result.kept:
        assert documents[span.doc].text[span.start : span.end] in result.text
    found = SentenceEmbedder(folder).embed(["Who founded Orvelle?", orvelle])
    assert manifest["embedding"]["dimension"] == found.shape[1]
    assert f"reciprocal rank {manifest['embedding']['mrr']}" in card
