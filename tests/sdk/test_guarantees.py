"""The seven guarantees, over whatever hypothesis thinks of. The sixth is part of `check_wholeness`."""

from __future__ import annotations

import contextlib
import random
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely import Compressor, Document, TerselyError
from tersely.text.tokens import encodable
from tests.sdk import checks, inputs
from tests.sdk.fakes import BrokenScorer, FakeScorer
from tests.sdk.stress import COUNTERS

COMPRESSORS = [Compressor(FakeScorer(), token_counter=counter) for counter in COUNTERS]

anything = st.text(st.characters(exclude_categories=()), max_size=60)
lines = st.lists(
    st.sampled_from(
        ["A light. Not red.", "| a | b |", "- one", "```", "    x = 1", '{"a": 1}', "", "灯塔。不红。"]
    )
)
texts = st.one_of(
    anything,
    lines.map("\n".join),
    lines.map("\r\n".join),
    st.integers(0, 2**32).map(lambda seed: inputs.text(random.Random(seed))),
)
documents = st.lists(st.builds(Document, texts, st.none() | anything), max_size=5)
queries = st.sampled_from(["red light", "灯塔", "1861 \ud800 море", "x"])
options = st.one_of(
    st.just({}),
    st.builds(lambda n: {"budget": n}, st.integers(1, 200)),
    st.builds(lambda x: {"rate": x}, st.floats(0, 1, exclude_min=True)),
)
more_options = st.fixed_dictionaries(
    {},
    optional={
        "max_docs": st.integers(1, 4),
        "order": st.sampled_from(["source", "rerank"]),
        "level": st.sampled_from(["auto", 1, 2, 5]),
    },
)
compressors = st.sampled_from(COMPRESSORS)


def limits(chosen: dict[str, Any]) -> dict[str, Any]:
    return {name: chosen.get(name) for name in ("budget", "rate")}


@given(compressors, queries, documents, options, more_options)
def test_1_text_is_made_of_exact_pieces_and_every_unit_is_accounted_for(
    compressor: Compressor, query: str, docs: list[Document], limit: dict[str, Any], more: dict[str, Any]
) -> None:
    result = compressor.compress(query, docs, **limit, **more)
    checks.check_cover(result, docs)
    checks.check_pieces(result, docs)
    checks.check_documents(result, docs, more.get("max_docs"))


@given(compressors, queries, documents, options, more_options)
def test_2_never_over_the_limit_and_never_longer_than_the_input(
    compressor: Compressor, query: str, docs: list[Document], limit: dict[str, Any], more: dict[str, Any]
) -> None:
    result = compressor.compress(query, docs, **limit, **more)

    def count(text: str) -> int:
        return compressor.token_counter.count(encodable(text))

    checks.check_size(result, docs, count, **limits(limit))


@given(queries, documents, documents, options, more_options)
def test_3_same_input_same_output_whatever_surrounds_it(
    query: str, docs: list[Document], others: list[Document], limit: dict[str, Any], more: dict[str, Any]
) -> None:
    compressor = COMPRESSORS[0]
    alone = Compressor(FakeScorer(), threads=1).compress(query, docs, **limit, **more)
    requests = [("light", others), (query, docs), (query, docs[::-1])]
    assert compressor.compress_batch(requests, **limit, **more)[1] == alone
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(compressor.compress, query, docs, **limit, **more) for _ in range(4)]
        assert all(future.result() == alone for future in futures)


@given(queries, documents, options, more_options)
def test_4_a_failure_of_the_model_gives_everything_back(
    query: str, docs: list[Document], limit: dict[str, Any], more: dict[str, Any]
) -> None:
    result = Compressor(BrokenScorer(RuntimeError("broken"))).compress(query, docs, **limit, **more)
    assert result.status in ("failed_open", "unchanged", "bypassed")
    checks.check_cover(result, docs)
    checks.check_pieces(result, docs)
    assert not result.dropped
    assert result.tokens_after == result.tokens_before


@given(
    st.none() | anything | st.integers(),
    st.none()
    | st.text()
    | st.lists(st.none() | anything | st.integers() | st.dictionaries(st.text(), st.none())),
    st.fixed_dictionaries(
        {},
        optional={
            name: st.none() | st.integers(-2, 2) | st.floats() | st.booleans() | st.text(max_size=3)
            for name in ("budget", "rate", "max_docs", "order", "level")
        },
    ),
)
def test_4_bad_arguments_raise_nothing_but_our_errors(
    query: Any, docs: Any, given_options: dict[str, Any]
) -> None:
    with contextlib.suppress(TerselyError):
        COMPRESSORS[0].compress(query, docs, **given_options)


@given(compressors, queries, documents, options, more_options)
def test_5_and_6_units_are_whole_unless_one_alone_exceeds_the_limit(
    compressor: Compressor, query: str, docs: list[Document], limit: dict[str, Any], more: dict[str, Any]
) -> None:
    result = compressor.compress(query, docs, **limit, **more)
    checks.check_wholeness(result, docs)
    if not limit and "level" not in more:
        assert all(span.reason != "truncated" for span in (*result.kept, *result.dropped))


@settings(max_examples=20)
@given(queries, documents, options)
def test_7_nothing_touches_the_network(query: str, docs: list[Document], limit: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "socket", None)
        patch.setattr(socket, "getaddrinfo", None)
        patch.setattr(socket, "create_connection", None)
        Compressor(FakeScorer()).compress(query, docs, **limit)
