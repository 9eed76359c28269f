"""A small part of `python -m tests.audit.servers`."""

from __future__ import annotations

import pytest

from tests.audit.hostile_answers import HostileAnswer, list_answers
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
ANSWERS = {answer.name: answer for answer in list_answers()}


def test_there_are_a_hundred_hostile_answers() -> None:
    assert len(ANSWERS) >= 100


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("answer", [ANSWERS[name] for name in PART], ids=lambda answer: answer.name)
def test_a_hostile_answer_ends_in_an_error_of_the_package(answer: HostileAnswer, client: str) -> None:
    assert not run_audit([answer], {client: CLIENTS[client]})
