"""Phase II on a tiny encoder, with a reader that matches strings, and its questions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tersely import Compressor, Document
from tersely.rerank import CrossEncoder
from tersely.score import DocumentScores, ScoredInput
from tersely.score.layout import Layout
from tests.training.tiny import PHASE2, StringMatch, make_config, read_all
from training.reader.data import read_sources
from training.run import Run, read_runs
from training.selector.ablations import draw_few
from training.selector.bandit import Phase2
from training.selector.environment import (
    DocumentStep,
    Observation,
    filter_answerable,
    get_feedback,
    make_observation,
)
from training.selector.phase2 import train_phase2
from training.selector.questions import draw_questions, load_questions
from training.selector.trunk import Trunk
from training.selector_model.batching import WindowBuilder, make_batch
from training.selector_model.groups import Group, belongs_to_readers, read_groups
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


@pytest.fixture
def reranker(cross_encoders: dict[int, Path]) -> CrossEncoder:
    return CrossEncoder(cross_encoders[1], max_length=96)


class TrainedReader(StringMatch):
    """A reader that was trained on some questions."""

    def __init__(self, groups: Sequence[Group], trained_on: frozenset[str] | None) -> None:
        super().__init__(groups)
        self.trained_on = trained_on


@pytest.mark.parametrize("seed", range(4))
def test_reader_and_policy_learn_from_different_questions(
    phase1: Path, groups: list[Group], data: Path, seed: int
) -> None:
    parts = {part: read_groups(phase1, part) for part in ("train", "heldout")}
    trained, heldout = ({g.id for g in rows} for rows in parts.values())
    sets = ("hotpotqa", "twowiki", "qed_nq", "squad_train44")
    sources = read_sources(data, sets, trained, heldout, random.Random(seed))
    assert sources
    reader = TrainedReader(groups, frozenset(s.name for s in sources))
    builder = WindowBuilder(load_layout(phase1 / "final"), parts["train"])
    drawn = draw_questions(builder, parts, reader, train=100, validation=100, seed=seed)
    assert drawn.train
    assert not reader.trained_on & {*drawn.train, *drawn.heldout}
    multi_hop = [name.split() for name in drawn.train if name.startswith("hotpotqa")]
    assert multi_hop
    assert not any(belongs_to_readers(*name) for name in multi_hop)


def test_refuses_a_reader_that_has_seen_a_question(phase1: Path, groups: list[Group], tmp_path: Path) -> None:
    single = next(g.name for g in groups if g.source == "qed_nq")
    seen = r"was trained on \d+ of the policy's questions, such as '\w+ "
    for trained_on, message in (
        (frozenset({single}), seen),
        (frozenset(g.name for g in read_groups(phase1, "heldout")), seen),
        (None, "does not list the questions that it was trained on"),
    ):
        with pytest.raises(ValueError, match=message):
            train_phase2(PHASE2, phase1, TrainedReader(groups, trained_on), tmp_path / "new")
    train_phase2(replace(PHASE2, epochs=0), phase1, StringMatch(groups), tmp_path)
    drawn = load_questions(tmp_path / "questions.json")
    with pytest.raises(ValueError, match="was trained on 1 of"):  # questions drawn earlier are checked too
        train_phase2(PHASE2, phase1, TrainedReader(groups, frozenset({drawn.train[0]})), tmp_path)


class KeepsAll:
    """A scorer that keeps every sentence."""

    threshold, length_price = 0.5, 0.0

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        return [DocumentScores(1.0, [1.0] * len(d.units)) for d in documents]


def test_step_1_keeps_what_the_compressor_keeps(groups: list[Group], reranker: CrossEncoder) -> None:
    compressor = Compressor(KeepsAll(), reranker=reranker)
    for group in groups:
        # The compressor drops repetitions, which fixtures have.
        distinct = list({d.text: d for d in group.documents}.values())
        documents = [Document(d.text, d.title) for d in distinct]
        kept = compressor.compress(group.question, documents, max_docs=3, order="rerank")
        ranked = DocumentStep(reranker, 3).rank(replace(group, documents=distinct))
        assert ranked == [d.source for d in kept.documents]


def test_rate_and_retention_count_documents_that_step_1_drops(phase1: Path, groups: list[Group]) -> None:
    builder = WindowBuilder(load_layout(phase1 / "final"), groups)
    group = next(g for g in groups if g.source == "hotpotqa")
    whole, cut = make_observation(builder, group), make_observation(builder, group, [7, 2])
    assert [d.text for d in cut.group.documents] == [group.documents[i].text for i in (7, 2)]
    assert (cut.given, cut.supports) == (whole.given, whole.supports)
    everything = cut.costs.new_ones(cut.sentences)
    kept = float(cut.costs.sum() + cut.titles.sum())
    assert cut.compute_rate(everything) == pytest.approx(kept / whole.given)
    (feedback,) = get_feedback(StringMatch(groups), [(cut, everything)], 0.95)
    assert feedback is not None
    assert feedback.rate < 0.5


def test_phase2_reads_the_documents_of_step_1(
    phase1: Path, groups: list[Group], reranker: CrossEncoder, tmp_path: Path
) -> None:
    config = replace(PHASE2, max_docs=4, epochs=1, questions=4)
    train_phase2(config, phase1, StringMatch(groups), tmp_path, reranker=reranker)
    drawn = load_questions(tmp_path / "questions.json")
    assert set(drawn.ranked) == {*drawn.train, *drawn.heldout}
    by_name = {g.name: g for g in groups}
    for name, ranked in drawn.ranked.items():
        assert ranked == DocumentStep(reranker, 4).rank(by_name[name])
        assert len(ranked) == min(4, len(by_name[name].documents))
    assert len(Run(tmp_path).validations()) == 2


def test_refuses_half_of_step_1(
    phase1: Path, groups: list[Group], reranker: CrossEncoder, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="pass --reranker"):
        train_phase2(replace(PHASE2, max_docs=4), phase1, StringMatch(groups), tmp_path)
    with pytest.raises(ValueError, match="max_docs"):
        train_phase2(PHASE2, phase1, StringMatch(groups), tmp_path, reranker=reranker)
