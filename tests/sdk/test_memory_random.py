"""Random transcripts: limits, roles, pins and originals hold after every step."""

from __future__ import annotations

import pytest

from tests.audit.transcripts import run_case


@pytest.mark.parametrize("block", range(4))
def test_random_transcripts_keep_every_guarantee(block: int) -> None:
    for number in range(block * 25, block * 25 + 25):
        run_case(number)


def test_random_transcripts_reach_every_case() -> None:
    seen = [run_case(number) for number in range(100, 140)]
    assert sum(s.resets > 1 for s in seen) > 10
    assert sum(s.parallel for s in seen) > 10
    assert sum(s.images for s in seen) > 10
    assert sum(s.shortened for s in seen) > 10
    assert sum(s.reopened for s in seen) > 10
    assert all(a.tokens <= a.limit for a in seen)
