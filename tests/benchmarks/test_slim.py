"""LLMSlim's output, located in its sources and brought to a budget."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.quality.controls import BM25Scorer
from benchmarks.quality.slim import compress_to, count_rendered, locate_pieces
from benchmarks.shared.tasks import Example, load
from tersely import Document
from tersely.compressor import Compressor


@pytest.fixture(scope="module")
def example(data: Path) -> Example:
    return load("hotpotqa", "eval", data=data)[0]


def test_output_is_located_in_its_source() -> None:
    source = "Title: X\nOne is first. Two is second.  Three is third. Four is last."
    output = "Title: X\nOne is first. Two is second. ... Four is last."
    pieces = locate_pieces(source, output)
    assert [source[start:end] for start, end in pieces] == [
        "Title: X",
        "One is first. Two is second.",
        "Four is last.",
    ]
    assert locate_pieces(source, "not in there") == []


def test_tokens_are_counted_as_a_compression_renders_them(example: Example) -> None:
    compressor = Compressor(BM25Scorer())
    documents = [Document(d.text, d.title) for d in example.documents]
    result = compressor.compress(example.question, documents, rate=0.4)
    kept = [(span.doc, span.start, span.end) for span in result.kept]
    assert count_rendered(example, kept, compressor.token_counter.count) == result.tokens_after
    assert count_rendered(example, [], compressor.token_counter.count) == 0


def test_llmslim_stays_within_the_budget(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("llmslim")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    count = Compressor(BM25Scorer()).token_counter.count
    kept = compress_to(example, 120, count)
    assert kept
    assert count_rendered(example, kept, count) <= 120
    assert compress_to(example, 120, count) == kept  # from the cache
    assert compress_to(example, 0, count) == []
