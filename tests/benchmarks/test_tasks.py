"""Tests that load the data sets and score the kept parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.shared.tasks import TASKS, Example, join_kept, load, score_kept
from benchmarks.shared.tasks.rows import locate
from tersely.errors import InvalidInputError
from tersely.metrics import contains_answer


def _keep_everything(example: Example) -> list[tuple[int, int, int]]:
    return [(i, 0, len(document.text)) for i, document in enumerate(example.documents)]


@pytest.mark.parametrize(
    ("name", "split"), [(task.name, split) for task in TASKS.values() for split in task.sources]
)
def test_every_task_loads_and_keeping_everything_scores_full(name: str, split: str, data: Path) -> None:
    examples = load(name, split, data=data, neighbours="bm25")
    assert examples
    for example in examples:
        score = score_kept(example, _keep_everything(example))
        assert score.answer_kept is (True if example.findable else None)
        assert score.support_kept in (1.0, None)
        nothing = score_kept(example, [])
        assert not nothing.answer_kept
        assert not nothing.support_kept


def test_support_spans_are_the_labelled_sentences(data: Path) -> None:
    for example in load("hotpotqa", "eval", data=data):
        assert example.support is not None
        texts = [example.documents[doc].text[start:end] for doc, start, end in example.support]
        assert len(texts) == 2
        assert texts[0].startswith("It was founded by")
        assert texts[1].startswith("Its harbour exports")
        assert all(example.documents[doc].gold for doc, _, _ in example.support)


def test_hard_negatives_are_other_passages_without_the_answer(data: Path) -> None:
    for example in load("squad", "eval", data=data, negatives=5, neighbours="bm25"):
        assert len(example.documents) == 6
        assert len({document.text for document in example.documents}) == 6
        negatives = [document for document in example.documents if not document.gold]
        assert len(negatives) == 5
        assert not any(contains_answer(document.text, example.answers) for document in negatives)


def test_draws_and_document_order_depend_on_the_seed_only(data: Path) -> None:
    first, again, other = (
        load("squad", "eval", data=data, limit=3, seed=s, neighbours="bm25") for s in (1, 1, 2)
    )
    assert first == again
    assert len(first) == 3
    assert first != other
    assert any([d.gold for d in e.documents].index(True) for e in first)


def test_yes_no_and_unanswered_have_no_answer_to_keep(data: Path) -> None:
    (answered_by_yes,) = [e for e in load("hotpotqa", "eval", data=data) if e.answers == ("yes",)]
    assert score_kept(answered_by_yes, _keep_everything(answered_by_yes)).answer_kept is None
    unanswered = [e for e in load("wikiqa", "eval", data=data, neighbours="bm25") if not e.answers]
    assert len(unanswered) == 2
    assert all(score_kept(e, []).support_kept is None for e in unanswered)


def test_a_question_that_was_not_translated_is_left_out(data: Path) -> None:
    english, thai = (load(f"xquad_{code}", "eval", data=data, neighbours="bm25") for code in ("en", "th"))
    assert len(thai) == 5 < len(english)
    assert [e.id for e in thai] == [f"th:{e.id}" for e in english if f"th:{e.id}" in {t.id for t in thai}]
    assert all(e.documents for e in thai)


def test_a_sentence_counts_from_half_of_its_characters(data: Path) -> None:
    example = load("hotpotqa", "eval", data=data)[0]
    assert example.support is not None
    (doc, start, end), _ = example.support
    half = start + (end - start + 1) // 2
    assert score_kept(example, [(doc, start, half)]).support_kept == 0.5
    assert score_kept(example, [(doc, start, half - 1)]).support_kept == 0.0


def test_one_of_several_sets_is_enough(data: Path) -> None:
    examples = load("wice", "eval", data=data)
    assert [e.id for e in examples] == ["claim-1", "claim-2", "claim-3"]  # the other is not supported
    example = examples[0]
    first, second, third = example.support or ()
    for kept, share in (([], 0.0), ([second], 1.0), ([first, third], 1.0), ([third], 0.5)):
        score = score_kept(example, kept)
        assert (score.support_kept, score.supports, score.answer_kept) == (share, 1, None)


def test_an_answer_must_lie_in_one_contiguous_piece(data: Path) -> None:
    example = load("squad", "eval", data=data, neighbours="bm25")[0]
    assert example.answer_spans is not None
    ((doc, start, end),) = example.answer_spans
    middle = example.documents[doc].text.index(" ", start)
    assert score_kept(example, [(doc, start, middle), (doc, middle + 1, end)]).answer_kept
    assert not score_kept(example, [(doc, start, middle - 1), (doc, middle, end)]).answer_kept


def test_kept_ranges_must_not_overlap_or_leave_the_text(data: Path) -> None:
    example = load("squad", "eval", data=data, neighbours="bm25")[0]
    with pytest.raises(ValueError, match="overlap"):
        join_kept(example, [(0, 0, 5), (0, 4, 8)])
    with pytest.raises(ValueError, match="outside"):
        join_kept(example, [(0, 0, 100_000)])


def test_sentences_are_located_across_white_space() -> None:
    text = "One two.\n\nThree  four. One two."
    assert locate(text, ["One two.", "Three four.", "absent", " ", "One two."]) == [
        (0, 8),
        (10, 22),
        None,
        None,
        (23, 31),
    ]


def test_missing_data_and_unknown_tasks_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    monkeypatch.delenv("TERSELY_DATA", raising=False)
    with pytest.raises(InvalidInputError, match="--data DIR or set TERSELY_DATA"):
        load("hotpotqa", "eval")
    with pytest.raises(InvalidInputError, match="does not exist"):
        load("hotpotqa", "eval", data=tmp_path / "none")
    with pytest.raises(InvalidInputError, match="has no train split"):
        load("xquad_de", "train", data=data)
    with pytest.raises(InvalidInputError, match="no task is called"):
        load("nonsense", "eval", data=data)
    monkeypatch.setenv("TERSELY_DATA", str(data))
    assert load("hotpotqa", "eval", limit=1)
