"""Phase II end to end on tiny encoders, rewarded by a reader that finds answers by string match."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from benchmarks.shared.readers import Prompt
from tersely import Compressor
from tersely.metrics import contains_answer
from tersely.selector.layout import Layout
from tests.training.test_road import config_for
from training.export.artifact import export, load_trained
from training.selector.ablations import draw_questions
from training.selector.bandit import Phase2, Phase2Config
from training.selector.batching import Encoder, make_batch
from training.selector.config import SelectorConfig
from training.selector.data import Group, prepare, read_groups
from training.selector.environment import answerable, judge, make_state
from training.selector.model import SelectorModel
from training.selector.phase2 import run
from training.selector.train import forward, train
from training.selector.trunk import Trunk

CONFIG = Phase2Config(
    questions=8, validation=3, learning_rate=1e-3, epochs=2, rollout_size=4, batch=2, trained_layers=1
)


class StringMatch:
    """Answers with whatever answer of the question stands in the context."""

    name = "string match"

    def __init__(self, groups: Sequence[Group], fails_on: str = "") -> None:
        self.answers = {g.question: g.answers for g in groups}
        self.fails_on = fails_on
        self.asked: list[Prompt] = []

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        self.asked += prompts
        return [None if p.question == self.fails_on else self._find(p) for p in prompts]

    def _find(self, prompt: Prompt) -> str:
        return next((a for a in self.answers[prompt.question] if contains_answer(prompt.context, [a])), "")


@pytest.fixture(scope="module")
def phase1(
    tiny_encoder: Path, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[SelectorConfig, Path]:
    folder = tmp_path_factory.mktemp("phase1")
    config = config_for(tiny_encoder)
    prepare(data, folder / "prepared", config.data, config.seed)
    train(config, folder / "prepared", folder)
    return config, folder


@pytest.fixture
def groups(phase1: tuple[SelectorConfig, Path]) -> list[Group]:
    _, folder = phase1
    return [g for part in ("train", "heldout") for g in read_groups(folder / "prepared" / f"{part}.jsonl")]


@pytest.fixture
def loaded(phase1: tuple[SelectorConfig, Path]) -> tuple[SelectorModel, Layout]:
    model, layout = load_trained(phase1[1] / "final")
    return model, Layout(Tokenizer.from_file(str(phase1[1] / "final" / "tokenizer.json")), layout)


def test_the_road_from_phase_one_to_an_artifact(
    phase1: tuple[SelectorConfig, Path], groups: list[Group], tmp_path: Path
) -> None:
    config, folder = phase1
    best = run(CONFIG, folder, StringMatch(groups), tmp_path)
    log = [json.loads(line) for line in (tmp_path / "phase2.jsonl").read_text().splitlines()]
    assert [entry["epoch"] for entry in log] == [0, 1, 2]
    rewards = [entry["validation"]["all"]["reward"] for entry in log]
    assert best["validation"]["all"]["reward"] == max(rewards)
    assert log[1]["learned"] > 0
    assert log[1]["train"]["acc"] > 0
    assert 0 < log[1]["train"]["rate"] < 100
    history = json.loads((tmp_path / "final" / "runs.json").read_text())
    assert history[-1]["reader"] == "string match"
    assert history[:-1] == json.loads((folder / "final" / "runs.json").read_text())
    if "modernbert" in config.base_model:  # one export is enough: it is the same code for both
        return
    artifact = export(config, tmp_path, tmp_path / "model", "make tiny")
    assert "Phase II with string match" in (artifact / "README.md").read_text()
    town = "Orvelle is a harbour town. It was founded by Ada Penrose. Its harbour exports salt."
    kept = Compressor(artifact).compress("Who founded Orvelle?", [town], rate=0.5)
    assert kept.status == "compressed"


def test_a_run_goes_on_after_its_last_epoch(
    phase1: tuple[SelectorConfig, Path], groups: list[Group], tmp_path: Path
) -> None:
    """Stopped after one epoch of two and started again, it ends where an unbroken run ends."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(CONFIG, phase1[1], StringMatch(groups), whole)
    run(replace(CONFIG, epochs=1), phase1[1], StringMatch(groups), broken)
    run(CONFIG, phase1[1], StringMatch(groups), broken)
    ends = [torch.load(f / "checkpoint.pt", weights_only=False)["trainer"]["model"] for f in (whole, broken)]
    assert all(torch.allclose(ends[0][name], ends[1][name], atol=1e-6) for name in ends[0])
    epochs = [json.loads(line)["epoch"] for line in (broken / "phase2.jsonl").read_text().splitlines()]
    assert epochs == [0, 1, 2]


def test_a_reader_that_fails_in_validation_costs_no_epoch(
    phase1: tuple[SelectorConfig, Path], groups: list[Group], tmp_path: Path
) -> None:
    reader = StringMatch(groups)
    run(replace(CONFIG, epochs=1), phase1[1], reader, tmp_path)
    heldout = read_groups(phase1[1] / "prepared" / "heldout.jsonl")
    reader.fails_on = heldout[0].question
    with pytest.raises(RuntimeError, match="the reader failed on 1 of"):
        run(CONFIG, phase1[1], reader, tmp_path)
    reader.fails_on = ""
    run(CONFIG, phase1[1], reader, tmp_path)
    epochs = [json.loads(line)["epoch"] for line in (tmp_path / "phase2.jsonl").read_text().splitlines()]
    assert epochs == [0, 1, 2]


def test_a_run_does_not_go_on_with_other_rewards(
    phase1: tuple[SelectorConfig, Path], groups: list[Group], tmp_path: Path
) -> None:
    run(replace(CONFIG, epochs=0), phase1[1], StringMatch(groups), tmp_path)  # stopped in the first epoch
    with pytest.raises(ValueError, match="name a new folder"):
        run(replace(CONFIG, alpha=0.5), phase1[1], StringMatch(groups), tmp_path)


@pytest.mark.parametrize("strategy", ["rl", "sl"])
def test_each_half_of_the_hybrid_alone(
    strategy: str, phase1: tuple[SelectorConfig, Path], groups: list[Group], tmp_path: Path
) -> None:
    config = replace(CONFIG, strategy=strategy, epochs=1)
    run(config, phase1[1], StringMatch(groups), tmp_path)
    entry = json.loads((tmp_path / "phase2.jsonl").read_text().splitlines()[1])
    assert ("kl" in entry) == (strategy == "rl")
    assert ("learned" in entry) == (strategy == "sl")


def test_ablations_draw_their_questions_as_a_run_does(
    phase1: tuple[SelectorConfig, Path], groups: list[Group]
) -> None:
    half, again = (draw_questions(CONFIG, phase1[1], StringMatch(groups), 4, 2) for _ in range(2))
    assert half == again
    trained = read_groups(phase1[1] / "prepared" / "train.jsonl")
    read = len(half["train"]) + sum(half["left_out"].values())
    assert 0 < len(half["train"]) <= 4
    assert read <= round(len(trained) * 4 / CONFIG.questions)
    assert len(half["heldout"]) == 2


def test_the_trunk_gives_the_logits_of_the_whole_model(
    loaded: tuple[SelectorModel, Layout], groups: list[Group]
) -> None:
    model, layout = loaded
    encoder = Encoder(layout, groups)
    item = encoder.plain(groups[0])
    batch = make_batch([item], layout.config.pad_id, 4096)
    with torch.no_grad():
        whole, _ = forward(model, batch, torch.device("cpu"))
        trunk = Trunk(model, 1, layout.config.pad_id, 4096)
        keys = list(range(len(item.windows)))
        first = trunk.keep_logits(item.windows, keys)
        again = trunk.keep_logits(item.windows[::-1], keys[::-1])[::-1]
    order = sorted(range(len(item.windows)), key=lambda i: len(item.windows[i].input_ids))
    # Lower states are kept in half precision.
    assert torch.cat([first[i] for i in order]).tolist() == pytest.approx(whole.tolist(), abs=2e-3)
    assert torch.cat(again).tolist() == pytest.approx(torch.cat(first).tolist(), abs=1e-4)


def test_only_the_top_learns_and_it_learns_what_is_rewarded(
    loaded: tuple[SelectorModel, Layout], groups: list[Group]
) -> None:
    """A policy that keeps everything learns to drop what the reader can do without."""
    model, layout = loaded
    with torch.no_grad():
        model.keep.weight.zero_()
        model.keep.bias.fill_(1.0)
        model.scale.zero_()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    encoder = Encoder(layout, groups)
    reader = StringMatch(groups)
    states, _ = answerable(reader, [make_state(encoder, g) for g in groups])
    config = replace(CONFIG, alpha=0.5, target_kl=0.5)
    trainer = Phase2(config, model, layout.config.pad_id, reader, states)
    trainer.seed_memory()
    start = trainer.validate(states)["all"]
    assert (start["rate"], start["reward"]) == (100.0, 0.5)
    rewards = [trainer.epoch()["train"]["reward"] for _ in range(12)]
    assert sum(rewards[-4:]) / 4 > rewards[0] + 0.02
    moved = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    assert moved
    assert not any(".0." in name or "embeddings" in name for name in moved)


def test_state_renders_prices_and_judges_as_the_paper_says(
    loaded: tuple[SelectorModel, Layout], groups: list[Group]
) -> None:
    group = next(g for g in groups if g.source == "qed_nq")
    state = make_state(Encoder(loaded[1], groups), group)
    everything, nothing = torch.ones(state.sentences), torch.zeros(state.sentences)
    assert state.rate(everything) == 1.0
    assert state.rate(nothing) == 0.0
    assert state.context(nothing) == ""
    assert all(d.text[a:b] in state.context(everything) for d in group.documents for a, b in d.units)
    one = nothing.clone()
    one[0] = 1.0
    first = group.documents[0]
    assert state.context(one) == f"{first.title}\n{first.text[slice(*first.units[0])]}"
    expected = (state.costs[0] + state.titles[0]) / (state.costs.sum() + state.titles.sum())
    assert state.rate(one) == pytest.approx(float(expected))
    (right, wrong) = judge(StringMatch(groups), [(state, everything), (state, nothing)], 0.95)
    assert right is not None
    assert wrong is not None
    assert (right.correct, right.reward) == (True, pytest.approx(0.95))
    assert (wrong.correct, wrong.reward) == (False, pytest.approx(-0.05))


def test_the_filter_counts_what_it_leaves_out(
    loaded: tuple[SelectorModel, Layout], groups: list[Group]
) -> None:
    single = [g for g in groups if g.source == "qed_nq"]
    known, failing, lost = single[:3]
    reader = StringMatch(single, fails_on=failing.question)
    reader.answers[lost.question] = ["nowhere to be found"]
    find = reader._find
    reader._find = lambda p: known.answers[0] if p.question == known.question else find(p)
    encoder = Encoder(loaded[1], groups)
    kept, left_out = answerable(reader, [make_state(encoder, g) for g in single])
    assert {s.group.id for s in kept} == {g.id for g in single} - {known.id, failing.id, lost.id}
    assert left_out == {"answered without any": 1, "reader failed": 1, "not answered with all sentences": 1}


def test_a_question_on_which_the_reader_fails_is_skipped(
    loaded: tuple[SelectorModel, Layout], groups: list[Group]
) -> None:
    single = [g for g in groups if g.source == "qed_nq"]
    states = [make_state(Encoder(loaded[1], groups), g) for g in single]
    reader = StringMatch(single, fails_on=single[0].question)
    trainer = Phase2(CONFIG, loaded[0], loaded[1].config.pad_id, reader, states)
    rollouts, outcomes = trainer.collect(range(len(states)))
    assert trainer.skipped == 1
    assert 0 not in {r.state for r in rollouts}
    assert len(outcomes) == CONFIG.group * (len(states) - 1)


def test_trained_layers_out_of_range(loaded: tuple[SelectorModel, Layout]) -> None:
    with pytest.raises(ValueError, match="the encoder has 2 layers"):
        Trunk(loaded[0], 2, 0, 4096)
