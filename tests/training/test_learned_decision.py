"""An artifact that decides by itself what to keep: trained by Phase II, exported, loaded and obeyed."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from tersely import ArtifactError, Compressor, Document
from tersely.runtime.artifacts import load_artifact, write_manifest
from tersely.score.selector import Selector
from tests.training.tiny import PHASE2, StringMatch, make_config, make_document, read_all, train_phase1
from training.export.artifact import export_artifact
from training.export.learned import measure_decision
from training.export.refit import refit
from training.selector.bandit import Phase2, Phase2Config
from training.selector.environment import make_observation
from training.selector.phase2 import train_phase2
from training.selector_model.batching import WindowBuilder
from training.selector_model.config import SelectorConfig
from training.selector_model.groups import Group, read_groups
from training.selector_model.scores import GroupScores
from training.selector_model.trained import load_layout, load_trained


def compute_logits(run: Path, groups: list[Group]) -> list[np.ndarray[Any, Any]]:
    """Return the keep logits (m,) that training computes for every group."""
    model, layout = load_trained(run / "final")
    builder = WindowBuilder(load_layout(run / "final"), groups)
    observations = [make_observation(builder, g) for g in groups]
    policy = Phase2(Phase2Config(0, 0), model, layout.pad_id, StringMatch(groups), observations)
    return [x.numpy() for x in policy.compute_sampling_logits(observations)]


class Exported(NamedTuple):
    config: SelectorConfig
    run: Path
    artifact: Path
    groups: list[Group]
    logits: list[np.ndarray[Any, Any]]


@pytest.fixture(scope="module")
def exported(modernbert: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """Return a model that keeps about half of the sentences, with the held-out groups and their logits."""
    root, config = tmp_path_factory.mktemp("learned"), make_config(modernbert)
    train_phase1(config, data, root / "one")
    run = root / "two"
    train_phase2(replace(PHASE2, epochs=1), root / "one", StringMatch(read_all(root / "one")), run)
    groups = read_groups(run, "heldout")
    weights = torch.load(run / "final" / "selector.pt")
    weights["keep.bias"] -= float(np.median(np.concatenate(compute_logits(run, groups))))
    torch.save(weights, run / "final" / "selector.pt")
    artifact = export_artifact(config, run, root / "model", "make tiny", "learned")
    return Exported(config, run, artifact, groups, compute_logits(run, groups))


def test_runtime_keeps_what_training_keeps(exported: Exported) -> None:
    compressor = Compressor(exported.artifact)
    gap = json.loads((exported.artifact / "manifest.json").read_text())["parity"]["int8_vs_trained"]
    seen = {True: 0, False: 0}
    for group, row in zip(exported.groups, exported.logits, strict=True):
        documents = [Document(d.text, d.title) for d in group.documents]
        result = compressor.compress(group.question, documents)
        kept = {(s.doc, s.start) for s in result.kept}
        repeated = {(s.doc, s.start) for s in result.dropped if s.reason == "duplicate"}
        places = [(i, start) for i, d in enumerate(group.documents) for start, _ in d.units]
        for place, logit in zip(places, row.tolist(), strict=True):
            if abs(logit) <= gap or place in repeated:
                continue
            assert place in kept or logit < 0
            assert place not in kept or logit > 0 or is_referred_to(group, place)
            seen[logit > 0] += 1
    assert min(seen.values()) > 5


def is_referred_to(group: Group, place: tuple[int, int]) -> bool:
    """Tell whether the next sentence opens with a reference, so that it comes with this one."""
    document = group.documents[place[0]]
    starts = [start for start, _ in document.units if start > place[1]]
    return bool(starts) and document.text[starts[0] :].startswith(("It ", "Its ", "They "))


def test_manifest_and_card_describe_the_decision(exported: Exported) -> None:
    manifest = json.loads((exported.artifact / "manifest.json").read_text())
    assert manifest["decision"] == "learned"
    assert "fusion.json" not in manifest["files"]
    assert set(manifest["own_decision"]) == {g.source for g in exported.groups}
    assert all(0 < row["rate"] < 100 for row in manifest["own_decision"].values())
    card = (exported.artifact / "README.md").read_text()
    assert "Phase II with string match" in card
    assert "kept\n  where its keep logit is positive" in card
    assert "fusion" not in card.split("## Training data")[0]


def test_extreme_logits_keep_their_scores(exported: Exported) -> None:
    selector = Selector.load(load_artifact(exported.artifact))
    rows = np.zeros((3, len(selector.fusion.first_layer.weights)))
    rows[:, 0] = (-20.0, 0.0, 20.0)
    assert selector.fusion.first_layer(rows).tolist() == pytest.approx([-20.0, 0.0, 20.0])
    assert selector.threshold == 0.5


def test_rate_limits_the_decision(exported: Exported) -> None:
    group = exported.groups[0]
    documents = [Document(d.text, d.title) for d in group.documents]
    result = Compressor(exported.artifact).compress(group.question, documents, rate=0.3)
    assert 0 < result.tokens_after <= 0.3 * result.tokens_before


def test_refuses_an_unknown_decision(exported: Exported, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(exported.artifact, folder)
    write_manifest(folder, decision="majority")
    with pytest.raises(ArtifactError, match="needs the decision rule 'majority'"):
        Compressor(folder)
    write_manifest(folder)  # the default is a fitted decision, whose fusion is missing here
    with pytest.raises(ArtifactError, match=r"fusion\.json"):
        Compressor(folder)


def test_refit_refuses_a_learned_decision(exported: Exported, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing to fit"):
        refit(exported.config, load_artifact(exported.artifact), exported.run, tmp_path / "new")


def test_decision_is_measured_in_labels_and_characters() -> None:
    labelled = make_document(None, ["Ada built it.", "It is long.", "Rain."], [1, 1, 0])
    group = Group("q", "made", "Who?", ["Ada"], [labelled, make_document(None, ["Snow."], [-1])])
    scored = [GroupScores(group, [[0.1, -0.1, 3.0], [1.0]])]
    assert measure_decision(scored, 0.5) == {"made": {"support": 50.0, "rate": round(100 * 23 / 34, 1)}}
    assert measure_decision(scored, 0.9)["made"]["support"] == 0.0
