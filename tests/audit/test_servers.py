"""A small part of `python -m tests.audit.servers`."""

from __future__ import annotations

import pytest

from tests.audit.hostile_answers import list_answers
from tests.audit.servers import CLIENTS, run_audit

PART = [
    "slow: header",
    "slow: body with a length",
    "large: 1.5 GB with a length",
    "large: a gzip bomb",
    "deep: lists",
    "broken: half a chunk",
    "bad_heads: HTTP/0.9",
    "refusals: 429 with Retry-After 3600",
    "redirects: 307 T",
    "odd: lone surrogates",
]
"""One or two of every family. All clients send their requests through one class, which `complete` tests."""
ANSWERS = {answer.name: answer for answer in list_answers()}


def test_there_are_a_hundred_hostile_answers() -> None:
    assert len(ANSWERS) >= 100


@pytest.mark.parametrize("name", PART)
def test_a_hostile_answer_ends_in_an_error_of_the_package(name: str) -> None:
    assert not run_audit([ANSWERS[name]], {"complete": CLIENTS["complete"]})


@pytest.mark.parametrize("client", ["acomplete", "models", "rank"])
def test_other_clients_withstand_slow_large_and_deep_answers(client: str) -> None:
    names = ("slow: body with a length", "large: a gzip bomb", "deep: lists")
    assert not run_audit([ANSWERS[name] for name in names], {client: CLIENTS[client]})
