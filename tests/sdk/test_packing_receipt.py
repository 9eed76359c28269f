"""The receipt, from choices made by hand: one span for every unit, in order, and a status that fits."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from tersely import Document
from tersely.pack.receipt import Facts, explain, keep_everything
from tersely.split.splitting import Scored, SplitDocuments
from tersely.types import Span
from tests.sdk.counters import count_words
from tests.sdk.packing_cases import make_choice, make_scores, make_split

FACTS = Facts("model@1", count_words, promises_recall=False)
PROMISE = Facts("model@1", count_words, promises_recall=True)


def two_documents() -> SplitDocuments:
    split = make_split(["Aa bb.", "Cc dd ee."], ["Ff gg."])
    first, second = split.documents
    titled = Document(first.text, title="Title", id="a", metadata={"page": 3})
    return replace(split, documents=(titled, second))


SCORED = Scored(two_documents(), [make_scores(0.9, 0.3), make_scores(0.6, relevance=0.7)], None)
EVERY_UNIT = [(0, 0), (0, 1), (1, 0)]


def test_every_unit_has_one_span_with_its_score_and_reason() -> None:
    choice = make_choice((0, 0), (1, 0), sequence=(0, 1), candidates=EVERY_UNIT)
    result = explain(SCORED, choice, FACTS)
    assert result.kept == (Span(0, 0, 6, 0.9, "score"), Span(1, 0, 6, 0.6, "score"))
    assert result.dropped == (Span(0, 7, 16, 0.3, "budget"),)


def test_the_text_is_what_was_kept_with_its_titles() -> None:
    result = explain(SCORED, make_choice((0, 0), (1, 0), sequence=(0, 1), candidates=EVERY_UNIT), FACTS)
    assert result.text == "Title\nAa bb.\n\nFf gg."
    assert (result.tokens_before, result.tokens_after) == (7, 5)
    assert result.citations().locate(result.text.index("Ff")) == (1, 0)
    assert (result.status, result.reason, result.model) == ("compressed", None, "model@1")


def test_a_document_is_listed_with_what_the_caller_passed_and_its_relevance() -> None:
    result = explain(SCORED, make_choice((0, 1), sequence=(0, 1)), FACTS)
    (document,) = result.documents
    assert (document.source, document.text, document.relevance) == (0, "Cc dd ee.", 0.9)
    assert (document.title, document.id, document.metadata) == ("Title", "a", {"page": 3})
    assert document.spans == result.kept


def test_kept_spans_follow_the_text_and_dropped_ones_the_source() -> None:
    choice = make_choice((0, 0), (1, 0), sequence=(1, 0), candidates=EVERY_UNIT)
    result = explain(SCORED, choice, FACTS)
    assert result.text == "Ff gg.\n\nTitle\nAa bb."
    assert [span.doc for span in result.kept] == [1, 0]
    nothing_kept = explain(SCORED, make_choice(sequence=(1, 0), threshold=0.95), FACTS)
    assert [(span.doc, span.start) for span in nothing_kept.dropped] == [(0, 0), (0, 7), (1, 0)]


def test_nothing_dropped_in_source_order_is_unchanged() -> None:
    result = explain(SCORED, make_choice(*EVERY_UNIT, sequence=(0, 1)), FACTS)
    assert (result.status, result.reason) == ("unchanged", "nothing was scored too low")
    assert {span.reason for span in result.kept} == {"score"}


def test_nothing_dropped_in_another_order_is_compressed() -> None:
    result = explain(SCORED, make_choice(*EVERY_UNIT, sequence=(1, 0)), FACTS)
    assert (result.status, result.reason, result.dropped) == ("compressed", None, ())


def test_pieces_of_one_unit_are_truncated_on_both_sides() -> None:
    split = make_split(["Aa bb.", "Cc dd.", "Ee ff."], parents={0: [0, 1, 1]})
    scored = Scored(split, [make_scores(0.3, 0.9, 0.2)], None)
    choice = make_choice((0, 1), candidates=[(0, 0), (0, 2)])
    result = explain(scored, choice, FACTS)
    assert [span.reason for span in result.kept] == ["truncated"]
    assert [span.reason for span in result.dropped] == ["budget", "truncated"]


def test_a_unit_that_was_cut_and_is_dropped_as_a_whole_is_not_truncated() -> None:
    split = make_split(["Aa bb.", "Cc dd.", "Ee ff."], parents={0: [0, 1, 1]})
    scored = Scored(split, [make_scores(0.9, 0.3, 0.2)], None)
    result = explain(scored, make_choice((0, 0), candidates=[(0, 1), (0, 2)]), FACTS)
    assert [span.reason for span in result.dropped] == ["budget", "budget"]


@pytest.mark.parametrize(("threshold", "recall_met"), [(0.25, False), (0.5, True)])
def test_a_promise_holds_where_only_low_scores_are_dropped(threshold: float, recall_met: bool) -> None:
    choice = make_choice((0, 0), (1, 0), sequence=(0, 1), candidates=EVERY_UNIT, threshold=threshold)
    assert explain(SCORED, choice, PROMISE).recall_met is recall_met
    assert explain(SCORED, choice, FACTS).recall_met is None


def test_explaining_leaves_its_input_unchanged() -> None:
    before = copy.deepcopy(SCORED)
    choice = make_choice((0, 0), sequence=(0, 1), candidates=EVERY_UNIT)
    assert explain(SCORED, choice, FACTS) == explain(SCORED, choice, FACTS)
    assert before == SCORED


@pytest.mark.parametrize("status", ["unchanged", "bypassed", "failed_open"])
def test_keep_everything_keeps_every_unit_unscored(status: str) -> None:
    result = keep_everything(two_documents(), PROMISE, status, "because")
    assert result.text == "Title\nAa bb. Cc dd ee.\n\nFf gg."
    assert result.kept == tuple(
        Span(doc, start, end, 0.0, status) for doc, start, end in ((0, 0, 6), (0, 7, 16), (1, 0, 6))
    )
    assert (result.dropped, result.status, result.reason) == ((), status, "because")
    assert [document.relevance for document in result.documents] == [0.0, 0.0]
    assert result.recall_met is True


def test_keep_everything_promises_nothing_unless_asked() -> None:
    assert keep_everything(two_documents(), FACTS, "unchanged", "because").recall_met is None
