"""Questions of Phase II: new to its reader, with the documents of EFFCOMP's step 1."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tersely import Compressor, Document
from tersely.rerank import CrossEncoder
from tersely.score import DocumentScores, ScoredInput
from tests.training.tiny import PHASE2, StringMatch, read_all
from training.reader.data import read_sources
from training.run import Run
from training.selector.environment import DocumentStep, get_feedback, make_observation
from training.selector.phase2 import train_phase2
from training.selector.questions import draw_questions, load_questions
from training.selector_model.batching import WindowBuilder
from training.selector_model.groups import Group, belongs_to_readers, read_groups
from training.selector_model.trained import load_layout


@pytest.fixture
def groups(phase1: Path) -> list[Group]:
    return read_all(phase1)


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
