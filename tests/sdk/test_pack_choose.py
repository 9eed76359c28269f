"""The choice and its receipt, over documents and scores made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tersely import Compressor, Document
from tersely.options import CompressionOptions
from tersely.pack.receipt import keep_everything
from tersely.score.loading import Thresholds
from tersely.split.documents import Bypass, Split, split
from tersely.types import Span
from tests.sdk.counters import count_each_word, count_words
from tests.sdk.fakes import FakeScorer
from tests.sdk.pack_cases import make_scored, make_split, receive, select

SCORES = (0.9, 0.2, 0.5, 0.1, 0.8)
SENTENCE = "The pier was built in 1871."


def two_documents(limit: int | None = None, **more: Any) -> Split:
    """Return units of 3, 2 and 4 words (0, 1, 2), and of 1 and 5 words (3, 4)."""
    documents = ["Aa bb cc.", "Dd ee.", "Ff gg hh ii."], ["Jj.", "Kk ll mm nn oo."]
    return make_split(*documents, limit=limit, **more)


def three_documents() -> Split:
    return make_split(["Aa bb."], ["Cc dd."], ["Ee ff."])


def test_units_that_reach_the_threshold_are_kept() -> None:
    split = two_documents()
    selection = select(split, make_scored(split, *SCORES, threshold=0.5))
    assert selection.kept == selection.candidates == {0, 2, 4}
    assert select(split, make_scored(split, *SCORES, threshold=0.95)).kept == frozenset()


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (8, {0, 4}),  # 3 and 5 words
        (7, {0, 2}),  # 3 and 4 words
        (0, set()),
    ],
)
def test_the_best_units_fill_a_limit(limit: int, kept: set[int]) -> None:
    split = two_documents(limit)
    selection = select(split, make_scored(split, *SCORES))
    assert selection.kept == kept
    assert len(selection.candidates) == 5
    assert selection.tokens == count_words(selection.rendered.text) <= limit


def test_packing_scores_rank_and_scores_meet_the_threshold() -> None:
    packing = (0.9, 0.6, 0.3, 0.1, 0.8)
    split, free = two_documents(7), two_documents()
    assert select(split, make_scored(split, *SCORES, packing=packing)).kept == {0, 1, 3}
    assert select(split, make_scored(split, *SCORES, packing=packing, threshold=0.5)).kept == {0, 2}
    assert select(free, make_scored(free, *SCORES, packing=packing, threshold=0.5)).kept == {0, 2, 4}


def test_a_length_price_prefers_short_units() -> None:
    split, scores = two_documents(7), (0.6, 0.4, 0.5, 0.3, 0.0)
    assert select(split, make_scored(split, *scores)).kept == {0, 2}
    assert select(split, make_scored(split, *scores, length_price=1.0)).kept == {0, 1, 3}


def test_max_docs_keeps_the_most_relevant_documents() -> None:
    split = three_documents()
    scored = make_scored(split, 0.9, 0.2, 0.3, relevance=[0.1, 0.6, 0.8])
    selection = select(split, scored, max_docs=2)
    assert selection.sequence == (1, 2)
    assert selection.kept == selection.candidates == {1, 2}
    assert select(split, scored, max_docs=2, order="rerank").sequence == (2, 1)
    equal = make_scored(split, 0.5, 0.5, 0.5)
    assert select(split, equal, max_docs=2, order="rerank").sequence == (0, 1)


def test_a_repeated_sentence_is_kept_once() -> None:
    split = make_split(["Aa bb.", SENTENCE], [SENTENCE])
    selection = select(split, make_scored(split, 0.1, 0.8, 0.9))
    assert selection.kept == {0, 2}
    assert selection.duplicates == {1}
    split = make_split([SENTENCE] * 8)
    selection = select(split, make_scored(split, 0.8, 0.9, *[0.7] * 6))
    assert selection.kept == {1}
    assert selection.duplicates == set(range(8)) - {1}


def test_short_units_do_not_displace_the_best_one() -> None:
    # The second sentence scores less, and gains from its neighbour: with its length it would come first.
    split = two_documents(4)
    scored = make_scored(split, 0.9, 0.4, 0, 0, 0, packing=[0.9, 0.8, 0, 0, 0], length_price=1.0)
    selection = select(split, scored)
    assert 0 in selection.kept
    assert selection.best_fits is True


def test_others_do_not_displace_the_best_one_by_their_sum() -> None:
    split = make_split(["Aa bb cc dd.", "Ee ff.", "Gg hh."], limit=4)
    selection = select(split, make_scored(split, 0.6, 0.5, 0.5, packing=[0.1, 0.5, 0.5]))
    assert selection.kept == {0}
    assert selection.best_fits is True


def test_a_text_that_is_empty_for_lack_of_room_comes_with_a_warning() -> None:
    split = two_documents(1)
    assert receive(split, make_scored(split, *SCORES)).warnings == ()
    split = make_split(["Aa bb cc."], limit=2)
    assert receive(split, make_scored(split, 0.9)).warnings == (
        "no unit fits into 2 tokens together with what it needs; raise the limit",
    )


def test_of_equal_units_the_cheapest_has_to_fit() -> None:
    split = two_documents(2)
    assert select(split, make_scored(split, 0.9, 0.9, 0.9, 0.1, 0.9)).best_fits is True


def test_without_candidates_best_fits_is_unknown() -> None:
    split = two_documents()
    assert select(split, make_scored(split, *SCORES, threshold=0.95)).best_fits is None


SECTIONS = "# Lamps\n\nThe lamp burns.\n\n# Cranes of Maren\n\nThe old crane lifts stone. It creaks a lot."


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (4, ""),
        (5, "# Lamps\n\nThe lamp burns."),  # the crane alone would fit, and its heading would not
        (8, "# Lamps\n\nThe lamp burns."),
        (9, "# Cranes of Maren\n\nThe old crane lifts stone."),
    ],
)
def test_nothing_is_kept_without_its_heading(budget: int, text: str) -> None:
    compressor = Compressor(FakeScorer(), token_counter=count_words)
    assert compressor.compress("old crane lifts stone", [SECTIONS], budget=budget).text == text


def test_a_heading_is_not_kept_for_a_unit_below_the_threshold() -> None:
    split = make_split(["Lamps", "They burn."], limit=2, headings=[0])
    assert select(split, make_scored(split, 0.5, 0.1, packing=[0.1, 0.9], threshold=0.3)).kept == {0}


# The receipt.


def make_titled(limit: int | None = None) -> Split:
    return make_split(["Aa bb.", "Cc dd ee."], ["Ff gg."], titles={0: "Title"}, limit=limit)


def test_every_unit_has_one_span_with_score_and_reason() -> None:
    split = make_titled(limit=5)
    result = receive(split, make_scored(split, 0.9, 0.3, 0.6, relevance=[0.9, 0.7]))
    assert result.kept == (Span(0, 0, 6, 0.9, "score"), Span(1, 0, 6, 0.6, "score"))
    assert result.dropped == (Span(0, 7, 16, 0.3, "budget"),)
    assert result.text == "Title\nAa bb.\n\nFf gg."
    assert (result.tokens_before, result.tokens_after) == (7, 5)
    assert result.citations().locate(result.text.index("Ff")) == (1, 0)
    assert (result.status, result.reason, result.model) == ("compressed", None, "model@1")
    first = result.documents[0]
    assert (first.source, first.text, first.relevance, first.spans) == (0, "Aa bb.", 0.9, result.kept[:1])
    assert (first.title, first.id, first.metadata) == ("Title", "id 0", {"page": 0})


def test_kept_spans_follow_the_text_and_dropped_ones_the_source() -> None:
    split = make_titled()
    scored = make_scored(split, 0.9, 0.3, 0.6, relevance=[0.1, 0.7], threshold=0.5)
    result = receive(split, scored, order="rerank")
    assert result.text == "Ff gg.\n\nTitle\nAa bb."
    assert [span.doc for span in result.kept] == [1, 0]
    nothing = receive(split, make_scored(split, 0.9, 0.3, 0.6, threshold=0.95), order="rerank")
    assert [(span.doc, span.start) for span in nothing.dropped] == [(0, 0), (0, 7), (1, 0)]


def test_nothing_dropped_is_unchanged_unless_reordered() -> None:
    split = make_titled(limit=8)
    scored = make_scored(split, 0.9, 0.3, 0.6, relevance=[0.1, 0.7], threshold=0.1)
    result = receive(split, scored)
    assert (result.status, result.reason, result.dropped) == ("unchanged", "every unit was kept", ())
    reordered = receive(split, scored, order="rerank")
    assert (reordered.status, reordered.reason, reordered.dropped) == ("compressed", None, ())


PIECES = make_split(["Aa bb.", "Cc dd.", "Ee ff."], parents={0: [0, 1, 1]}, limit=3)
"""One unit that is whole, and two pieces of one."""


def reasons(split: Split, *scores: float, **facts: Any) -> list[str]:
    """Return the reason of every unit, in source order."""
    options = {name: facts.pop(name) for name in ("level", "max_docs") if name in facts}
    result = receive(split, make_scored(split, *scores, **facts), **options)
    return [s.reason for s in sorted((*result.kept, *result.dropped), key=lambda s: (s.doc, s.start))]


def test_pieces_of_a_cut_unit_are_truncated() -> None:
    assert reasons(PIECES, 0.3, 0.9, 0.2) == ["budget", "truncated", "truncated"]
    assert reasons(PIECES, 0.9, 0.3, 0.2) == ["score", "budget", "budget"]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"threshold": 0.5}, ["threshold", "score", "threshold"]),
        ({"threshold": 0.3}, ["score", "score", "threshold"]),  # a score on the threshold reaches it
        ({"unread": [0], "threshold": 0.5}, ["unread", "score", "threshold"]),
        ({"echoes": [0], "threshold": 0.5}, ["echo", "score", "threshold"]),
        ({"kept_by": "coverage", "threshold": 0.1}, ["coverage", "coverage", "coverage"]),
    ],
)
def test_the_first_reason_that_applies_is_given(facts: dict[str, Any], expected: list[str]) -> None:
    assert reasons(make_split(["Aa bb.", "Cc dd.", "Ee ff."]), 0.3, 0.9, 0.2, **facts) == expected


def test_documents_after_the_best_are_dropped_for_max_docs() -> None:
    assert reasons(three_documents(), 0.9, 0.2, 0.3, max_docs=1, unread=[1]) == [
        "score",
        "max_docs",
        "max_docs",
    ]


def test_a_full_level_is_a_reason() -> None:
    split = make_split(["a" * 300 + ".", "b" * 300 + "."])
    assert reasons(split, 0.9, 0.8, level=1) == ["score", "level"]


@pytest.mark.parametrize(
    ("facts", "met"),
    [
        ({"threshold": 0.5}, True),
        ({"threshold": 0.25}, False),  # a unit that reaches it does not fit
        ({"threshold": 0.5, "unread": [1]}, False),
        ({"threshold": 0.5, "echoes": [1]}, False),
        ({"threshold": 0.5, "failure": "out of luck"}, False),
    ],
)
def test_recall_is_met_if_only_low_scores_are_dropped(facts: dict[str, Any], met: bool) -> None:
    split = make_split(["Aa bb.", "Cc dd.", "Ee ff gg."], limit=4)
    scored = make_scored(split, 0.9, 0.2, 0.3, **facts)
    assert receive(split, scored, promises_recall=True).recall_met is met
    assert receive(split, scored).recall_met is None


def test_a_heading_above_the_threshold_comes_with_its_best_line() -> None:
    text = "# Price of Basic\n\nIt is old.\n\nIt costs ten euros.\n\n# Team\n\nThat is another text."
    own = split([Document(text)], CompressionOptions(), count_each_word)
    scored = make_scored(own, 0.9, 0.1, 0.3, 0.2, 0.4, threshold=0.5)
    result = receive(own, scored, promises_recall=True)
    assert result.text == "# Price of Basic\n\n[…]\n\nIt costs ten euros."
    assert result.recall_met is True


@pytest.mark.parametrize(
    ("opening", "limit", "comes"),
    [
        ("It", 40, True),
        ("This pump", 40, True),
        ("Otherwise it", 40, True),
        ("Instead of", 40, False),
        ("Italy", 40, False),
        ("It", 24, False),
    ],
)
def test_a_sentence_that_refers_to_the_one_before_brings_it(opening: str, limit: int, comes: bool) -> None:
    others = [f"Rain number {n} fell here." for n in range(12)]
    own = make_split(["The pump leaks.", f"{opening} is very old.", *others], limit=limit)
    scored = make_scored(own, 0.0, 0.9, *[0.5] * 12)
    assert (0 in select(own, scored).kept) is comes


def test_a_new_paragraph_refers_to_nothing() -> None:
    others = "\n\n".join(f"Rain number {n} fell here." for n in range(12))
    document = Document(f"The pump leaks. So it is said.\n\nIt is old.\n\n{others}")
    own = split([document], CompressionOptions(budget=40), count_each_word)
    assert select(own, make_scored(own, 0.1, 0.0, 0.9, *[0.5] * 12), budget=40).kept.isdisjoint({0, 1})


def test_a_dropped_copy_never_breaks_a_promise() -> None:
    split = make_split([SENTENCE, SENTENCE])
    scored = make_scored(split, 0.9, 0.8, threshold=0.5)
    assert receive(split, scored, promises_recall=True).recall_met is True


def test_a_refused_request_keeps_nothing_and_no_promise() -> None:
    split = make_titled()
    scored = make_scored(split, 0.9, 0.3, 0.6, threshold=0.95, refusal="no document answers")
    result = receive(split, scored, promises_recall=True)
    assert (result.text, result.kept, result.tokens_after) == ("", (), 0)
    assert [span.reason for span in result.dropped] == ["abstained"] * 3
    assert (result.status, result.reason, result.recall_met) == ("abstained", "no document answers", False)


@pytest.mark.parametrize("status", ["unchanged", "bypassed", "failed_open"])
def test_keep_everything_keeps_every_unit_unscored(status: Any) -> None:
    result = keep_everything(make_titled(), Bypass(status, "because"), "model@1", Thresholds(0.5))
    assert result.text == "Title\nAa bb. Cc dd ee.\n\nFf gg."
    assert result.kept == tuple(
        Span(doc, start, end, 0.0, status) for doc, start, end in ((0, 0, 6), (0, 7, 16), (1, 0, 6))
    )
    assert (result.dropped, result.status, result.reason) == ((), status, "because")
    assert [document.relevance for document in result.documents] == [0.0, 0.0]
    assert result.recall_met is True
