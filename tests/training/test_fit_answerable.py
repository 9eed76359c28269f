"""Fits of the judgement of a request, of attention between sentences and of n-grams; disguised questions."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tersely.runtime.artifacts import load_artifact
from tersely.score.answerable import ANSWER_FEATURES, Answerability, read_answerability, write_answerability
from tersely.score.attention import RELATIONS
from tersely.score.fusion import sigmoid
from tersely.score.selector import Selector
from tersely.score.shift import SHIFT_FEATURES
from tests.training.tiny import make_document
from training.export import fit_attention as fitting
from training.export.fit_answerable import (
    Case,
    cross_fit,
    draw_documents,
    fit_answerable,
    fit_layer,
    read_cases,
)
from training.export.fit_attention import AttentionNetwork, Example, compute_losses, fit_attention
from training.export.fit_broken_words import Disguised, disguise, disguise_text, measure
from training.export.fit_grams import compute_features, fit_grams
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
        near = [fitted.reference.find_nearest(case.shift)[1] for case in make_cases("new", 100, centre, seed)]
        assert np.mean(np.array(near) > 1) < 0.1
    far = [fitted.reference.find_nearest(case.shift)[1] for case in make_cases("new", 100, 3.0, 7)]
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


SHARED = RELATIONS.index("shared_share")


def make_examples(count: int, seed: int) -> list[Example]:
    """Make questions of eight sentences. The one that shares terms with the marked one is needed."""
    generator = np.random.default_rng(seed)
    examples: list[Example] = []
    for _ in range(count):
        marked, needed = generator.choice(8, size=2, replace=False)
        features = generator.normal(size=(8, 2)) * 0.1
        features[marked, 0] = 1.0
        relations = np.zeros((8, 8, len(RELATIONS)), np.float32)
        relations[marked, needed, SHARED] = relations[needed, marked, SHARED] = 1.0
        labels = np.zeros(8, np.int64)
        labels[needed] = 1
        examples.append(Example(features, relations, np.zeros(8), 1.0, labels, 1.0))
    return examples


def test_torch_and_the_runtime_compute_the_same() -> None:
    generator = np.random.default_rng(0)
    features = generator.normal(size=(7, 3))
    relations = generator.normal(size=(7, 7, len(RELATIONS))).astype(np.float32)
    padded = np.pad(features, [(0, 2), (0, 0)], constant_values=5.0)
    padded_relations = np.pad(relations, [(0, 2), (0, 2), (0, 0)], constant_values=5.0)
    network = AttentionNetwork(features, seed=1).eval()
    torch.nn.init.normal_(network.layers["out"])
    with torch.inference_mode():
        inputs = torch.tensor(padded, dtype=torch.float32)[None], torch.tensor(padded_relations)[None]
        expected = network(*inputs, torch.arange(9)[None] < 7)[0, :, :7].mean(0)
    np.testing.assert_allclose(network.numpy()(features, relations), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_loss_matches_values_worked_by_hand() -> None:
    logits = torch.tensor([[[2.0, 0.0, 1.0, 9.0], [0.0, 0.0, 0.0, 9.0]]] * 3)
    labels = torch.tensor([[1, 0, 0, -1], [0, 0, 0, -1], [1, 1, 1, 1]])

    def softplus(x: float) -> float:
        return math.log1p(math.exp(x))

    first = (softplus(-2) + softplus(0) + softplus(1)) / 3 + softplus(math.log(1 + math.e) - 2)
    second = softplus(0) + softplus(math.log(2))
    losses = compute_losses(logits, labels)
    assert losses[0].item() == pytest.approx(first + second, rel=1e-5)
    without_positives = (softplus(2) + softplus(0) + softplus(1)) / 3 + softplus(0)
    assert losses[1].item() == pytest.approx(without_positives, rel=1e-5)
    without_negatives = sum(softplus(-x) for x in (2, 0, 1, 9)) / 4 + (3 * softplus(0) + softplus(-9)) / 4
    assert losses[2].item() == pytest.approx(without_negatives, rel=1e-5)


def test_padding_changes_no_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "EPOCHS", 1)
    monkeypatch.setattr(fitting, "DROPOUT", 0.0)
    examples = make_examples(20, seed=1)
    for i in range(0, 20, 2):
        whole = examples[i]
        examples[i] = Example(
            whole.features[:5], whole.relations[:5, :5], whole.base[:5], 0.5, whole.labels[:5], 2.0
        )
    together = fit_attention(examples, seed=3)
    monkeypatch.setattr(fitting, "PART_SENTENCES", 1)
    alone = fit_attention(examples, seed=3)
    for name, weights in alone.weights.items():
        np.testing.assert_allclose(together.weights[name], weights, rtol=1e-3, atol=1e-5)


def test_learns_which_sentence_shares_terms_with_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "EPOCHS", 20)
    attention = fit_attention(make_examples(120, seed=1), seed=0)
    right = [
        np.argmax(attention(e.features, e.relations)) == np.argmax(e.labels)
        for e in make_examples(50, seed=2)
    ]
    assert sum(right) >= 45


def test_same_seed_gives_the_same_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "EPOCHS", 1)
    one, two = (fit_attention(make_examples(20, seed=1), seed=3).weights for _ in range(2))
    assert all(np.array_equal(one[name], two[name]) for name in one)


TEXT = "The ferry of Orvelle sails at noon.  In 1871 Ada Penrose built its harbour."


def make_disguised() -> Group:
    document = make_document("Orvelle", TEXT.split("  "), [0, 1])
    return Group("1", "squad_train44", "When was the harbour built?", ["1871"], [document])


def test_changes_every_word_but_names_and_numbers() -> None:
    words = disguise_text(TEXT, 1.0, random.Random(0)).split()
    before = TEXT.split()
    assert [w for w in words if w in before] == ["Orvelle", "1871", "Ada", "Penrose"]
    assert words[0].istitle()
    assert len(words) == len(before)
    assert disguise_text(TEXT, 0.0, random.Random(0)) == TEXT


def test_disguises_a_word_alike_everywhere_and_keeps_labels() -> None:
    group = disguise(make_disguised(), 1.0)
    (document,) = group.documents
    question, sentence = group.question.rstrip("?").split(), document.text.rstrip(". ").split()
    assert question[3][:7] == sentence[-1][:7] != "harbour"
    assert question[2] == sentence[0].lower()
    assert (document.title, document.labels) == ("Orvelle", [0, 1])
    assert ["1871" in document.text[a:b] for a, b in document.units] == [False, True]


def test_weight_decides_which_order_counts() -> None:
    documents = [GroupDocument(None, "ab" * 10, [(i, i + 2) for i in range(0, 20, 2)], [0] * 9 + [1], 1)]
    group = Group("1", "qed_nq", "?", [], documents)
    right, wrong = np.arange(10.0), -np.arange(10.0)
    readings = [Disguised(group, 0.5, wrong, right)]
    kept = [measure(readings, weight) for weight in (0.0, 1.0)]
    assert kept[0] == 0.0
    assert kept[1] == 200 / 3  # a twentieth has no room for a sentence, a tenth and a quarter have


NAMES = ("Alder", "Birchholm", "Cedarvik", "Dunmore", "Elmstead", "Fernley", "Gorseby", "Hazelton")


def make_gram_group(number: int) -> Group:
    """Ask who built the bridge of a town. The first sentence of one of two documents says it."""
    town, other = NAMES[number % 8], NAMES[(number + 3) % 8]
    documents = [
        make_document(None, [f"The bridge of {name} was built by mason {number}.", "It is grey."], [gold, 0])
        for name, gold in ((town, 1), (other, 0))
    ]
    return Group(str(number), "squad_train44", f"Who built the bridge of {town}?", ["mason"], documents)


def test_fitted_weights_find_the_sentences() -> None:
    groups = [make_gram_group(number) for number in range(40)]
    weights, bias = fit_grams(groups)
    for group in groups:
        logits = compute_features(group) @ weights + bias
        assert logits.argmax() == 0
        assert logits[0] >= 0  # as much as the logit of any threshold, once that is added to both
