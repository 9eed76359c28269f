"""What is learned from rows with few labels, what is held out, and what a chained question's evidence is."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from tersely.score.layout import Layout, LayoutConfig
from tests.training.tiny import DATA, SPECIAL, WORDS, save_tokenizer
from training.selector_model.batching import WindowBuilder
from training.selector_model.groups import Group, GroupDocument, label_document
from training.selector_model.questions import Question, parse_question, split_by_article

TEXT = "The ferry sails at noon. It carries barley."


def parse(answers: list[str], **document: Any) -> Question:
    row = {"title": "Ferry", "text": TEXT, "sentences": None, "support": None, **document}
    return parse_question({"id": 1, "question": "What does it carry?", "answers": answers, "docs": [row]})


def test_a_needed_document_without_labels_gets_them_from_its_answer() -> None:
    (document,) = parse(["barley"], gold=True).documents
    assert label_document(document).labels == [0, 1]


def test_an_only_sentence_is_the_evidence_of_a_claim() -> None:
    (document,) = parse(["SUPPORTS"], gold=None, sentences=[TEXT]).documents
    assert label_document(document).labels == [1, 1]


def test_labels_are_unknown_where_nothing_tells_them() -> None:
    question = parse(["SUPPORTS"], gold=None, sentences=TEXT.split(". "))
    assert question.is_usable
    assert not question.is_labelled
    assert (label_document(question.documents[0]).labels, label_document(question.documents[0]).gold) == (
        [-1, -1],
        1,
    )


def test_a_share_of_the_articles_is_held_out_as_well() -> None:
    questions = [
        parse_question(
            {
                "id": i,
                "question": "?",
                "answers": ["barley"],
                "docs": [{"title": f"Ferry {i // 4}", "text": TEXT, "gold": True}],
            }
        )
        for i in range(400)
    ]
    few, _ = split_by_article(questions, 8)
    held, rest = split_by_article(questions, 8, share=0.3)
    assert held[:8] == few
    assert not {q.articles for q in held} & {q.articles for q in rest}
    assert 0.15 < len(held) / len(questions) < 0.45
    assert len(held) + len(rest) == len(questions)


def test_the_evidence_of_a_chain_comes_from_its_first_hops(tmp_path: Path) -> None:
    save_tokenizer(tmp_path)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    words = " ".join(WORDS).split()
    layout = Layout(tokenizer, LayoutConfig(2, 3, 0, len(SPECIAL) - 2, len(SPECIAL) - 1, 64, query_length=8))
    documents = [
        GroupDocument(None, words[i], [(0, len(words[i]))], [int(hop > 0)], int(hop > 0), hop)
        for i, hop in ((20, 3), (21, 1), (22, 0), (23, 2))
    ]
    group = Group("1", "chains3", "who founded the town", [], documents)
    builder = WindowBuilder(layout, [group])
    first, second = builder.tokenize(words[21]), builder.tokenize(words[23])
    seen: set[tuple[int, ...]] = set()
    for seed in range(40):
        item = builder.augment(group, DATA, random.Random(seed))
        ids = item.windows[0].input_ids
        start = ids.index(3) + 1
        evidence = tuple(ids[start : ids.index(3, start)]) if ids.count(3) > 2 else ()
        seen.add(evidence)
        assert len(item.gold) == 4 - len(evidence)
    assert seen == {(), tuple(first), tuple(second)}
