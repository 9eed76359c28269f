"""Phase I as EFFCOMP describes it: string-match labels, filled-up documents, one head, best epoch by loss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tersely.metrics import normalize_answer
from tests.training.tiny import DATA, make_config, make_document, read_all, train_phase1
from training.run import Run
from training.selector.losses import balanced_bce
from training.selector.train import train
from training.selector.validate import Validation, compute_selection_score
from training.selector_model.batching import WindowBuilder, batch_groups
from training.selector_model.config import SelectorConfig
from training.selector_model.groups import Group, has_answer_string, list_labels, read_groups
from training.selector_model.trained import load_layout, load_trained


def make_group(sentences: list[str], answers: list[str], supports: list[int]) -> Group:
    labels = [int(i in supports) for i in range(len(sentences))]
    return Group("q", "hotpotqa", "Which?", answers, [make_document(None, sentences, labels, 1)])


def test_labels_are_support_or_matches_of_the_answer() -> None:
    sentences = ["Ada was born in Orvelle.", "The Brack crosses Orvelle.", "A brack is 118 km long.", "Rain."]
    group = make_group(sentences, ["the Brack"], [0, 1])
    assert list_labels(group, "string") == [[0, 1, 1, 0]]  # not the first hop, but an idle mention
    assert list_labels(group, "support") == [[1, 1, 0, 0]]


@given(st.lists(st.text("ab.A ", min_size=1), min_size=1, max_size=5), st.text("abA.", max_size=3))
def test_string_labels_match_substrings_after_normalisation(sentences: list[str], answer: str) -> None:
    (labels,) = list_labels(make_group(sentences, [answer], []), "string")
    needle = normalize_answer(answer)
    assert labels == [int(bool(needle) and needle in normalize_answer(s)) for s in sentences]


@pytest.mark.parametrize(
    ("answers", "usable"),
    [(["yes"], False), (["No."], False), (["noanswer", ""], False), (["no", "Brack"], True)],
)
def test_finds_questions_without_an_answer_string(answers: list[str], usable: bool) -> None:
    assert has_answer_string(make_group(["Yes."], answers, [])) is usable


@pytest.fixture(scope="module")
def paper(
    modernbert: Path, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[SelectorConfig, Path]:
    """Return a finished run with the settings of `selector_modernbert.toml`, but tiny."""
    base = make_config(modernbert)
    off = dict.fromkeys(("unanswerable", "untitled", "evidence", "composed"), 0.0)
    questions = {"hotpotqa": 8, "qed_nq": 8}
    rows = replace(DATA, questions=questions, labels="string", documents=4, heldout_negatives=19, **off)
    steps = replace(base.train, batch_questions=2, rank_weight=0.0, relevance_weight=0.0, best="loss")
    config = replace(base, head="sen", data=rows, train=steps)
    folder = tmp_path_factory.mktemp("paper")
    train_phase1(config, data, folder)
    return config, folder


def test_documents_are_filled_up_to_their_number(paper: tuple[SelectorConfig, Path]) -> None:
    groups = read_all(paper[1])
    assert {len(g.documents) for g in groups if g.source == "qed_nq"} == {4}
    assert {len(g.documents) for g in groups if g.source == "hotpotqa"} == {10}  # they bring more


def test_best_epoch_has_the_lowest_loss(paper: tuple[SelectorConfig, Path]) -> None:
    epochs = Run(paper[1]).validations()
    assert [-e["selection_score"] for e in epochs] == [e["loss"] for e in epochs]
    assert Run(paper[1]).best()["loss"] == min(e["loss"] for e in epochs)
    with_metrics = Validation({"a": {"support@0.1": 40.0}, "b": {"support@0.1": 60.0}}, 0.7)
    assert compute_selection_score(with_metrics, "loss") == -0.7
    assert compute_selection_score(with_metrics, "support") == 50.0


def test_validation_loss_is_that_of_the_string_labels(paper: tuple[SelectorConfig, Path]) -> None:
    config, folder = paper
    model, _ = load_trained(folder / "final")
    heldout = [g for g in read_groups(folder, "heldout") if has_answer_string(g)]
    builder = WindowBuilder(load_layout(folder / "final"), heldout, "string")
    losses: list[float] = []
    for group in heldout:
        item = builder.build(group)
        logits: list[float] = []
        labels: list[int] = []
        for window in item.windows:
            ids, places = torch.tensor([window.input_ids]), torch.tensor([window.sentence_positions])
            with torch.no_grad():
                hidden = model.encoder(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
                logits += model.keep(hidden[0, places[0]]).squeeze(-1).tolist()
            labels += [item.labels[d][s] for d, s in window.sentences]
        losses.append(float(balanced_bce(torch.tensor(logits), torch.tensor(labels))))
    assert config.head == model.head == "sen"
    assert Run(folder).best()["loss"] == pytest.approx(sum(losses) / len(losses), rel=1e-3)


def test_head_reads_only_the_state_at_sen(paper: tuple[SelectorConfig, Path]) -> None:
    model, layout = load_trained(paper[1] / "final")
    builder = WindowBuilder(load_layout(paper[1] / "final"), [])
    window = builder.build(make_group(["Ada founded Orvelle.", "It rains."], ["Ada"], [])).windows[0]
    hidden = torch.randn(1, len(window.input_ids), model.encoder.config.hidden_size)
    inputs = (window.input_ids, window.owners, window.sentence_positions, window.doc_positions)
    tensors = [torch.tensor([values]) for values in inputs]
    with torch.no_grad():
        before, _ = model.heads(hidden, *tensors)
        elsewhere = [i for i in range(len(window.input_ids)) if i not in window.sentence_positions]
        hidden[:, elsewhere] = 0.0
        after, _ = model.heads(hidden, *tensors)
    assert torch.equal(before, after)
    assert layout.sen_id in window.input_ids


def test_limits_tokens_of_questions_and_size_of_batches(
    paper: tuple[SelectorConfig, Path],
) -> None:
    config, folder = paper
    groups = [g for g in read_groups(folder, "train") if has_answer_string(g)]
    builder = WindowBuilder(load_layout(folder / "final"), groups, "string")
    sizes = [sum(len(w.input_ids) for w in builder.build(g).windows) for g in groups]
    longest = sorted(sizes)[len(sizes) // 2]
    assert [builder.teaches(g, longest) for g in groups] == [size <= longest for size in sizes]
    limits = {"max_tokens": 10**6, "max_groups": 2}
    found = batch_groups(builder, range(len(groups)), config.data, seed=1, epoch=0, start=0, **limits)
    assert [len(items) for items, _ in found] == [2] * (len(groups) // 2) + [1] * (len(groups) % 2)


def test_refuses_data_that_teaches_nothing(paper: tuple[SelectorConfig, Path], tmp_path: Path) -> None:
    config, folder = paper
    (tmp_path / "prepared").symlink_to(folder / "prepared")
    with pytest.raises(ValueError, match="no question is left to train on"):
        train(replace(config, data=replace(config.data, longest=1)), Run(tmp_path))
