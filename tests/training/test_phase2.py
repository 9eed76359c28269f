"""Phase II on a tiny encoder, rewarded by a reader that finds answers by string match."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tersely.score.layout import Layout
from tests.training.tiny import PHASE2, StringMatch, make_config, read_all
from training.run import Run, read_runs
from training.selector.ablations import draw_few
from training.selector.bandit import Phase2
from training.selector.environment import Observation, filter_answerable, get_feedback, make_observation
from training.selector.phase2 import train_phase2
from training.selector.trunk import Trunk
from training.selector_model.batching import WindowBuilder, make_batch
from training.selector_model.groups import Group, read_groups
from training.selector_model.model import SelectorModel, build_selector, compute_logits
from training.selector_model.trained import load_layout, load_trained


@pytest.fixture
def groups(phase1: Path) -> list[Group]:
    return read_all(phase1)


@pytest.fixture
def model(phase1: Path) -> SelectorModel:
    return load_trained(phase1 / "final")[0]


@pytest.fixture
def layout(phase1: Path) -> Layout:
    return load_layout(phase1 / "final")


@pytest.fixture
def single(layout: Layout, groups: list[Group]) -> list[Observation]:
    """Return the questions that one document answers."""
    builder = WindowBuilder(layout, groups)
    return [make_observation(builder, g) for g in groups if g.source == "qed_nq"]


def test_best_epoch_is_kept(phase1: Path, groups: list[Group], tmp_path: Path) -> None:
    best = train_phase2(PHASE2, phase1, StringMatch(groups), tmp_path)
    epochs = Run(tmp_path).history
    assert [entry["epoch"] for entry in epochs] == [0, 1, 2]
    rewards = [entry["validation"]["all"]["reward"] for entry in epochs]
    assert best["validation"]["all"]["reward"] == max(rewards)
    assert epochs[1]["learned"] > 0
    assert epochs[1]["train"]["acc"] > 0
    assert 0 < epochs[1]["train"]["rate"] < 100
    runs = read_runs(tmp_path / "final")
    assert runs[-1]["reader"] == "string match"
    assert runs[:-1] == read_runs(phase1 / "final")


def test_failed_validation_costs_no_epoch(phase1: Path, groups: list[Group], tmp_path: Path) -> None:
    reader = StringMatch(groups)
    train_phase2(replace(PHASE2, epochs=0), phase1, reader, tmp_path)
    reader.fails_on = read_groups(phase1, "heldout")[0].question
    with pytest.raises(RuntimeError, match="the reader failed on 1 of"):
        train_phase2(replace(PHASE2, epochs=1), phase1, reader, tmp_path)
    reader.fails_on = ""
    train_phase2(replace(PHASE2, epochs=1), phase1, reader, tmp_path)
    assert [entry["epoch"] for entry in Run(tmp_path).history] == [0, 1]
    with pytest.raises(ValueError, match="name a new folder"):  # the rewards would be others
        train_phase2(replace(PHASE2, alpha=0.5), phase1, reader, tmp_path)


@pytest.mark.parametrize("strategy", ["rl", "sl"])
def test_each_pass_trains_alone(strategy: str, phase1: Path, groups: list[Group], tmp_path: Path) -> None:
    train_phase2(replace(PHASE2, strategy=strategy, epochs=1), phase1, StringMatch(groups), tmp_path)
    entry = Run(tmp_path).history[1]
    assert ("kl" in entry) == (strategy == "rl")
    assert ("learned" in entry) == (strategy == "sl")


def test_ablations_sample_groups_like_questions(phase1: Path, groups: list[Group]) -> None:
    half, again = (draw_few(PHASE2, phase1, StringMatch(groups), train=4, validation=2) for _ in range(2))
    assert half == again
    whole = read_groups(phase1, "train")
    assert 0 < len(half.train) <= 4
    assert len(half.train) + sum(half.left_out.values()) <= round(len(whole) * 4 / PHASE2.questions)
    assert len(half.heldout) == 2


@pytest.mark.parametrize("kind", ["bert", "modernbert"])
def test_trunk_computes_what_the_whole_model_computes(
    kind: str, groups: list[Group], layout: Layout, request: pytest.FixtureRequest
) -> None:
    model, *_ = build_selector(make_config(request.getfixturevalue(kind)))
    item = WindowBuilder(layout, groups).build(groups[0])
    batch = make_batch([item], layout.config.pad_id, 4096)
    trunk = Trunk(model, 1, layout.config.pad_id, 4096)
    keys = list(range(len(item.windows)))
    with torch.no_grad():
        whole, _ = compute_logits(model, batch, torch.device("cpu"))
        first = trunk.keep_logits(item.windows, keys)
    again = trunk.keep_logits(item.windows[::-1], keys[::-1])[::-1]
    order = sorted(keys, key=lambda i: len(item.windows[i].input_ids))
    # Lower hidden states are kept in half precision.
    assert torch.cat([first[i] for i in order]).tolist() == pytest.approx(whole.tolist(), abs=2e-3)
    assert torch.cat(again).tolist() == pytest.approx(torch.cat(first).tolist(), abs=1e-4)
    torch.cat(again).sum().backward()
    moved = {name for name, p in model.named_parameters() if p.grad is not None}
    assert any(".1." in name for name in moved)
    assert not any(".0." in name or "embeddings" in name for name in moved)


def test_policy_learns_what_is_rewarded(model: SelectorModel, layout: Layout, groups: list[Group]) -> None:
    """A policy that keeps everything learns to drop what the reader does not need."""
    with torch.no_grad():
        model.keep.weight.zero_()
        model.keep.bias.fill_(1.0)
        model.scale.zero_()
    builder = WindowBuilder(layout, groups)
    reader = StringMatch(groups)
    observations, _ = filter_answerable(reader, [make_observation(builder, g) for g in groups])
    config = replace(PHASE2, alpha=0.5, target_kl=0.5)
    trainer = Phase2(config, model, layout.config.pad_id, reader, observations)
    trainer.fill_replay_buffer()
    start = trainer.validate(observations)["all"]
    assert (start["rate"], start["reward"]) == (100.0, 0.5)
    rewards = [trainer.train_epoch()["train"]["reward"] for _ in range(8)]
    assert sum(rewards[-2:]) / 2 > rewards[0] + 0.02


def test_context_rate_and_reward_are_those_of_the_paper(
    single: list[Observation], groups: list[Group]
) -> None:
    observation = single[0]
    documents = observation.group.documents
    everything, nothing = torch.ones(observation.sentences), torch.zeros(observation.sentences)
    assert (observation.compute_rate(everything), observation.compute_rate(nothing)) == (1.0, 0.0)
    assert observation.render_context(nothing) == ""
    whole = observation.render_context(everything)
    assert all(d.text[a:b] in whole for d in documents for a, b in d.units)
    one = nothing.clone()
    one[0] = 1.0
    first = documents[0]
    assert observation.render_context(one) == f"{first.title}\n{first.text[slice(*first.units[0])]}"
    kept, given = observation.costs[0] + observation.titles[0], observation.costs.sum()
    expected = kept / (given + observation.titles.sum())
    assert observation.compute_rate(one) == pytest.approx(float(expected))
    pairs = [(observation, everything), (observation, nothing)]
    feedback = get_feedback(StringMatch(groups), pairs, 0.95)
    results = [f and (f.correct, f.reward) for f in feedback]
    assert results == [(True, pytest.approx(0.95)), (False, pytest.approx(-0.05))]


def test_filter_counts_dropped_questions(single: list[Observation]) -> None:
    guessed, failing, lost = (o.group for o in single[:3])
    reader = StringMatch([o.group for o in single], fails_on=failing.question)
    reader.answers[lost.question] = ["nowhere to be found"]
    find = reader.find
    reader.find = lambda p: guessed.answers[0] if p.question == guessed.question else find(p)
    kept, left_out = filter_answerable(reader, single)
    assert [o.group.id for o in kept] == [o.group.id for o in single[3:]]
    assert left_out == {"answered without any": 1, "reader failed": 1, "not answered with all sentences": 1}


def test_skips_questions_on_which_the_reader_fails(
    model: SelectorModel, layout: Layout, single: list[Observation]
) -> None:
    reader = StringMatch([o.group for o in single], fails_on=single[0].group.question)
    trainer = Phase2(PHASE2, model, layout.config.pad_id, reader, single)
    rollouts, feedback = trainer.collect(range(len(single)))
    assert trainer.skipped == 1
    assert 0 not in {r.question for r in rollouts}
    assert len(feedback) == PHASE2.group * (len(single) - 1)


def test_refuses_to_train_all_layers_as_trained_layers(model: SelectorModel) -> None:
    with pytest.raises(ValueError, match="the encoder has 2 layers"):
        Trunk(model, 2, 0, 4096)
