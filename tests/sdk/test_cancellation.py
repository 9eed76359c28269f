"""A cancelled request stops working, and nothing else is touched by it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tersely import Compressor
from tersely.runtime.cancellation import WorkCancelledError, cancellable, current_cancellation
from tersely.runtime.session import EncoderSession
from tersely.split.sentences import split_units
from tests.sdk.fakes import FakeScorer
from tests.sdk.selector_cases import DOCUMENTS, bundled_selector, make_long_input, selector_with

TEXTS = [document.text for document in make_long_input(120, 3)]


class SlowSession:
    """A job that counts its runs. Each run waits until `go_on` is set. `has_begun` tells that one is
    running."""

    def __init__(self, session: EncoderSession) -> None:
        self.session = session
        self.runs = 0
        self.has_begun = threading.Event()
        self.go_on = threading.Event()

    def run(self, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]) -> list[np.ndarray]:
        self.runs += 1
        self.has_begun.set()
        self.go_on.wait(30)
        return self.session.run(inputs, outputs)


def slow_compressor(threads: int = 1) -> tuple[Compressor, SlowSession]:
    session = SlowSession(bundled_selector().encoder.session)
    return Compressor(selector_with(session, threads)), session


@pytest.mark.parametrize("threads", [1, 2])
def test_a_cancelled_call_stops_between_two_runs_of_the_encoder(threads: int) -> None:
    compressor, session = slow_compressor(threads)

    async def cancel_then_ask_again() -> str:
        task = asyncio.create_task(compressor.acompress("Where are the spoons?", TEXTS, budget=50))
        await asyncio.to_thread(session.has_begun.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        session.go_on.set()
        return (await compressor.acompress("Who built it?", ["Ada built it. It is long."], budget=5)).status

    assert asyncio.run(cancel_then_ask_again()) == "compressed"
    assert session.runs <= threads + 3  # of about 30 that the cancelled call needs


def test_cancelled_calls_do_not_keep_the_next_one_waiting() -> None:
    compressor, session = slow_compressor()

    async def cancel_ten() -> None:
        tasks = [
            asyncio.create_task(compressor.acompress("Where are the spoons?", TEXTS, budget=50))
            for _ in range(10)
        ]
        await asyncio.to_thread(session.has_begun.wait, 30)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in results)
        session.go_on.set()

    asyncio.run(cancel_ten())  # waits for all threads
    assert session.runs <= 10  # one for each call at most, of 300 together


def test_a_call_beside_a_cancelled_one_has_its_result() -> None:
    compressor, session = slow_compressor(2)
    expected = Compressor(bundled_selector()).compress("Who designed it?", TEXTS, budget=50).text

    async def cancel_one_of_two() -> str:
        cancelled, kept = (
            asyncio.create_task(compressor.acompress("Who designed it?", TEXTS, budget=50)) for _ in range(2)
        )
        await asyncio.to_thread(session.has_begun.wait, 30)
        cancelled.cancel()
        session.go_on.set()
        return (await kept).text

    assert asyncio.run(cancel_one_of_two()) == expected


def test_a_cancellation_ends_with_its_block() -> None:
    outside = current_cancellation()
    with cancellable() as cancellation:
        cancellation.cancel()
        with pytest.raises(WorkCancelledError):
            bundled_selector().score("Who designed it?", DOCUMENTS)
    assert current_cancellation() is outside
    assert len(bundled_selector().score("Who designed it?", DOCUMENTS)) == len(DOCUMENTS)


@pytest.mark.parametrize("text", ["One. " * 900, "- One\n" * 900])
def test_a_cancelled_call_stops_splitting(text: str) -> None:
    with cancellable() as cancellation:
        cancellation.cancel()
        with pytest.raises(WorkCancelledError):
            split_units(text)


def test_a_cancelled_call_counts_no_more_texts() -> None:
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted += 1
        if counted == 5:
            cancellation.cancel()
        return len(text)

    compressor = Compressor(FakeScorer(), token_counter=count)
    with cancellable() as cancellation, pytest.raises(WorkCancelledError):
        compressor.compress("q", ["One two three. " * 500], budget=90)
    assert counted == 5
