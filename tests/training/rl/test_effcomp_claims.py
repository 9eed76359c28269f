"""EFFCOMP's claims: their questions, reader and measures, and a small run of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.shared.readers import Prompt
from training.rl.replications import effcomp, effcomp_appendix, effcomp_real
from training.rl.replications.claim import Claim
from training.rl.replications.effcomp import Scored
from training.rl.replications.two_hop import CHANCE, TwoHopReader, make_questions
from training.selector.environment import Observation
from training.selector_model.groups import Group, list_labels


def read(question: Group, kept: list[bool]) -> str | None:
    """Return the reader's answer from the kept sentences of all documents."""
    sentences = [d.text[a:b] for d in question.documents for a, b in d.units]
    context = "\n".join(s for s, keep in zip(sentences, kept, strict=True) if keep)
    return TwoHopReader().answer([Prompt(question.question, context)])[0]


@given(st.text("0123456789", max_size=6), st.integers(0, 20), st.booleans())
def test_reader_needs_only_both_hops(seed: str, lost: int, others: bool) -> None:
    (question,) = make_questions(1, seed)
    hops = [bool(y) for d in question.documents for y in d.labels]
    assert sum(hops) == 2
    assert len(hops) == 21
    kept = [hop or others for hop in hops]
    assert read(question, kept) == question.answers[0]
    kept[lost] = False
    assert read(question, kept) == ("" if hops[lost] else question.answers[0])


def test_question_of_one_hop_needs_only_the_crossing() -> None:
    (question,) = make_questions(1, "a", hops=1)
    (pair,) = make_questions(1, "a")
    assert [d.text for d in question.documents] == [d.text for d in pair.documents]
    documents = [d for d in question.documents if d.gold]
    (hop,) = [d.text[a:b] for d in documents for (a, b), y in zip(d.units, d.labels, strict=True) if y]
    river, town = hop.split()[1], hop.split()[3]
    assert (question.question, question.answers) == (f"which river crosses {town} ?", [river])
    hops = [bool(y) for d in question.documents for y in d.labels]
    assert read(question, hops) == river
    assert read(question, [not hop for hop in hops]) == ""


def test_string_labels_mark_the_second_hop_and_idle_sentences() -> None:
    questions = make_questions(400, "labels")
    assert questions == make_questions(400, "labels")
    first_hops = 0
    for question in questions:
        found = [
            (d.text[a:b], y, hop)
            for d, labels in zip(question.documents, list_labels(question, "string"), strict=True)
            for (a, b), y, hop in zip(d.units, labels, d.labels, strict=True)
        ]
        marked = [text for text, y, _ in found if y]
        assert sum("crosses" in text for text in marked) == 1
        assert sum("rises" in text or "miles" in text for text in marked) == 2
        first = [y for text, y, hop in found if hop and "born" in text]
        first_hops += sum(first)
        assert len(marked) == 3 + sum(first)
    assert first_hops / 400 == pytest.approx(CHANCE, abs=0.05)


def make_scored(scores: list[float], labels: list[int], costs: list[float]) -> Scored:
    (question,) = make_questions(1, "a")
    document = replace(question.documents[0], units=[(0, 1)] * len(labels), labels=labels)
    observation = Observation(
        replace(question, documents=[document]),
        (),
        torch.tensor([]),
        (0, len(labels)),
        torch.tensor(costs),
        torch.zeros(1),
        sum(costs),
        sum(labels),
    )
    return Scored(observation, torch.tensor(scores))


def test_measures_match_values_worked_by_hand() -> None:
    rows = [
        make_scored([0.9, 0.4, 0.6, 0.1], [1, 1, 0, 0], [1.0, 2.0, 3.0, 4.0]),
        make_scored([0.8, 0.3], [1, 1], [5.0, 5.0]),
    ]
    assert effcomp.measure_retention(rows, 0.5) == 2 / 4
    assert effcomp.measure_rate(rows, 0.5) == pytest.approx((0.4 + 0.5) / 2)
    assert effcomp.measure_success(rows) == pytest.approx((0.9 * 0.4 + 0.8 * 0.3) / 2)
    # Down to 0.4 the rates are 0.6 and 0.5; with 0.3 the second question is whole.
    threshold = effcomp.find_threshold(rows, 0.6)
    assert 0.29 < threshold < 0.4
    assert effcomp.measure_retention(rows, threshold) == 3 / 4


def test_accuracy_is_of_what_scores_above_one_half() -> None:
    rows: list[Scored] = []
    for question, height in zip(make_questions(2, "accuracy", hops=1), (0.51, 0.49), strict=True):
        offsets = [0, *accumulate(len(d.units) for d in question.documents)]
        size, documents = offsets[-1], len(question.documents)
        costs, titles = torch.ones(size), torch.zeros(documents)
        observation = Observation(question, (), torch.tensor([]), tuple(offsets), costs, titles, size, 1)
        hops = [float(y) for d in question.documents for y in d.labels]
        rows.append(Scored(observation, height * torch.tensor(hops)))
    # The hop of the first question is kept, that of the second is not.
    assert effcomp.measure_accuracy(rows) == 0.5
    assert effcomp.measure_rate(rows, 0.5) == pytest.approx((1 / 21 + 0) / 2)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TRAIN": 8, "VALIDATION": 4, "TEST": 4}.items():
        monkeypatch.setattr(effcomp, name, value)
    for name, value in {"EPOCHS": 2, "EARLY": 1}.items():
        monkeypatch.setattr(effcomp_appendix, name, value)
    config = replace(effcomp_appendix.CONFIG, questions=4, validation=4)
    monkeypatch.setattr(effcomp_appendix, "CONFIG", config)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "claim",
    [effcomp.RQ4, effcomp.TABLE3, effcomp_appendix.D8, effcomp_appendix.D10, effcomp_appendix.D11],
    ids=lambda claim: claim.name,
)
def test_claims_measure_what_they_predict(claim: Claim, tmp_path: Path) -> None:
    rows = [claim.run(arm, 1, tmp_path / f"arm-{number}") for number, arm in enumerate(claim.arms)]
    wanted = {claim.initial, *(p.metric for p in claim.predictions)}
    assert all(wanted <= set(row) and None not in row.values() for row in rows)
    # The arms start from the same weights, except for the one without Phase I, and where two Phases I differ.
    starts = 2 if claim in (effcomp_appendix.D10, effcomp.TABLE3) else 1
    assert len({row[claim.initial] for row in rows}) == starts


def test_support_reader_needs_every_supporting_sentence() -> None:
    question, other = make_questions(2, "support")
    reader = effcomp_real.SupportReader([question, other])
    hops = [d.text[a:b] for d in question.documents for (a, b), y in zip(d.units, d.labels, strict=True) if y]
    contexts = ["\n".join(hops), hops[0], "\n".join(reversed([*hops, "Something else."])), ""]
    answers = reader.answer([Prompt(question.question, context) for context in contexts])
    assert answers == [question.answers[0], "", question.answers[0], ""]


def test_real_questions_have_their_needed_paragraphs_and_a_few_others(data: Path) -> None:
    groups = effcomp_real.read_groups(data, 1)
    assert {group.source for group in groups} == {"hotpotqa", "twowiki"}
    assert effcomp_real.read_groups(data, 1) == groups
    assert effcomp_real.read_groups(data, 2) != groups
    for group in groups:
        assert sum(y for document in group.documents for y in document.labels) == 2
        assert len(group.documents) <= effcomp_real.DOCUMENTS
        assert {y for document in group.documents for y in document.labels} <= {0, 1}


def test_claim_on_real_questions_measures_what_it_predicts(
    data: Path, bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERSELY_DATA", str(data))
    small = {"TRAIN": 6, "VALIDATION": 3, "TEST": 3, "WINDOW_TOKENS": 128, "_BASE": str(bert)}
    for name, value in small.items():
        monkeypatch.setattr(effcomp_real, name, value)
    monkeypatch.setattr(effcomp_real, "_PHASE2", replace(effcomp_real._PHASE2, questions=4, validation=3))
    scored: list[Path] = []

    def score(questions: Sequence[Group], phase: Path) -> list[Scored]:
        scored.append(phase)
        return effcomp.score_questions(questions, phase)

    monkeypatch.setattr(effcomp_real, "score_questions", score)
    claim = effcomp_real.RQ4_REAL
    rows = [claim.run(arm, 1, tmp_path / f"arm-{number}") for number, arm in enumerate(claim.arms)]
    wanted = {claim.initial, *(p.metric for p in claim.predictions)}
    assert all(wanted <= set(row) and None not in row.values() for row in rows)
    assert scored == [tmp_path / "phase1", tmp_path / "phase2"]  # once for both arms
