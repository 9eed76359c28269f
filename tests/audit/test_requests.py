"""A small part of `python -m tests.audit.requests`, and a proof that its oracles can fail."""

from __future__ import annotations

from typing import Any

import pytest

from tersely import Compressor, Document
from tests.audit.request_inputs import Known, Request
from tests.audit.request_oracles import check
from tests.audit.requests import MODEL_EVERY, pathological, run_all
from tests.sdk.counters import COUNTERS, count_words
from tests.sdk.fakes import FakeScorer

TEXT = "The light is red. It burns at night. Boats are blue. Bread is baked daily."


def test_random_requests_break_no_guarantee() -> None:
    counts = run_all(1, 4 * MODEL_EVERY - 1, extremes=False, patience=300)
    assert counts["failures"] == []
    assert set(counts["became"]) >= {"compressed", "unchanged"}


def test_pathological_requests_break_no_guarantee() -> None:
    named = pathological()
    assert len(named) >= 255
    for _, run in named[7::60]:
        run()


def result_of(**options: Any) -> tuple[dict[str, Any], Request]:
    known = Known(sentences=[(0, 17), (18, 36)])
    request = Request("Which light is red?", [Document(TEXT, "Light")], [known], options)
    compressor = Compressor(FakeScorer(), token_counter=count_words)
    return compressor.compress(request.query, request.documents, **options).to_dict(), request


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"text": "Light\nThe lamp is red."}, "word for word"),
        ({"text": "Light\nThe light is red. !"}, "words that are neither"),
        ({"dropped": []}, "in no span"),
        ({"tokens_before": 99}, "tokens_before"),
        ({"best_fits": False}, "the best is kept"),
    ],
)
def test_the_oracles_notice_a_broken_guarantee(change: dict[str, Any], complaint: str) -> None:
    result, request = result_of(budget=6)
    check(result, request, COUNTERS[1])
    with pytest.raises(AssertionError, match=complaint):
        check({**result, **change}, request, COUNTERS[1])


def test_the_oracles_notice_half_sentences_and_lost_marks() -> None:
    result, request = result_of(budget=6)
    with pytest.raises(AssertionError, match="a sentence was cut"):
        check(result, Request(request.query, request.documents, [Known([(0, 36)])], request.options), None)
    records = Known(records=[(0, 36)])
    with pytest.raises(AssertionError, match="no mark after half a record"):
        check(result, Request(request.query, request.documents, [records], request.options), None)
