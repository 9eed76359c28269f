"""A small part of the stress program. `python -m tests.sdk.stress` runs all of it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tersely import Compressor
from tests.sdk import inputs
from tests.sdk.checks import check_all
from tests.sdk.fakes import FakeScorer
from tests.sdk.stress import LONG_WORDS, make_compressors, run_case


def test_random_inputs_break_no_guarantee() -> None:
    compressors = make_compressors("fake")
    statuses = {run_case(number, compressors, long_every=0) for number in range(400)}
    assert statuses == {"compressed", "unchanged", "bypassed"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", range(inputs.LONG_KINDS))
@pytest.mark.parametrize("options", [{}, {"rate": 0.1}, {"budget": 500}])
def test_very_long_documents_break_no_guarantee(kind: int, options: dict[str, Any]) -> None:
    compressor = Compressor(FakeScorer())
    docs = [inputs.long_document(random.Random(kind), LONG_WORDS, kind)]
    result = compressor.compress("light 1861", docs, **options)
    check_all(result, docs, compressor.token_counter.count, **options)
