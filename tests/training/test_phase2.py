"""Phase II end to end on tiny encoders, rewarded by a reader that finds answers by string match."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tersely import Compressor
from tersely.score.layout import Layout
from tests.training.tiny import PHASE2, StringMatch, train_phase1
from training.export.artifact import export_artifact
from training.run import Run, read_runs
from training.selector.ablations import draw_few
from training.selector.bandit import Phase2
from training.selector.environment import filter_answerable, get_feedback, make_observation
from training.selector.phase2 import train_phase2
from training.selector.trunk import Trunk
from training.selector_model.batching import WindowBuilder, make_batch
from training.selector_model.config import SelectorConfig
from training.selector_model.groups import Group, read_groups
from training.selector_model.model import SelectorModel, compute_logits
from training.selector_model.trained import load_layout, load_trained


@pytest.fixture(scope="module")
def phase1(
    tiny_encoder: Path, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[SelectorConfig, Path]:
    folder = tmp_path_factory.mktemp("phase1")
    return train_phase1(tiny_encoder, data, folder), folder


@pytest.fixture
def groups(phase1: tuple[SelectorConfig, Path]) -> list[Group]:
    _, folder = phase1
    return [g for part in ("train", "heldout") for g in read_groups(folder, part)]


@pytest.fixture
def loaded(phase1: tuple[SelectorConfig, Path]) -> tuple[SelectorModel, Layout]:
    final = phase1[1] / "final"
    return load_trained(final)[0], load_layout(final)


def test_phase2_improves_on_phase1_and_exports(
    phase1: tuple[SelectorConfig, Path], groups: list[Group], tmp_path: Path
) -> None:
    config, folder = phase1
    best = train_phase2(PHASE2, folder, StringMatch(groups), tmp_path)
    epochs = Run(tmp_path).history
    assert [entry["epoch"] for entry in epochs] == [0, 1, 2]
    rewards = [entry["validation"]["all"]["reward"] for entry in epochs]
    assert best["validation"]["all"]["reward"] == max(rewards)
    assert epochs[1]["learned"] > 0
    assert epochs[1]["train"]["acc"] > 0
    assert 0 < epochs[1]["train"]["rate"] < 100
    runs = read_runs(tmp_path / "final")
    assert runs[-1]["reader"] == "string match"
    assert runs[:-1] == read_runs(folder / "final")
    if "modernbert" in config.base_model:  # one export is enough: it is the same code for both
        return
    artifact = export_artifact(config, tmp_path, tmp_path / "model", "make tiny")
    assert "Phase II with string match" in (artifact / "README.md").read_text()
    town = "Orvelle is a harbour town. It was founded by Ada Penrose. Its harbour exports salt."
    kept = Compressor(artifact).compress("Who founded Orvelle?", [town], rate=0.5)
    assert kept.status == "compressed"


def test_a_run_that_stopped_after_an_epoch_ends_where_an_unbroken_run_ends(
    phase1: tuple[SelectorConfig, Path], groups: list[Group], tmp_path: Path
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train_phase2(PHASE2, phase1[1], StringMatch(groups), whole)
    train_phase2(replace(PHASE2, epochs=1), phase1[1], StringMatch(groups), broken)
    train_phase2(PHASE2, phase1[1], StringMatch(groups), broken)
    ends = [torch.load(f / "checkpoint.pt", weights_only=False)["parts"]["model"] for f in (whole, broken)]
    assert all(torch.allclose(ends[0][name], ends[1][name], atol=1e-6) for name in ends[0])
    assert [entry["epoch"] for entry in Run(broken).history] == [0, 1, 2]


def test_a_reader_that_fails_in_validation_costs_no_epoch(
    phase1: tuple[SelectorConfig, Path], groups: list[Group], tmp_path: Path
) -> None:
    reader = StringMatch(groups)
    train_phase2(replace(PHASE2, epochs=1), phase1[1], reader, tmp_path)
    heldout = read_groups(phase1[1], "heldout")
    reader.fails_on = heldout[0].question
    with pytest.raises(RuntimeError, match="the reader failed on 1 of"):
        train_phase2(PHASE2, phase1[1], reader, tmp_path)
    reader.fails_on = ""
    train_phase2(PHASE2, phase1[1], reader, tmp_path)
    assert [entry["epoch"] for entry in Run(tmp_path).history] == [0, 1, 2]


def test_a_run_does_not_go_on_with_other_rewards(
    phase1: tuple[SelectorConfig, Path], groups: list[Group], tmp_path: Path
) -> None:
    train_phase2(
        replace(PHASE2, epochs=0), phase1[1], StringMatch(groups), tmp_path
    )  # stopped in the first epoch
    with pytest.raises(ValueError, match="name a new folder"):
        train_phase2(replace(PHASE2, alpha=0.5), phase1[1], StringMatch(groups), tmp_path)


@pytest.mark.parametrize("strategy", ["rl", "sl"])
def test_each_pass_of_an_epoch_trains_alone(
    strategy: str, phase1: tuple[SelectorConfig, Path], groups: list[Group], tmp_path: Path
) -> None:
    config = replace(PHASE2, strategy=strategy, epochs=1)
    train_phase2(config, phase1[1], StringMatch(groups), tmp_path)
    entry = Run(tmp_path).history[1]
    assert ("kl" in entry) == (strategy == "rl")
    assert ("learned" in entry) == (strategy == "sl")


def test_ablations_draw_their_questions_as_a_run_does(
    phase1: tuple[SelectorConfig, Path], groups: list[Group]
) -> None:
    half, again = (draw_few(PHASE2, phase1[1], StringMatch(groups), train=4, validation=2) for _ in range(2))
    assert half == again
    whole = read_groups(phase1[1], "train")
    filtered = len(half.train) + sum(half.left_out.values())
    assert 0 < len(half.train) <= 4
    assert filtered <= round(len(whole) * 4 / PHASE2.questions)
    assert len(half.heldout) == 2


def test_the_trunk_gives_the_logits_of_the_whole_model(
    loaded: tuple[SelectorModel, Layout], groups: list[Group]
) -> None:
    model, layout = loaded
    builder = WindowBuilder(layout, groups)
    item = builder.build(groups[0])
    batch = make_batch([item], layout.config.pad_id, 4096)
    with torch.no_grad():
        whole, _ = compute_logits(model, batch, torch.device("cpu"))
        trunk = Trunk(model, 1, layout.config.pad_id, 4096)
        keys = list(range(len(item.windows)))
        first = trunk.keep_logits(item.windows, keys)
        again = trunk.keep_logits(item.windows[::-1], keys[::-1])[::-1]
    order = sorted(range(len(item.windows)), key=lambda i: len(item.windows[i].input_ids))
    # Lower hidden states are kept in half precision.
    assert torch.cat([first[i] for i in order]).tolist() == pytest.approx(whole.tolist(), abs=2e-3)
    assert torch.cat(again).tolist() == pytest.approx(torch.cat(first).tolist(), abs=1e-4)


def test_only_the_top_layer_learns_and_it_learns_what_is_rewarded(
    loaded: tuple[SelectorModel, Layout], groups: list[Group]
) -> None:
    """A policy that keeps everything learns to drop what the reader can do without."""
    model, layout = loaded
    with torch.no_grad():
        model.keep.weight.zero_()
        model.keep.bias.fill_(1.0)
        model.scale.zero_()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    builder = WindowBuilder(layout, groups)
    reader = StringMatch(groups)
    observations, _ = filter_answerable(reader, [make_observation(builder, g) for g in groups])
    config = replace(PHASE2, alpha=0.5, target_kl=0.5)
    trainer = Phase2(config, model, layout.config.pad_id, reader, observations)
    trainer.fill_replay_buffer()
    start = trainer.validate(observations)["all"]
    assert (start["rate"], start["reward"]) == (100.0, 0.5)
    rewards = [trainer.train_epoch()["train"]["reward"] for _ in range(12)]
    assert sum(rewards[-4:]) / 4 > rewards[0] + 0.02
    moved = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    assert moved
    assert not any(".0." in name or "embeddings" in name for name in moved)


def test_context_rate_and_reward_are_those_of_the_paper(
    loaded: tuple[SelectorModel, Layout], groups: list[Group]
) -> None:
    group = next(g for g in groups if g.source == "qed_nq")
    observation = make_observation(WindowBuilder(loaded[1], groups), group)
    everything, nothing = torch.ones(observation.sentences), torch.zeros(observation.sentences)
    assert observation.compute_rate(everything) == 1.0
    assert observation.compute_rate(nothing) == 0.0
    assert observation.render_context(nothing) == ""
    assert all(
        d.text[a:b] in observation.render_context(everything) for d in group.documents for a, b in d.units
    )
    one = nothing.clone()
    one[0] = 1.0
    first = group.documents[0]
    assert observation.render_context(one) == f"{first.title}\n{first.text[slice(*first.units[0])]}"
    expected = (observation.costs[0] + observation.titles[0]) / (
        observation.costs.sum() + observation.titles.sum()
    )
    assert observation.compute_rate(one) == pytest.approx(float(expected))
    pairs = [(observation, everything), (observation, nothing)]
    (right, wrong) = get_feedback(StringMatch(groups), pairs, 0.95)
    assert right is not None
    assert wrong is not None
    assert (right.correct, right.reward) == (True, pytest.approx(0.95))
    assert (wrong.correct, wrong.reward) == (False, pytest.approx(-0.05))


def test_the_filter_counts_the_questions_that_it_leaves_out(
    loaded: tuple[SelectorModel, Layout], groups: list[Group]
) -> None:
    single = [g for g in groups if g.source == "qed_nq"]
    guessed, failing, lost = single[:3]
    reader = StringMatch(single, fails_on=failing.question)
    reader.answers[lost.question] = ["nowhere to be found"]
    find = reader.find
    reader.find = lambda p: guessed.answers[0] if p.question == guessed.question else find(p)
    builder = WindowBuilder(loaded[1], groups)
    kept, left_out = filter_answerable(reader, [make_observation(builder, g) for g in single])
    assert {o.group.id for o in kept} == {g.id for g in single} - {guessed.id, failing.id, lost.id}
    assert left_out == {"answered without any": 1, "reader failed": 1, "not answered with all sentences": 1}


def test_a_question_on_which_the_reader_fails_is_skipped(
    loaded: tuple[SelectorModel, Layout], groups: list[Group]
) -> None:
    single = [g for g in groups if g.source == "qed_nq"]
    builder = WindowBuilder(loaded[1], groups)
    observations = [make_observation(builder, g) for g in single]
    reader = StringMatch(single, fails_on=single[0].question)
    trainer = Phase2(PHASE2, loaded[0], loaded[1].config.pad_id, reader, observations)
    rollouts, feedback = trainer.collect(range(len(observations)))
    assert trainer.skipped == 1
    assert 0 not in {r.question for r in rollouts}
    assert len(feedback) == PHASE2.group * (len(observations) - 1)


def test_trained_layers_out_of_range_are_refused(loaded: tuple[SelectorModel, Layout]) -> None:
    with pytest.raises(ValueError, match="the encoder has 2 layers"):
        Trunk(loaded[0], 2, 0, 4096)
