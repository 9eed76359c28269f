"""Results are those of the recording, bit for bit. The recording holds for the processor that made it."""

from __future__ import annotations

import json
import os

import pytest

from tests.recorded.requests import FILE, cases, digest

pytestmark = pytest.mark.skipif(not os.environ.get("TERSELY_RECORDED"), reason="set TERSELY_RECORDED=1")


def test_every_result_is_the_recorded_one() -> None:
    recorded = json.loads(FILE.read_text(encoding="utf-8"))
    changed = [name for name, run in cases() if digest(run()) != recorded.pop(name)]
    assert not changed, f"{len(changed)} results differ: {changed[:20]}"
    assert not recorded
