"""Labels and questions: composed ones, few labels, held-out articles, and string matches as in EFFCOMP."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tersely.metrics import normalize_answer
from tests.training.tiny import DATA, WORDS, make_config, make_document, make_layout, read_all, train_phase1
from training.run import Run
from training.selector.losses import balanced_bce
from training.selector.train import train
from training.selector.validate import Validation, compute_selection_score
from training.selector_model.batching import WindowBuilder, batch_groups
from training.selector_model.composed import MENTIONS, Mention, Mentions
from training.selector_model.config import SelectorConfig
from training.selector_model.groups import (
    Group,
    GroupDocument,
    has_answer_string,
    label_document,
    list_labels,
    read_groups,
)
from training.selector_model.questions import Question, parse_question, split_by_article
from training.selector_model.trained import load_layout, load_trained

TEXT = "The ferry sails at noon. It carries barley."


def parse(answers: list[str], number: int = 1, **document: Any) -> Question:
    row = {"title": "Ferry", "text": TEXT, "sentences": None, "support": None, **document}
    return parse_question({"id": number, "question": "What?", "answers": answers, "docs": [row]})


@pytest.mark.parametrize(
    ("answers", "row", "labels"),
    [
        (["barley"], {"gold": True}, [0, 1]),  # the sentence with the answer
        (["SUPPORTS"], {"gold": None, "sentences": [TEXT]}, [1, 1]),  # the only sentence
        (["SUPPORTS"], {"gold": None, "sentences": TEXT.split(". ")}, [-1, -1]),  # unknown
    ],
)
def test_labels_a_needed_document(answers: list[str], row: dict[str, Any], labels: list[int]) -> None:
    question = parse(answers, **row)
    document = label_document(question.documents[0])
    assert (document.labels, document.gold) == (labels, 1)
    assert question.is_usable
    assert question.is_labelled == (1 in labels)


def test_holds_out_a_share_of_the_articles() -> None:
    questions = [parse(["barley"], i, title=f"Ferry {i // 4}", gold=True) for i in range(400)]
    few, _ = split_by_article(questions, 8)
    held, rest = split_by_article(questions, 8, share=0.3)
    assert held[:8] == few
    assert not {q.articles for q in held} & {q.articles for q in rest}
    assert 0.15 < len(held) / len(questions) < 0.45
    assert len(held) + len(rest) == len(questions)


def test_evidence_of_a_chain_comes_from_its_first_hops(tmp_path: Path) -> None:
    words = " ".join(WORDS).split()
    hops = {20: 3, 21: 1, 22: 0, 23: 2}
    documents = [make_document(None, [words[place]], [int(hop > 0)]) for place, hop in hops.items()]
    for document, hop in zip(documents, hops.values(), strict=True):
        document.hop = hop
    group = Group("1", "chains3", "who founded the town", [], documents)
    builder = WindowBuilder(make_layout(tmp_path), [group])
    seen: set[tuple[int, ...]] = set()
    for seed in range(40):
        item = builder.augment(group, DATA, random.Random(seed))
        ids = item.windows[0].input_ids
        start = ids.index(3) + 1
        evidence = tuple(ids[start : ids.index(3, start)]) if ids.count(3) > 2 else ()
        seen.add(evidence)
        assert len(item.gold) == 4 - len(evidence)
    assert seen == {(), tuple(builder.tokenize(words[21])), tuple(builder.tokenize(words[23]))}


WHO = "Who dug Orvelle Harbour?"
HARBOUR = make_document("Orvelle Harbour", ["It was dug by hand.", "Barges still use it."], [1, 1])
FERRY = make_document(
    "Ferry", ["The ferry sails at noon.", "It leaves from Orvelle Harbour.", "It is blue."], [0] * 3
)
GUIDE = make_document("Guide", ["Of all quays, orvelle-harbour is the oldest."], [0])


def make_group(question: str, *documents: GroupDocument) -> Group:
    return Group("1", "fixture", question, [], list(documents))


def compose(question: str, *others: GroupDocument, seed: int = 0) -> tuple[str, Mention] | None:
    own = make_group(question, HARBOUR)
    return Mentions([own, make_group("?", *others)]).compose(own, random.Random(seed))


def draw_titles(mentions: Mentions, own: Group, draws: int) -> set[str | None]:
    composed = [mentions.compose(own, random.Random(seed)) for seed in range(draws)]
    return {c[1].document.title for c in composed if c}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (WHO, "Who dug it?"),
        ("Who dug ORVELLE harbour?", "Who dug it?"),
        ("Who dug Orvelle-Harbour's basin?", "Who dug it's basin?"),
        ("Is 'Orvelle (Harbour)' older than orvelle, harbour?", "Is 'it)' older than it?"),
    ],
)
def test_hides_the_name_whatever_its_case_and_punctuation(question: str, expected: str) -> None:
    assert compose(question, FERRY) == (expected, Mention(FERRY, "It leaves from Orvelle Harbour."))


def test_draws_every_mention_outside_the_group() -> None:
    own = make_group(WHO, HARBOUR)
    assert draw_titles(Mentions([own, make_group("?", FERRY, GUIDE)]), own, 20) == {"Ferry", "Guide"}
    own = make_group(WHO, FERRY, HARBOUR)
    assert draw_titles(Mentions([own]), own, 20) == set()
    assert draw_titles(Mentions([own, make_group("?", GUIDE)]), own, 20) == {"Guide"}


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("Who dug it?", FERRY),
        ("Who dug the harbour of Orvelle?", FERRY),
        ("Who dug Orvelle Harbours?", FERRY),
        (WHO, make_document("Orvelle harbour", ["Orvelle Harbour has three cranes."], [0])),  # a namesake
        (WHO, make_document("Market", ["Fish is sold in Orvelle.", "The harbour is far away."], [0, 0])),
    ],
)
def test_composes_nothing_without_name_and_mention(question: str, other: GroupDocument) -> None:
    assert compose(question, other) is None


@pytest.mark.parametrize(
    ("title", "gold", "used"),
    [
        ("Ems", 1, False),
        ("A Zoo", 1, False),
        ("Ems 12", 1, True),
        ("Ems 12", 0, False),
        ("Of the Long Way Home", 1, True),
        ("Of the Very Long Way Home", 1, False),
        (None, 1, False),
    ],
)
def test_hides_only_usable_titles_of_gold_passages(title: str | None, gold: int, used: bool) -> None:
    own = make_group(f"Where does {title} end?", make_document(title, ["It ends here."], [gold]))
    atlas = make_group("?", make_document("Atlas", [f"Every map shows {title} in blue."], [0]))
    assert (Mentions([own, atlas]).compose(own, random.Random(0)) is not None) == used


def test_keeps_a_limited_number_of_mentions() -> None:
    own = make_group(WHO, HARBOUR)
    crowd = [make_document(f"Note {i}", [f"Note {i}: Orvelle Harbour."], [0]) for i in range(3 * MENTIONS)]
    mentions = Mentions([own, make_group("?", *crowd)])
    assert draw_titles(mentions, own, 400) == {f"Note {i}" for i in range(MENTIONS)}


def make_label_group(sentences: list[str], answers: list[str], supports: list[int]) -> Group:
    labels = [int(i in supports) for i in range(len(sentences))]
    return Group("q", "hotpotqa", "Which?", answers, [make_document(None, sentences, labels, 1)])


def test_labels_are_support_or_matches_of_the_answer() -> None:
    sentences = ["Ada was born in Orvelle.", "The Brack crosses Orvelle.", "A brack is 118 km long.", "Rain."]
    group = make_label_group(sentences, ["the Brack"], [0, 1])
    assert list_labels(group, "string") == [[0, 1, 1, 0]]  # not the first hop, but an idle mention
    assert list_labels(group, "support") == [[1, 1, 0, 0]]


@given(st.lists(st.text("ab.A ", min_size=1), min_size=1, max_size=5), st.text("abA.", max_size=3))
def test_string_labels_match_substrings_after_normalisation(sentences: list[str], answer: str) -> None:
    (labels,) = list_labels(make_label_group(sentences, [answer], []), "string")
    needle = normalize_answer(answer)
    assert labels == [int(bool(needle) and needle in normalize_answer(s)) for s in sentences]


@pytest.mark.parametrize(
    ("answers", "usable"),
    [(["yes"], False), (["No."], False), (["noanswer", ""], False), (["no", "Brack"], True)],
)
def test_finds_questions_without_an_answer_string(answers: list[str], usable: bool) -> None:
    assert has_answer_string(make_label_group(["Yes."], answers, [])) is usable


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
    window = builder.build(make_label_group(["Ada founded Orvelle.", "It rains."], ["Ada"], [])).windows[0]
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
