"""Every class of the SDK that loads or opens something refuses senseless arguments when it is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tersely import Compressor, InvalidInputError
from tersely.embedding import SentenceEmbedder
from tersely.rerank import CrossEncoder, Relevance
from tersely_agents.chat import LocalChat
from tersely_agents.experience import ExperienceBank
from tersely_agents.memory import MemoryStore
from tests.sdk.fakes import FakeScorer, Letters

NO_PATHS = [5, 1.5, True, b"folder", ["folder"], {"a": 1}, object(), "nul\0"]
NO_THREADS = ["2", 1.5, 0, -1, True, [2], object()]


@pytest.mark.parametrize("value", NO_PATHS)
@pytest.mark.parametrize(
    "make", [SentenceEmbedder, Relevance, CrossEncoder, MemoryStore, LocalChat, Compressor]
)
def test_a_path_or_a_name_is_text_or_a_path(make: Any, value: Any) -> None:
    with pytest.raises(InvalidInputError, match="Pass a"):
        make(value)


@pytest.mark.parametrize("value", NO_PATHS)
def test_the_file_of_a_bank_is_text_or_a_path(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="Pass a path"):
        ExperienceBank(value, Letters())


@pytest.mark.parametrize("value", NO_THREADS)
@pytest.mark.parametrize("make", [SentenceEmbedder, Relevance, Compressor])
def test_threads_are_a_whole_number(make: Any, value: Any) -> None:
    with pytest.raises(InvalidInputError, match="whole number of threads"):
        make(threads=value)


@pytest.mark.parametrize("value", NO_THREADS)
def test_a_cross_encoder_counts_its_threads_and_tokens(tmp_path: Path, value: Any) -> None:
    with pytest.raises(InvalidInputError, match="whole number of threads"):
        CrossEncoder(tmp_path, threads=value)
    with pytest.raises(InvalidInputError, match="whole number of tokens"):
        CrossEncoder(tmp_path, max_length=value)


@pytest.mark.parametrize("value", [5, "x", object()])
def test_rerankers_and_counters_are_recognised_by_what_they_can_do(value: Any) -> None:
    with pytest.raises(InvalidInputError):
        Compressor(FakeScorer(), reranker=value)
    with pytest.raises(InvalidInputError):
        Compressor(FakeScorer(), token_counter=value)
