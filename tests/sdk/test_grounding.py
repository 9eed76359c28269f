from __future__ import annotations

from collections.abc import Sequence

import pytest

from tersely import Document
from tersely.summarize.grounding import Sources

FERRY = Document(
    "The ferry Elsa II leaves Port Maren at 7:15 on weekdays. Bicycles travel free of charge. "
    "The crossing takes 1,250 metres of open water, or 25 minutes.",
    "Ferry",
)
MUSEUM = Document(
    "The museum was opened in 1904 by Anna Weiss. Its archive has the shelf mark KB-77b.", "Museum"
)


def sources(agreement: float | None = None) -> Sources:
    def answer(_: str, texts: Sequence[str]) -> list[float]:
        assert agreement is not None
        return [agreement] * len(texts)

    return Sources([FERRY, MUSEUM], None if agreement is None else answer)


def cited(found: Sources, sentence: str) -> list[str]:
    docs = [FERRY, MUSEUM]
    return [docs[s.doc].text[s.start : s.end] for s in found.support(sentence)]


def test_a_sentence_rests_on_the_unit_that_says_it() -> None:
    assert cited(sources(), "On weekdays the ferry Elsa II leaves Port Maren at 7:15.") == [
        "The ferry Elsa II leaves Port Maren at 7:15 on weekdays."
    ]


def test_a_paraphrase_may_inflect_its_words() -> None:
    assert cited(sources(), "Travelling with a bicycle is free of charges.") == [
        "Bicycles travel free of charge."
    ]


def test_a_sentence_may_join_what_two_units_say() -> None:
    both = "The ferry leaves Port Maren at 7:15 on weekdays, and Anna Weiss opened the museum in 1904."
    assert set(cited(sources(), both)) == {
        "The ferry Elsa II leaves Port Maren at 7:15 on weekdays.",
        "The museum was opened in 1904 by Anna Weiss.",
    }
    scores = [s.score for s in sources().support(both)]
    assert scores == sorted(scores, reverse=True)
    assert sum(scores) <= 1 + 1e-3


@pytest.mark.parametrize(
    "sentence", ["Coffee is sold on board by volunteers from the village.", "...", "", "It is what it is."]
)
def test_what_the_documents_do_not_say_has_no_support(sentence: str) -> None:
    assert sources().support(sentence) == ()
    assert sources(1.0).support(sentence) == ()


def test_between_the_bounds_the_selector_decides() -> None:
    vague = "The museum, which tourists adore, was opened by Anna."
    assert sources().support(vague) == ()
    assert sources(0.4).support(vague) == ()
    assert [s.doc for s in sources(0.6).support(vague)] == [1]


def test_titles_count_as_said() -> None:
    guide = Document("It is closed on Mondays.", "Lighthouse")
    assert Sources([guide]).support("The lighthouse is closed on Mondays.")


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
        ("Additionally it is free.", ()),  # any word may begin a sentence
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
def test_facts_that_occur_nowhere_are_named(sentence: str, unknown: tuple[str, ...]) -> None:
    assert sources().unknown(sentence) == unknown
