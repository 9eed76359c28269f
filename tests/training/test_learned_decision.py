"""An artifact that keeps what its weights have learned to keep: exported, loaded and obeyed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from tersely import ArtifactError, Compressor, Document
from tersely.runtime.artifacts import load_artifact, write_manifest
from tersely.score.selector import Selector
from tests.training.tiny import StringMatch, train_phase1
from training.export.artifact import export_artifact
from training.export.learned import measure_decision
from training.selector.bandit import Phase2, Phase2Config
from training.selector.environment import make_observation
from training.selector_model.batching import WindowBuilder
from training.selector_model.groups import Group, GroupDocument, read_groups
from training.selector_model.scores import GroupScores
from training.selector_model.trained import load_layout, load_trained


def compute_logits(run: Path, groups: list[Group]) -> list[np.ndarray]:
    """The keep logits (m,) that training sees, for every group."""
    model, layout = load_trained(run / "final")
    builder = WindowBuilder(load_layout(run / "final"), groups)
    observations = [make_observation(builder, g) for g in groups]
    policy = Phase2(Phase2Config(0, 0), model, layout.pad_id, StringMatch(groups), observations)
    return [x.numpy() for x in policy.compute_sampling_logits(observations)]


@pytest.fixture(scope="module")
def exported(
    tiny_encoder: Path, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[Group], list[np.ndarray]]:
    """The artifact of a model that keeps about half of the sentences, held-out groups and their logits."""
    if "modernbert" in str(tiny_encoder):
        pytest.skip("one encoder is enough")
    run = tmp_path_factory.mktemp("run")
    config = train_phase1(tiny_encoder, data, run)
    groups = read_groups(run, "heldout")
    weights = torch.load(run / "final" / "selector.pt")
    weights["keep.bias"] -= float(np.median(np.concatenate(compute_logits(run, groups))))
    torch.save(weights, run / "final" / "selector.pt")
    target = tmp_path_factory.mktemp("out") / "model"
    artifact = export_artifact(config, run, target, "make tiny", "learned")
    return artifact, groups, compute_logits(run, groups)


def test_the_runtime_keeps_what_training_keeps(exported: tuple[Path, list[Group], list[np.ndarray]]) -> None:
    artifact, groups, logits = exported
    compressor = Compressor(artifact)
    gap = json.loads((artifact / "manifest.json").read_text())["parity"]["int8_vs_trained"]
    kept_count = dropped_count = 0
    for group, row in zip(groups, logits, strict=True):
        documents = [Document(d.text, d.title) for d in group.documents]
        result = compressor.compress(group.question, documents)
        kept = {(s.doc, s.start) for s in result.kept}
        repeated = {(s.doc, s.start) for s in result.dropped if s.reason == "duplicate"}
        values = iter(row.tolist())
        for number, document in enumerate(group.documents):
            for start, _ in document.units:
                logit, place = next(values), (number, start)
                if abs(logit) <= gap or place in repeated:
                    continue
                assert (place in kept) == (logit > 0)
                kept_count += logit > 0
                dropped_count += logit < 0
    assert kept_count > 5
    assert dropped_count > 5


def test_the_manifest_names_the_decision_and_there_is_no_fusion(
    exported: tuple[Path, list[Group], list[np.ndarray]],
) -> None:
    artifact, groups, _ = exported
    manifest = json.loads((artifact / "manifest.json").read_text())
    assert manifest["decision"] == "learned"
    assert "fusion.json" not in manifest["files"]
    assert set(manifest["own_decision"]) == {g.source for g in groups}
    assert all(0 < row["rate"] < 100 for row in manifest["own_decision"].values())
    card = (artifact / "README.md").read_text()
    assert "kept\n  where its keep logit is positive" in card
    assert "fusion" not in card.split("## Training data")[0]


def test_scores_are_the_keep_probabilities_also_of_a_confident_model(
    exported: tuple[Path, list[Group], list[np.ndarray]],
) -> None:
    selector = Selector.load(load_artifact(exported[0]))
    rows = np.zeros((3, 16))
    rows[:, 0] = (-20.0, 0.0, 20.0)
    assert selector.fusion.first(rows).tolist() == pytest.approx([-20.0, 0.0, 20.0])
    assert selector.threshold == 0.5


def test_a_limit_still_holds(exported: tuple[Path, list[Group], list[np.ndarray]]) -> None:
    artifact, groups, _ = exported
    documents = [Document(d.text, d.title) for d in groups[0].documents]
    result = Compressor(artifact).compress(groups[0].question, documents, rate=0.3)
    assert 0 < result.tokens_after <= 0.3 * result.tokens_before


def test_an_unknown_decision_is_refused(
    exported: tuple[Path, list[Group], list[np.ndarray]], tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(exported[0], folder)
    write_manifest(folder, decision="majority")
    with pytest.raises(ArtifactError, match="decides by 'majority'"):
        Compressor(folder)
    write_manifest(folder)  # without a word it is a fitted one, which lacks its fusion here
    with pytest.raises(ArtifactError, match=r"fusion\.json"):
        Compressor(folder)


def test_the_own_decision_is_measured_in_labels_and_characters() -> None:
    text = "Ada built it. It is long. Rain."
    labelled = GroupDocument(None, text, [(0, 13), (14, 25), (26, 31)], [1, 1, 0], 1)
    unknown = GroupDocument(None, "Snow.", [(0, 5)], [-1], 1)
    group = Group("q", "made", "Who?", ["Ada"], [labelled, unknown])
    scored = [GroupScores(group, [[0.1, -0.1, 3.0], [1.0]])]
    assert measure_decision(scored, 0.5) == {"made": {"support": 50.0, "rate": round(100 * 23 / 34, 1)}}
    assert measure_decision(scored, 0.9)["made"]["support"] == 0.0
