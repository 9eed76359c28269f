"""A small part of the stress program; the whole of it is `python -m tests.sdk.stress`."""

from __future__ import annotations

import random

import pytest

from tersely import Compressor
from tests.sdk import inputs
from tests.sdk.checks import check_all
from tests.sdk.fakes import FakeScorer
from tests.sdk.stress import LONG_WORDS, compressors, run_case


def test_random_inputs_break_no_guarantee() -> None:
    available = compressors("fake")
    statuses = {run_case(number, available, long_every=0) for number in range(400)}
    assert statuses == {"compressed", "unchanged", "bypassed"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", range(inputs.LONG_KINDS))
def test_very_long_documents(kind: int) -> None:
    compressor = Compressor(FakeScorer())
    docs = [inputs.long_document(random.Random(kind), LONG_WORDS, kind)]
    for options in ({}, {"rate": 0.1}, {"budget": 500}):
        result = compressor.compress("light 1861", docs, **options)
        check_all(result, docs, compressor.token_counter.count, **options)
