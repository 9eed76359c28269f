"""The seven guarantees, over any input that hypothesis makes. The sixth is part of `check_wholeness`."""

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
from tersely.score import DocumentScores
from tersely.tokens import replace_surrogates
from tests.sdk import checks, inputs
from tests.sdk.counters import COUNTERS, count_words
from tests.sdk.fakes import BrokenScorer, FakeScorer

COMPRESSORS = [Compressor(FakeScorer(), token_counter=counter) for counter in COUNTERS]

any_text = st.text(st.characters(exclude_categories=()), max_size=60)
lines = st.lists(
    st.sampled_from(
        ["A light. Not red.", "| a | b |", "- one", "```", "    x = 1", '{"a": 1}', "", "灯塔。不红。"]
    )
)
texts = st.one_of(
    any_text,
    lines.map("\n".join),
    lines.map("\r\n".join),
    st.integers(0, 2**32).map(lambda seed: inputs.text(random.Random(seed))),
)
documents = st.lists(st.builds(Document, texts, st.none() | any_text), max_size=5)
queries = st.sampled_from(["red light", "灯塔", "1861 \ud800 море", "x"])
limits = st.one_of(
    st.just({}),
    st.builds(lambda budget: {"budget": budget}, st.integers(1, 200)),
    st.builds(lambda rate: {"rate": rate}, st.floats(0, 1, exclude_min=True)),
)
other_options = st.fixed_dictionaries(
    {},
    optional={
        "max_docs": st.integers(1, 4),
        "order": st.sampled_from(["source", "rerank"]),
        "level": st.sampled_from([1, 2, 5]),
    },
)
option_values = st.none() | st.integers(-2, 2) | st.floats() | st.booleans() | st.text(max_size=3)
unchecked_options = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("budget", "rate", "max_docs", "order", "level"), option_values)
)
unchecked_documents = (
    st.none()
    | st.text()
    | st.lists(st.none() | any_text | st.integers() | st.dictionaries(st.text(), st.none()))
)
compressors = st.sampled_from(COMPRESSORS)


@given(compressors, queries, documents, limits, other_options)
def test_1_2_5_6_text_receipt_limits_and_units_are_right(
    compressor: Compressor, query: str, docs: list[Document], limit: dict[str, Any], other: dict[str, Any]
) -> None:
    result = compressor.compress(query, docs, **limit, **other)

    def count(text: str) -> int:
        return compressor.token_counter.count(replace_surrogates(text))

    checks.check_all(result, docs, count, **limit, max_docs=other.get("max_docs"))
    if not limit and "level" not in other:
        assert all(span.reason != "truncated" for span in (*result.kept, *result.dropped))


@given(
    words=st.lists(st.lists(st.sampled_from(["red", "lamp", "tide"]), min_size=1, max_size=9), min_size=1),
    scores=st.randoms(use_true_random=False),
    title=st.none() | st.just("Lights by the sea"),
    limit=st.integers(1, 60),
)
def test_2_kept_scores_reach_that_of_the_best_unit_that_fits(
    words: list[list[str]], scores: random.Random, title: str | None, limit: int
) -> None:
    sentences = [f"{' '.join(own).capitalize()} {number}." for number, own in enumerate(words)]
    scored = [scores.random() for _ in sentences]
    packing = [scores.random() for _ in sentences]
    scorer = BrokenScorer([DocumentScores(max(scored), scored, packing)])
    compressor = Compressor(scorer, token_counter=count_words)
    result = compressor.compress("red", [Document(" ".join(sentences), title)], budget=limit)
    fitting = [
        score
        for sentence, score in zip(sentences, scored, strict=True)
        if len(sentence.split()) + (4 if title else 0) <= limit
    ]
    if result.status == "compressed":
        assert result.best_fits == (max(scored) in fitting)
        if result.best_fits:
            assert sum(span.score for span in result.kept) >= max(scored)


@settings(max_examples=40)
@given(queries, documents, documents, limits, other_options)
def test_3_same_input_gives_same_output_in_batches_and_threads(
    query: str, docs: list[Document], other_docs: list[Document], limit: dict[str, Any], other: dict[str, Any]
) -> None:
    compressor = COMPRESSORS[0]
    single = Compressor(FakeScorer(), threads=1).compress(query, docs, **limit, **other)
    requests = [("light", other_docs), (query, docs), (query, docs[::-1])]
    assert compressor.compress_batch(requests, **limit, **other)[1] == single
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(compressor.compress, query, docs, **limit, **other) for _ in range(4)]
        assert all(future.result() == single for future in futures)


@given(queries, documents, other_options)
def test_4_failing_model_without_a_limit_returns_everything(
    query: str, docs: list[Document], other: dict[str, Any]
) -> None:
    result = Compressor(BrokenScorer(RuntimeError("broken"))).compress(query, docs, **other)
    assert result.status in ("failed_open", "unchanged", "bypassed")
    checks.check_cover(result, docs)
    checks.check_pieces(result, docs)
    assert not result.dropped
    assert result.tokens_after == result.tokens_before


@given(queries, documents, limits.filter(bool), other_options)
def test_4_within_a_limit_a_failing_model_keeps_the_limit(
    query: str, docs: list[Document], limit: dict[str, Any], other: dict[str, Any]
) -> None:
    compressor = Compressor(BrokenScorer(RuntimeError("broken")))
    result = compressor.compress(query, docs, **limit, **other)
    assert result.status in ("degraded", "unchanged", "bypassed")
    checks.check_all(result, docs, compressor.count_tokens, **limit, max_docs=other.get("max_docs"))


@given(st.none() | any_text | st.integers(), unchecked_documents, unchecked_options)
def test_4_bad_arguments_raise_only_errors_of_tersely(query: Any, docs: Any, options: dict[str, Any]) -> None:
    with contextlib.suppress(TerselyError):
        COMPRESSORS[0].compress(query, docs, **options)


@settings(max_examples=20)
@given(queries, documents, limits)
def test_7_a_compression_never_touches_the_network(
    query: str, docs: list[Document], limit: dict[str, Any]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "socket", None)
        patch.setattr(socket, "getaddrinfo", None)
        patch.setattr(socket, "create_connection", None)
        Compressor(FakeScorer()).compress(query, docs, **limit)
