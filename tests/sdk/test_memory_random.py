"""Random transcripts: limits, roles, pins and originals hold after every step."""

from __future__ import annotations

from tests.audit.transcripts import run_case


def test_random_transcripts_keep_every_guarantee() -> None:
    seen = [run_case(number) for number in range(40)]
    for name in ("resets", "parallel", "images", "shortened", "reopened"):
        assert sum(bool(getattr(case, name)) for case in seen) > 8, name
    assert all(case.tokens <= case.limit for case in seen)
