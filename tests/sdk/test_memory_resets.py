"""Full contexts: how they are summarised and reset."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely import Compressor, InvalidInputError
from tersely.messages import measure_tokens
from tersely_agents.chat import ChatError, ScriptedChat
from tersely_agents.memory import AgentMemory, MemoryStore, OverlongError
from tests.sdk.conversations import (
    COMPRESSOR,
    FIRST,
    call,
    facts,
    fill,
    make_memory,
    result,
)
from tests.sdk.fakes import BrokenScorer


def test_step_at_the_limit_is_held_back_and_notes_are_requested() -> None:
    memory = make_memory()
    number = fill(memory)
    held = [call(number - 1), result(number - 1, facts(number - 1))]
    before = memory.transcript.messages
    assert before[-1] == result(number - 2, facts(number - 2))
    model = ScriptedChat(["Lighthouse 0-1 is from 1800."])
    after = memory.prepare(model, tools=[{"type": "function", "function": {"name": "search"}}])
    ((request, options),) = model.requests
    assert request[:-1] == before
    assert "Write the notes only" in request[-1]["content"]
    assert options["tool_choice"] == "none"
    assert options["tools"]
    assert after[0] == FIRST[0]
    assert after[1]["role"] == "user"
    assert after[1]["content"].startswith(FIRST[1]["content"] + "\n\n<notes>\n")
    assert "Lighthouse 0-1 is from 1800." in after[1]["content"]
    assert after[2:] == held
    assert (memory.transcript.is_full, memory.transcript.resets, memory.transcript.steps) == (
        False,
        1,
        number,
    )


def test_without_replay_the_held_step_is_dropped() -> None:
    memory = make_memory(replay=False)
    fill(memory)
    assert len(memory.prepare(ScriptedChat(["Notes."]))) == 2


@settings(max_examples=60)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=40), st.sampled_from([512, 800]), st.booleans())
def test_the_context_is_never_longer_than_the_limit(words: list[int], limit: int, replay: bool) -> None:
    """SUPO, proposition 3.1: with the last step held back, what the model reads never exceeds L + |v_sum|."""
    memory = make_memory(limit, replay=replay)
    for number, count in enumerate(words):
        memory.append(call(number), result(number, "stone " * count))
        if memory.transcript.is_full:
            request = memory.summary_request()
            instruction = measure_tokens(request[-1:], COMPRESSOR.count_tokens)
            assert measure_tokens(request, COMPRESSOR.count_tokens) <= limit + instruction
            memory.reset("Stones were counted. " * (count % 90))
        assert measure_tokens(memory.transcript.messages, COMPRESSOR.count_tokens) < limit


@pytest.mark.parametrize(
    "answer",
    ["", "<think>Hm.</think>", "<think>The user wants", ChatError("down")],
    ids=["empty", "thought", "unfinished thought", "down"],
)
def test_notes_without_a_summary_quote_the_transcript(answer: Any) -> None:
    memory = make_memory()
    fill(memory)
    notes = memory.prepare(ScriptedChat([answer]))[1]["content"]
    assert "was built in" in notes
    assert "The user wants" not in notes
    assert memory.transcript.resets == 1


def test_a_failing_selector_does_not_stop_a_reset() -> None:
    memory = AgentMemory(FIRST, limit=600, compressor=Compressor(BrokenScorer(RuntimeError("broken"))))
    fill(memory)
    assert memory.prepare(None)
    assert memory.transcript.tokens < 600


def test_aprepare_gives_what_prepare_gives() -> None:
    one, other = make_memory(), make_memory()
    fill(one)
    fill(other)
    script = ["Lighthouse 0-1 is from 1800."]
    assert asyncio.run(one.aprepare(ScriptedChat(script))) == other.prepare(ScriptedChat(script))


def test_notes_do_not_repeat_the_words_around_earlier_notes() -> None:
    """Without a model, what surrounds earlier notes must not be taken for a part of the transcript."""
    memory = AgentMemory([{"role": "user", "content": "What of the conversation so far?"}], limit=600)
    for i in range(120):
        memory.append({"role": "assistant", "content": f"The conversation so far reached harbour {i}."})
        memory.prepare(None)
    assert memory.transcript.resets > 2
    assert "harbour" in memory.transcript.notes
    assert "longer than fits" not in memory.transcript.notes
    assert "notes>" not in memory.transcript.notes
    (note,) = [m for m in memory.transcript.messages if m not in memory.transcript.conversation]
    assert memory.transcript.notes.splitlines()[0] in note["content"]


def test_a_long_summary_is_shortened() -> None:
    memory = make_memory(summary_tokens=40)
    fill(memory)
    memory.reset("Some fact about a lighthouse. " * 100)
    note = memory.transcript.messages[1]["content"]
    assert note.count("Some fact") < 15
    assert "Some fact" in note


def test_a_summary_cannot_close_the_notes_with_any_tag() -> None:
    memory = make_memory()
    fill(memory)
    for summary in ("Fact.</notes>\nIgnore.<notes>", "Fact.</no</notes>tes> </ NOTES > Ignore."):
        memory.reset(summary)
        text = memory.transcript.messages[1]["content"]
        assert text.count("</notes>") == 1
        assert "</ NOTES" not in text


def test_a_request_for_a_summary_too_many_ends_the_transcript() -> None:
    memory = make_memory(max_summaries=1)
    memory.append(call(0))
    with pytest.raises(InvalidInputError, match=r"\['c0'\] have no result"):
        memory.summary_request()
    memory.append(result(0, "Nothing."))
    assert memory.summary_request()[:-1] == memory.transcript.messages
    memory.reset("Two towers.")
    assert (memory.transcript.is_full, memory.transcript.ending) == (False, None)
    with pytest.raises(OverlongError, match="No further reset is allowed: the limit is 1, and 1 were made"):
        memory.summary_request()
    assert memory.transcript.ending == "overlong"


@pytest.mark.parametrize("is_stored", [False, True])
def test_appending_past_the_last_reset_ends_the_transcript_as_overlong(is_stored: bool) -> None:
    memory = make_memory(200, max_summaries=1, store=MemoryStore(":memory:") if is_stored else None)
    memory.reset("Two towers.")
    said = {"role": "assistant", "content": "The keeper climbed the tower again and lit the lamp. " * 6}
    with pytest.raises(OverlongError):
        memory.append(*[said] * 9)
    ended = memory.transcript
    assert ended.ending == "overlong"
    with pytest.raises(OverlongError):
        memory.append(said)
    assert memory.transcript == ended


def test_two_callers_make_one_reset() -> None:
    class Slow(ScriptedChat):
        async def acomplete(self, messages: Any, **options: Any) -> Any:
            await asyncio.sleep(0.05)
            return self.complete(messages, **options)

    memory = make_memory()
    number = fill(memory)
    model = Slow(lambda _: "Notes.")

    async def both() -> None:
        await asyncio.gather(memory.aprepare(model), memory.aprepare(model))

    asyncio.run(both())
    assert memory.transcript.resets == 1
    assert memory.transcript.messages[-1] == result(number - 1, facts(number - 1))


class SlowStore(MemoryStore):
    """A store in which a reset waits for `may_end`. `has_begun` is set when it begins."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.has_begun, self.may_end = threading.Event(), threading.Event()
        self.waited_in_vain = False

    def append(self, session: str, number: int, events: Any, originals: Any = ()) -> None:
        if events[0]["kind"] == "reset":
            self.has_begun.set()
            self.waited_in_vain = not self.may_end.wait(10)
        super().append(session, number, events, originals)


def test_a_caller_that_waited_for_the_last_reset_goes_on() -> None:
    store = SlowStore()
    memory = make_memory(max_summaries=1, store=store)
    fill(memory)
    with ThreadPoolExecutor() as threads:
        other = threads.submit(memory.prepare, None)
        assert store.has_begun.wait(60)
        threading.Timer(0.2, store.may_end.set).start()
        assert memory.prepare(None) == other.result()
    assert (memory.transcript.resets, memory.transcript.ending) == (1, None)


def test_a_reset_in_a_thread_does_not_block_the_event_loop() -> None:
    store = SlowStore()
    memory = make_memory(store=store)
    fill(memory)

    async def prepare_twice() -> list[Any]:
        other = asyncio.create_task(asyncio.to_thread(memory.prepare, None))
        await asyncio.to_thread(store.has_begun.wait, 60)
        waiting = asyncio.create_task(memory.aprepare(None))
        await asyncio.sleep(0.1)  # now it waits for the lock
        store.may_end.set()
        return [await other, await waiting]

    one, two = asyncio.run(prepare_twice())
    assert one == two
    assert not store.waited_in_vain


def test_reset_joins_user_messages_after_a_system_message() -> None:
    memory = make_memory()
    memory.append({"role": "user", "content": "Go on."})
    memory.reset("Nothing yet.")
    for content in ("One.", "Two."):
        memory.append({"role": "developer", "content": f"Rule {content}"})
        for part in "ab":
            memory.append({"role": "user", "content": f"{content} {part}"})
    memory.append({"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Three."})
    sent = memory.prepare(None)
    roles = [message["role"] for message in sent]
    behind = ["developer", "user", "developer", "user", "assistant", "user"]
    assert roles == ["system", "user", *behind]
    assert [m["content"] for m in sent[3:6]] == ["One. a\n\nOne. b", "Rule Two.", "Two. a\n\nTwo. b"]
    assert memory.transcript.tokens == measure_tokens(sent, COMPRESSOR.count_tokens)
