"""`timeout` ends a compression in time, with the best that was known, and within its limit."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely import Compressor, Document, InvalidInputError
from tersely.runtime import cancellation
from tersely.runtime.cancellation import current_time_limit, time_limit
from tersely.runtime.session import EncoderSession
from tersely.runtime.workers import Workers
from tersely.score import encoder as encoder_module
from tersely.score.encoder import Encoder
from tersely.score.selector import Selector
from tersely.split import documents as documents_module
from tests.sdk import checks
from tests.sdk.checks import check_all
from tests.sdk.fakes import FakeScorer, HeldScorer
from tests.sdk.selector_cases import bundled_selector, make_long_input

TEXTS = [document.text for document in make_long_input(120, 3)]
QUESTION = "Where are the spoons?"
RUN_S, TIMEOUT_S = 6.0, 60.0
"""Seconds of one run of the slow encoder by its clock, and a time limit. TEXTS need about 30 runs."""


class SleepySession:
    """A real session with a clock, by which every run takes `RUN_S` and nothing else takes any time."""

    def __init__(self, session: EncoderSession) -> None:
        self.session = session
        self.runs = 0

    def monotonic(self) -> float:
        return self.runs * RUN_S

    def run(self, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]) -> list[np.ndarray]:
        time.sleep(0.1)
        self.runs += 1
        return self.session.run(inputs, outputs)


class HangingReranker:
    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.is_waiting = False

    def rank(self, query: str, documents: Sequence[Document]) -> list[float]:
        self.is_waiting = True
        self.go_on.wait(60)
        self.is_waiting = False
        return [0.0] * len(documents)


def sleepy_compressor(monkeypatch: pytest.MonkeyPatch) -> tuple[Compressor, SleepySession]:
    bundled = bundled_selector()
    session = SleepySession(bundled.encoder.session)
    encoder = Encoder(cast("EncoderSession", session), Workers(1), bundled.layout.config.pad_id)
    selector = Selector(encoder, bundled.layout, bundled.fusion, bundled.idf, bundled.threshold)
    compressor = Compressor(selector)
    compressor.compress(QUESTION, ["One. Two."], budget=1)  # imports what is imported late
    session.runs = 0
    for module in (cancellation, encoder_module):
        monkeypatch.setattr(module, "time", session)
    return compressor, session


def test_timeout_uses_what_the_model_had_read(monkeypatch: pytest.MonkeyPatch) -> None:
    compressor, session = sleepy_compressor(monkeypatch)
    result = compressor.compress(QUESTION, TEXTS, budget=50, timeout=TIMEOUT_S)
    assert session.runs <= TIMEOUT_S / RUN_S
    assert (result.status, result.reason) == (
        "degraded",
        "the time limit of 60 s was up before the model had read everything",
    )
    check_all(result, [Document(text) for text in TEXTS], compressor.count_tokens, budget=50)
    assert {"budget", "unread"} <= {span.reason for span in result.dropped}
    runs = session.runs
    time.sleep(0.3)
    assert session.runs == runs, "the model goes on"


def test_what_matches_the_question_is_read_first(monkeypatch: pytest.MonkeyPatch) -> None:
    compressor, _ = sleepy_compressor(monkeypatch)
    answer = "The silver spoons lie in the lower drawer of the green cupboard."
    result = compressor.compress(
        "Where are the silver spoons?", [*TEXTS, f"It rains. {answer}"], budget=50, timeout=TIMEOUT_S
    )
    assert result.status == "degraded"
    assert "unread" in {span.reason for span in result.dropped}
    assert answer in result.text


def test_with_time_enough_the_result_is_the_same() -> None:
    for threads in (1, 2):
        compressor = Compressor(bundled_selector(), threads=threads)
        for options in ({"budget": 60}, {"rate": 0.2, "max_docs": 2}, {"recall": 0.9}, {}):
            limited = compressor.compress(QUESTION, TEXTS[:12], **options, timeout=600)
            assert limited == compressor.compress(QUESTION, TEXTS[:12], **options)


def test_a_model_that_hangs_gives_exact_matches_within_a_limit() -> None:
    scorer = HeldScorer()
    compressor = Compressor(scorer)
    docs = [Document("The red light burns at night. Boats are blue."), Document("Bread is baked daily.")]
    result = compressor.compress("When does the red light burn?", docs, budget=7, timeout=0.3)
    assert scorer.waiting
    assert (result.status, result.text) == ("degraded", "The red light burns at night.")
    assert result.reason == "the time limit of 0.3 s was up before the model had any scores"
    scorer.go_on.set()


def test_hanging_model_without_a_limit_returns_everything() -> None:
    scorer = HeldScorer()
    docs = ["The red light burns at night. Boats are blue.", "Bread is baked daily."]
    for options in ({}, {"level": 1}):
        result = Compressor(scorer).compress("Which light?", docs, timeout=0.1, **options)
        assert (result.status, result.text) == ("failed_open", "\n\n".join(docs))
    assert len(scorer.waiting) == 2
    scorer.go_on.set()


def test_a_reranker_that_hangs_holds_nothing_up() -> None:
    reranker = HangingReranker()
    compressor = Compressor(FakeScorer(), reranker=reranker)
    result = compressor.compress(
        "Which light?", ["A red light. A boat.", "Bread."], max_docs=1, budget=4, timeout=0.3
    )
    assert reranker.is_waiting
    assert result.status == "degraded"
    assert len(result.documents) == 1
    reranker.go_on.set()


def test_acompress_and_batches_take_a_timeout_for_each_request() -> None:
    scorer = HeldScorer()
    compressor = Compressor(scorer, threads=2)
    docs = ["The red light burns. Boats are blue."]
    single = asyncio.run(compressor.acompress("Which light?", docs, budget=5, timeout=0.3))
    batch = compressor.compress_batch([("Which light?", docs)] * 4, budget=5, timeout=0.3)
    assert len(scorer.waiting) == 5
    assert [result.text for result in (single, *batch)] == ["The red light burns."] * 5
    scorer.go_on.set()


def test_messages_take_a_timeout_over_all_tries() -> None:
    scorer = HeldScorer()
    compressor = Compressor(scorer)
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    page = "The red light burns at night. " + "Boats are blue and bread is baked daily. " * 9
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "When does the red light burn?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": page},
    ]
    limited = compressor.compress_messages(messages, budget=70, timeout=0.3)
    unlimited = compressor.compress_messages(messages, timeout=0.3)
    assert len(scorer.waiting) >= 2
    assert (limited.receipt.status, unlimited.receipt.status) == ("degraded", "failed_open")
    assert limited.messages[2]["content"].startswith("[shortened]\nThe red light burns at night.")
    assert limited.tokens_after <= 70
    assert unlimited.messages == messages
    with pytest.raises(InvalidInputError, match="timeout"):
        compressor.compress_messages(messages, timeout=0)
    scorer.go_on.set()


def test_a_cancelled_task_stops_work_that_has_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    compressor, session = sleepy_compressor(monkeypatch)

    async def cancel() -> None:
        task = asyncio.create_task(compressor.acompress(QUESTION, TEXTS, budget=50, timeout=60))
        while not session.runs:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())  # waits for all threads
    assert session.runs <= 2


def test_errors_of_the_caller_pass_through() -> None:
    def fail(text: str) -> int:
        raise ZeroDivisionError(text)

    with pytest.raises(ZeroDivisionError):
        Compressor(FakeScorer(), token_counter=fail).compress("Which?", ["One. Two."], budget=1, timeout=9)


def test_a_time_limit_ends_with_its_call() -> None:
    Compressor(FakeScorer()).compress("Which?", ["One. Two."], budget=1, timeout=9)
    assert current_time_limit().seconds is None


def test_an_inner_time_limit_never_exceeds_the_outer_one() -> None:
    for seconds in (None, 9.0):
        with time_limit(0.06) as outer, time_limit(seconds) as inner:
            remaining = outer.remaining  # read first, because time passes
            assert inner.remaining <= remaining


def hurry(monkeypatch: pytest.MonkeyPatch, characters: int) -> Compressor:
    """Return a compressor that splits so many characters in no time."""
    monkeypatch.setattr(documents_module, "_ALWAYS_SPLIT", characters)
    return Compressor(FakeScorer())


def test_a_text_that_is_too_long_for_the_time_is_read_to_the_end_of_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compressor = hurry(monkeypatch, 1000)
    text = "".join(f"The lamp of pier {number} is green.\n" for number in range(200))
    result = compressor.compress("Which lamp is green?", [text], budget=50, timeout=1e-6)
    check_all(result, [Document(text)], compressor.count_tokens, budget=50)
    assert result.status == "degraded"
    assert result.text
    (rest,) = (span for span in result.dropped if span.reason == "unread")
    most = 1000 * len(text) // (len(text) + 200 * documents_module._LINE_WEIGHT)
    assert (rest.start, rest.end) == (text.rindex("\n", 0, most) + 1, len(text) - 1)
    overview = compressor.compress(None, [text], budget=50, timeout=1e-6)
    assert (overview.status, overview.dropped[-1].reason) == ("degraded", "unread")
    whole = compressor.compress("Which lamp is green?", [text], timeout=1e-6)
    assert (whole.status, whole.text) == ("failed_open", text.strip())


def test_documents_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compressor = hurry(monkeypatch, 1000)
    long = "".join(f"The lamp of pier {number} is green.\n" for number in range(99))
    docs = ["Boats are blue.", long, long, '{"lamps": [' + ", ".join(map(str, range(999))) + "]}"]
    result = compressor.compress("Which lamp is green?", docs, budget=60, timeout=1e-6)
    check_all(result, list(map(Document, docs)), compressor.count_tokens, budget=60)
    read = {span.doc: span.start for span in result.dropped if span.reason == "unread"}
    assert read.keys() == {1, 2, 3}
    assert read[1] > 100
    assert 0 <= read[2] - read[1] < 40, "the same number of lines, or one more"
    assert read[3] == 0, "half of it would not parse"


@settings(max_examples=12)
@given(st.floats(1e-9, 0.3), st.integers(1, 120), st.booleans())
def test_whatever_the_timeout_the_limit_is_kept(timeout: float, budget: int, reorder: bool) -> None:
    compressor = Compressor(bundled_selector())
    order = "rerank" if reorder else "source"
    docs = [Document(text, "Title") for text in TEXTS[:40]]
    result = compressor.compress(QUESTION, docs, budget=budget, order=order, timeout=timeout)
    assert result.status in ("compressed", "degraded")
    checks.check_all(result, docs, compressor.count_tokens, budget=budget)


def test_vectors_that_are_not_numbers_are_not_a_lack_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    selector = bundled_selector()
    assert selector.embedder is not None
    embed = selector.embedder.embed_sentences
    monkeypatch.setattr(
        selector.embedder, "embed_sentences", lambda documents: [v * np.nan for v in embed(documents)]
    )
    result = Compressor(selector).compress(QUESTION, TEXTS[:2], budget=20)
    assert (result.status, result.reason) == ("compressed", None)
