"""The support of a sentence, and the facts of it that no document contains."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely import Document
from tersely_agents.summaries.alterations import find_altered
from tersely_agents.summaries.grounding import Sources

FERRY = Document(
    "The ferry Elsa II leaves Port Maren at 7:15 on weekdays. Bicycles travel free of charge. "
    "The crossing takes 1,250 metres of open water, or 25 minutes.",
    "Ferry",
)
MUSEUM = Document(
    "The museum was opened in 1904 by Anna Weiss. Its archive has the shelf mark KB-77b.", "Museum"
)


def make_sources(score: float | None = None) -> Sources:
    """Return both documents as sources; the selector gives `score` to every text."""

    def score_texts(_: str, texts: Sequence[str]) -> list[float]:
        assert score is not None
        return [score] * len(texts)

    return Sources([FERRY, MUSEUM], None if score is None else score_texts)


def find_support(sentence: str) -> list[str]:
    """Return the texts that support a sentence."""
    docs = [FERRY, MUSEUM]
    return [docs[s.doc].text[s.start : s.end] for s in make_sources().check(sentence).support]


def test_a_paraphrase_may_inflect_its_words() -> None:
    assert find_support("Travelling with a bicycle is free of charges.") == [
        "Bicycles travel free of charge."
    ]


def test_two_units_can_support_a_sentence_together() -> None:
    both = "The ferry leaves Port Maren at 7:15 on weekdays, and Anna Weiss opened the museum in 1904."
    assert set(find_support(both)) == {
        "The ferry Elsa II leaves Port Maren at 7:15 on weekdays.",
        "The museum was opened in 1904 by Anna Weiss.",
    }
    scores = [s.score for s in make_sources().check(both).support]
    assert scores == sorted(scores, reverse=True)
    assert sum(scores) <= 1 + 1e-3


@pytest.mark.parametrize(
    "sentence", ["Coffee is sold on board by volunteers from the village.", "...", "", "It is what it is."]
)
def test_a_sentence_that_no_document_says_has_no_support(sentence: str) -> None:
    assert make_sources().check(sentence).support == ()
    assert make_sources(1.0).check(sentence).support == ()


def test_the_selector_decides_if_the_words_do_not() -> None:
    vague = "The museum, which tourists adore, was opened by Anna."
    assert make_sources().check(vague).support == ()
    assert make_sources(0.4).check(vague).support == ()
    assert [s.doc for s in make_sources(0.6).check(vague).support] == [1]


def test_a_title_supports_the_sentences_of_its_document() -> None:
    guide = Document("It is closed on Mondays.", "Lighthouse")
    assert Sources([guide]).check("The lighthouse is closed on Mondays.").support


@pytest.mark.parametrize(
    ("sentence", "unknown"),
    [
        ("The ferry leaves at 7:15 and takes 25 minutes.", ()),
        ("The ferry leaves at 7:45.", ("7:45",)),
        ("It crosses 1250 metres.", ()),
        ("It crosses 1,350 metres.", ("1,350",)),
        ("The museum was opened by Anna Weiss.", ()),
        ("The museum was opened by Anna Berg.", ("Berg",)),
        ("Thomas Berg opened it.", ("Thomas", "Berg")),
        ("Additionally it is free.", ()),  # any word can begin a sentence
        ("Ask for KB-77b.", ()),
        ("Ask for KB-78b.", ("KB-78b",)),
        ("Ask for KB-77.", ("KB-77",)),
        ("Ask for B-77b.", ("B-77b",)),
        ("Write to info@maren.example.", ("info@maren.example",)),
        ("See https://maren.example/ferry.", ("https://maren.example/ferry",)),
        ("Set max_docs in /etc/ferry.conf.", ("max_docs", "/etc/ferry.conf")),
        ("In May 1904 it opened.", ("May",)),
        ("Он идёт вечером, и łódka też.", ()),
        ("It takes the 25-minute boat, the 7th.", ("7",)),
        ("The ferry leaves Port Maren at nine.", ("nine",)),
        ("The crossing takes twenty minutes.", ("twenty",)),
        ("The crossing takes twenty-five minutes.", ()),
        ("It has shelf mark seven, and no one takes Bicycles.", ("seven",)),
    ],
)
def test_facts_that_no_document_contains_are_listed(sentence: str, unknown: tuple[str, ...]) -> None:
    assert make_sources().find_unknown(sentence) == unknown


def read_statements() -> dict[str, list[list[str]]]:
    """Read the statements of each kind: one, the same in other words, and two altered ones."""
    kinds: dict[str, list[list[str]]] = {}
    rows: list[list[str]] = []
    for line in (Path(__file__).parent / "altered_statements.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            rows = kinds.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            rows.append([part.strip() for part in line.split("|")])
    return kinds


STATEMENTS = read_statements()
MISSED = {"One of the engines failed over the sea.", "The cellar is deeper than the well."}
"""Altered statements that pass."""


@pytest.mark.parametrize("kind", STATEMENTS)
def test_altered_statements_have_no_support(kind: str) -> None:
    rows = STATEMENTS[kind]
    sources = Sources([Document(" ".join(row[0] for row in rows))])
    pairs = [(row[0], altered) for row in rows for altered in row[2:]]
    assert len(pairs) == 60
    passed = {altered for source, altered in pairs if not find_altered(altered, [source])}
    assert passed <= MISSED
    supported = {altered for _, altered in pairs if sources.check(altered).support}
    assert supported <= MISSED


@pytest.mark.parametrize("kind", STATEMENTS)
def test_statements_in_other_words_are_not_altered(kind: str) -> None:
    sources = Sources([Document(" ".join(row[0] for row in STATEMENTS[kind]))])
    for source, same, *_ in STATEMENTS[kind]:
        assert find_altered(same, [source]) == ()
        assert sources.check(source).altered == sources.check(same).altered == ()


RULES = [
    ("A client", "send the header with every request"),
    ("The operator", "keep the log for ten years"),
    ("Visitors", "enter the tower after five"),
    ("Pilots", "report their position to Norvik"),
    ("The nurse", "open the cabinet at night"),
]
FORCES = ("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "MAY only")
COUNTS = ("The pump needs four bolts.", "The form has 3 pages.", "Each ferry carries forty cars.")
BOUNDS = ("", "at least ", "at most ", "only ", "more than ", "fewer than ")


@pytest.mark.parametrize(("who", "what"), RULES)
def test_another_force_is_named(who: str, what: str) -> None:
    for force, other in permutations(FORCES, 2):
        assert find_altered(f"{who} {other} {what}.", [f"{who} {force} {what}."]), (force, other)


@pytest.mark.parametrize("statement", COUNTS)
def test_another_bound_is_named(statement: str) -> None:
    number = next(word for word in ("four", "3", "forty") if word in statement)
    said = [statement.replace(number, f"{bound}{number}") for bound in BOUNDS]
    for source, altered in permutations(said, 2):
        assert find_altered(altered, [source]), (source, altered)


ALL = [row[0] for rows in STATEMENTS.values() for row in rows]


@given(st.lists(st.sampled_from(ALL), min_size=1, max_size=3, unique=True))
def test_a_quotation_alters_nothing(chosen: list[str]) -> None:
    assert all(find_altered(sentence, chosen) == () for sentence in chosen)
    assert find_altered("; ".join(sentence.rstrip(".") for sentence in chosen), chosen) == ()


@pytest.mark.parametrize(
    ("sentence", "source", "altered"),
    [
        ("The agency rejected the drug.", "The agency did not approve the drug.", ()),
        ("The agency approved the drug.", "The agency did not approve the drug.", ("not",)),
        ("It opens in May 1904.", "The hall opens on 3 May 1904.", ()),
        ("The hall may open in 1904.", "The hall opens in 1904.", ("may",)),
        ("The pass costs $49 million dollars.", "The pass costs $ 49 million.", ()),
        ("Pier 7's roof is new.", "Pier 7: Its roof is new.", ()),
        ("The pool has 12 lanes.", "The pool was built by 40 men.", ()),
        ("The pool was built by more than 40 men.", "Over 40 men built the pool.", ()),
        ("The pool holds more than 40 swimmers.", "The number of swimmers may exceed 40.", ()),
        ("The pool has fewer than 40 lockers.", "The pool's lockers number under 40.", ()),
        ("It has more than 40 lockers.", "It has 40 lockers. It has more than 40 lockers in summer.", ()),
        ("", "The pool was built by 40 men.", ()),
        ("The pool was built by 40 men.", "", ()),
    ],
)
def test_altered_words_are_named(sentence: str, source: str, altered: tuple[str, ...]) -> None:
    assert find_altered(sentence, [source]) == altered
