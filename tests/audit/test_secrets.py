"""A small part of `python -m tests.audit.secrets`."""

from __future__ import annotations

import random
import sysconfig
from pathlib import Path

import pytest

from tersely_agents.redaction import redact
from tests.audit import secrets


def test_at_least_95_percent_of_the_kinds_of_secrets_are_caught() -> None:
    missed: list[str] = []
    count = 0
    for kind in secrets.kinds():
        for sample in secrets.samples(kind, random.Random(f"test {kind}")):
            count += 1
            if not sample.is_caught(redact(sample.text)):
                missed.append(kind)
    assert len(secrets.kinds()) >= 113
    assert len(missed) <= 0.05 * count, sorted(set(missed))
    assert len(set(missed)) <= 0.05 * len(secrets.kinds()), sorted(set(missed))


def test_nothing_but_the_secret_is_taken_away() -> None:
    for kind, (_, whole, _) in secrets.recall(redact, rounds=1, seed=2).items():
        assert whole == 1.0, kind


@pytest.mark.parametrize("package", ["asyncio", "email", "json", "logging", "unittest", "xml"])
def test_source_code_stays_as_it_is(package: str) -> None:
    files = sorted(Path(sysconfig.get_paths()["stdlib"], package).rglob("*.py"))
    _, _, changed = secrets.false_alarms(redact, secrets.read(files, 100_000))
    assert files
    assert changed == []
