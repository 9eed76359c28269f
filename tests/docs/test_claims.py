"""Sentences of the README and of the pages of docs/ that promise something have a test.

A sentence with one of `WORDS` is a promise and stands in `CLAIMS` with its tests, or it is none and stands in
`PLAIN`. What a promise says is what its tests check; docs/guarantees.md does the same in tables of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.docs.claims import CLAIMS, PLAIN
from tests.docs.pages import defined_tests, prose

WORDS = re.compile(r"\b(never|always|every|no|at most|guarantees?|guaranteed)\b", re.IGNORECASE)
_ENDS = re.compile(r"(?<=[.!?:|])\s+|\n\n|\n(?=[-#|] )")


def promises(page: str) -> Iterator[str]:
    """The sentences of a page that hold one of the words."""
    for sentence in _ENDS.split(prose(page)):
        if WORDS.search(sentence):
            yield " ".join(sentence.split())


@pytest.mark.parametrize("page", CLAIMS)
def test_every_promise_of_a_page_has_a_test(page: str) -> None:
    found = list(promises(page))
    known = {*CLAIMS[page], *PLAIN}
    assert [sentence for sentence in found if not any(part in sentence for part in known)] == []
    assert [part for part in CLAIMS[page] if not any(part in sentence for sentence in found)] == []


def test_the_tests_of_the_promises_exist() -> None:
    named = {name for claims in CLAIMS.values() for tests in claims.values() for name in tests}
    assert all(tests for claims in CLAIMS.values() for tests in claims.values())
    assert named - defined_tests() == set()


def test_a_promise_without_a_test_is_found() -> None:
    assert WORDS.search("A memory never forgets.")
    assert not WORDS.search("A memory is a file.")
