"""Labels of rows that have few, held-out articles, and the evidence of chained questions."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.training.tiny import DATA, WORDS, make_document, make_layout
from training.selector_model.batching import WindowBuilder
from training.selector_model.groups import Group, label_document
from training.selector_model.questions import Question, parse_question, split_by_article

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
