"""Documents that were prepared before any question: their bytes, and what a compression makes of them."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely import Compression, Compressor, Document, InvalidInputError, PreparedDocument
from tersely.prepared import FORMAT
from tersely.score import sieve
from tersely.score.selector import Selector
from tests.sdk import checks, inputs
from tests.sdk.compressor_cases import DOCS, QUERY
from tests.sdk.fakes import FakeScorer

texts = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=60),
    st.integers(0, 2**32).map(lambda seed: inputs.text(random.Random(seed))),
)
titles = st.none() | st.text(st.characters(exclude_categories=()), max_size=12)
documents = st.lists(st.builds(Document, texts, titles), max_size=4)
queries = st.sampled_from([QUERY, "灯塔", "1861 \ud800 море"])
options = st.fixed_dictionaries(
    {},
    optional={
        "budget": st.integers(1, 200),
        "max_docs": st.integers(1, 3),
        "order": st.sampled_from(["source", "rerank"]),
        "level": st.sampled_from([1, 5]),
    },
)


@cache
def bundled() -> Compressor:
    return Compressor()


def store(prepared: Sequence[PreparedDocument]) -> list[PreparedDocument]:
    """Return the documents, written to bytes and read again."""
    return [
        PreparedDocument.from_bytes(p.to_bytes(), Document(p.text, p.title, p.id, p.metadata))
        for p in prepared
    ]


def check_alike(prepared: Compression, unprepared: Compression) -> None:
    """Assert that two results have the same units. Scores differ: stored vectors are rounded."""
    spans = [
        sorted((*result.kept, *result.dropped), key=lambda s: (s.doc, s.start))
        for result in (prepared, unprepared)
    ]
    places = [[(span.doc, span.start, span.end) for span in own] for own in spans]
    assert places[0] == places[1]
    assert prepared.tokens_before == unprepared.tokens_before


def example() -> PreparedDocument:
    return bundled().prepare(DOCS[:1])[0]


@settings(max_examples=20)
@given(documents)
def test_what_was_prepared_comes_back_from_its_bytes(docs: list[Document]) -> None:
    prepared = bundled().prepare(docs)
    assert store(prepared) == prepared
    assert [(p.text, p.title) for p in prepared] == [(d.text, d.title) for d in docs]


@settings(max_examples=20)
@given(queries, documents, options)
def test_prepared_documents_have_the_units_of_unprepared_ones(
    query: str, docs: list[Document], chosen: dict[str, Any]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sieve, "MIN_WINDOWS", 10_000)
        result = bundled().compress(query, store(bundled().prepare(docs)), **chosen)
        check_alike(result, bundled().compress(query, docs, **chosen))


@settings(max_examples=20)
@given(queries, documents, options)
def test_prepared_documents_keep_every_guarantee(
    query: str, docs: list[Document], chosen: dict[str, Any]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sieve, "MIN_WINDOWS", 1)
        result = bundled().compress(query, store(bundled().prepare(docs)), **chosen)
        assert result == bundled().compress(query, bundled().prepare(docs), **chosen)
    limits = {name: value for name, value in chosen.items() if name in ("budget", "max_docs")}
    checks.check_all(result, docs, bundled().count_tokens, **limits)


def test_prepared_documents_may_stand_beside_others() -> None:
    mixed = [DOCS[0], *bundled().prepare(DOCS[1:2]), DOCS[2]]
    result, plain = (bundled().compress(QUERY, documents, budget=30) for documents in (mixed, DOCS))
    check_alike(result, plain)
    assert result.text == plain.text
    assert np.allclose(result.relevance, plain.relevance, atol=0.1)


def test_a_mapping_or_a_text_can_be_what_was_prepared() -> None:
    (text, mapping) = bundled().prepare(["A light. Not red.", {"text": "It is dark.", "title": "Night"}])
    assert PreparedDocument.from_bytes(text.to_bytes(), "A light. Not red.") == text
    again = PreparedDocument.from_bytes(mapping.to_bytes(), {"text": "It is dark.", "title": "Night"})
    assert again == mapping


def test_prepared_documents_are_not_tokenised_again(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = bundled().prepare(DOCS)
    tokenised: list[str] = []
    selector = bundled()._scorer
    assert isinstance(selector, Selector)
    tokenize = selector.layout.tokenize

    def record(batch: Sequence[str]) -> list[list[int]]:
        tokenised.extend(batch)
        return tokenize(batch)

    monkeypatch.setattr(selector.layout, "tokenize", record)
    bundled().compress(QUERY, prepared, budget=30)
    assert set(tokenised) == {QUERY}


def test_the_bytes_do_not_hold_the_text() -> None:
    assert b"lighthouse" not in example().to_bytes()


@pytest.mark.parametrize(
    "other", [replace(DOCS[0], text=DOCS[0].text + " More."), replace(DOCS[0], title=None)]
)
def test_bytes_of_another_text_or_title_are_refused(other: Document) -> None:
    with pytest.raises(InvalidInputError, match="another text or title"):
        PreparedDocument.from_bytes(example().to_bytes(), other)


def test_the_text_of_a_prepared_document_cannot_be_replaced() -> None:
    with pytest.raises(InvalidInputError, match="another text or title"):
        replace(example(), text="It has another text.")


def test_damaged_bytes_are_refused_wherever_the_damage_is() -> None:
    whole = example().to_bytes()
    damaged = [whole[:at] for at in range(len(whole))]
    damaged += [whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :] for at in range(len(whole))]
    for data in [*damaged, whole + b"\0", b"", b"no bytes of ours"]:
        with pytest.raises(InvalidInputError, match=r"(?i)prepare"):
            PreparedDocument.from_bytes(data, DOCS[0])


@settings(max_examples=40)
@given(st.integers(0), st.binary(min_size=1, max_size=9))
def test_bytes_with_a_right_checksum_load_or_raise(place: int, change: bytes) -> None:
    whole = example().to_bytes()
    head, body = whole[:5], zlib.decompress(whole[5:])
    at = place % len(body)
    changed = body[:at] + change + body[at + len(change) :]
    try:
        read = PreparedDocument.from_bytes(head + zlib.compress(changed), DOCS[0])
    except InvalidInputError:
        return
    result = bundled().compress(QUERY, [read, *DOCS[1:]], budget=30)
    checks.check_all(result, DOCS, bundled().count_tokens, budget=30)


def test_bytes_of_another_format_name_both_versions() -> None:
    data = bytearray(example().to_bytes())
    data[4] = FORMAT + 1
    with pytest.raises(InvalidInputError, match=rf"format {FORMAT + 1}.*reads format {FORMAT}"):
        PreparedDocument.from_bytes(bytes(data), DOCS[0])


def test_only_bytes_are_read() -> None:
    with pytest.raises(InvalidInputError, match="a str"):
        PreparedDocument.from_bytes("dGVyc2VseQ==", DOCS[0])


def test_token_ids_of_a_large_vocabulary_are_kept() -> None:
    own = example()
    large = replace(own.preparation, title_ids=(2**16, 2**31), ids=((7,), *own.preparation.ids[1:]))
    prepared = replace(own, preparation=large)
    assert store([prepared]) == [prepared]


def test_preparation_of_another_model_gives_a_warning() -> None:
    other = Compressor(FakeScorer())
    result = other.compress(QUERY, [*bundled().prepare(DOCS[:2]), DOCS[2]], budget=30)
    assert "2 of 3 documents were prepared with another model (tersely-mini-" in result.warnings[0]
    assert replace(result, warnings=()) == other.compress(QUERY, DOCS, budget=30)


def test_a_model_of_the_callers_own_cannot_prepare() -> None:
    with pytest.raises(InvalidInputError, match="FakeScorer cannot prepare"):
        Compressor(FakeScorer()).prepare(DOCS)
