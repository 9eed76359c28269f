"""The fit of a request's judgement: pairs of requests, cross-fitting, and the distance from other sets."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tersely.runtime.artifacts import load_artifact
from tersely.score.answerable import ANSWER_FEATURES, Answerability, read_answerability, write_answerability
from tersely.score.fusion import sigmoid
from tersely.score.selector import Selector
from tersely.score.shift import SHIFT_FEATURES
from training.export.fit_answerable import (
    Case,
    cross_fit,
    draw_documents,
    fit_answerable,
    fit_layer,
    read_cases,
)
from training.selector_model.groups import Group, GroupDocument


def make_group(number: int, source: str = "towns", gold: int = 1, others: int = 6) -> Group:
    texts = [f"Town {i} has {i + 3} bridges. It is old." for i in range(gold + others)]
    documents = [
        GroupDocument(
            None, text, [(0, text.index(".") + 1), (text.index(".") + 2, len(text))], [0, 0], int(i < gold)
        )
        for i, text in enumerate(texts)
    ]
    return Group(f"{source}-{number}", source, "How many bridges has town 0?", ["3"], documents)


def make_cases(source: str, count: int, centre: float, seed: int) -> list[Case]:
    """Make pairs of requests that the first feature of the layer tells apart, at a place of their own."""
    draw = np.random.default_rng(seed)
    cases: list[Case] = []
    for number in range(count):
        for answered in (True, False):
            answer = draw.normal(size=len(ANSWER_FEATURES))
            answer[0] += 2.0 * answered
            shift = centre + draw.normal(size=len(SHIFT_FEATURES))
            cases.append(Case(make_group(number, source), answered, answer, shift))
    return cases


@pytest.mark.parametrize("gold", [1, 2, 3])
def test_both_requests_have_equally_many_documents(gold: int) -> None:
    group = make_group(0, gold=gold)
    sizes: set[int] = set()
    for seed in range(40):
        pair = draw_documents(group, random.Random(seed))
        assert pair is not None
        answered, unanswered = pair
        assert len(answered) == len(unanswered)
        assert set(range(gold)) <= set(answered)
        assert set(range(gold)).isdisjoint(unanswered)
        sizes.add(len(answered))
    assert len(sizes) > 1
    assert 6 in sizes


def test_a_question_without_enough_other_documents_is_left_out() -> None:
    assert draw_documents(make_group(0, gold=2, others=2), random.Random(0)) is None
    assert draw_documents(make_group(0, gold=0), random.Random(0)) is None


def test_the_layer_finds_the_feature_that_tells() -> None:
    cases = make_cases("towns", 200, 0.0, 1)
    layer = fit_layer(cases)
    assert int(np.abs(layer.weights).argmax()) == 0
    probabilities = cross_fit(cases)
    answered = np.array([case.answered for case in cases])
    assert (probabilities[answered][:, None] > probabilities[~answered]).mean() > 0.85
    sure = probabilities > 0.8
    assert answered[sure].mean() == pytest.approx(probabilities[sure].mean(), abs=0.08)  # calibrated


def test_a_cross_fitted_question_is_not_in_its_own_layer() -> None:
    cases = make_cases("towns", 60, 0.0, 2)
    own = sigmoid(fit_layer(cases)(np.stack([case.answer for case in cases])))
    assert np.abs(own - cross_fit(cases)).max() > 1e-3


def test_other_sets_are_far_and_the_own_ones_are_not() -> None:
    known = [*make_cases("towns", 120, 0.0, 3), *make_cases("rivers", 120, 6.0, 4)]
    fitted = fit_answerable(known)
    for centre, seed in ((0.0, 5), (6.0, 6)):
        near = [fitted.reference.distance(case.shift) for case in make_cases("new", 100, centre, seed)]
        assert np.mean(np.array(near) > 1) < 0.1
    far = [fitted.reference.distance(case.shift) for case in make_cases("new", 100, 3.0, 7)]
    assert np.mean(np.array(far) > 1) > 0.9  # between the two sets


def test_the_promise_is_the_one_of_the_stored_file(tmp_path: Path) -> None:
    fitted = fit_answerable(make_cases("towns", 80, 0.0, 8))
    write_answerability(tmp_path, fitted)
    artifact = replace(load_artifact(), path=tmp_path)
    stored = read_answerability(artifact)
    assert isinstance(stored, Answerability)
    assert stored.make_abstention(0.9).threshold == pytest.approx(
        fitted.make_abstention(0.9).threshold, abs=1e-5
    )
    assert dict(stored.answered.questions) == {"towns": 80}


def test_cases_have_the_features_of_the_runtime() -> None:
    selector = Selector.load(load_artifact(), threads=1)
    group = make_group(0)
    answered, unanswered = read_cases(selector, [group, make_group(1, others=1)], seed=13)
    assert (answered.answered, unanswered.answered) == (True, False)
    assert answered.answer.shape == (len(ANSWER_FEATURES),)
    assert np.isfinite([*answered.answer, *answered.shift]).all()
    assert answered.answer[ANSWER_FEATURES.index("best")] > unanswered.answer[ANSWER_FEATURES.index("best")]
