"""The transcript as a value: events change it into the next one, and never change it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, cast

import pytest

from tersely import InvalidInputError
from tersely.messages import measure_tokens
from tersely_agents.memory import Transcript
from tersely_agents.memory.transcript import Event
from tests.sdk.conversations import COMPRESSOR, FIRST, call, result

COUNT = COMPRESSOR.count_tokens
NOTES = {"role": "user", "content": "<notes>Two towers.</notes>"}
LOG: list[dict[str, Any]] = [
    {"kind": "first", "messages": FIRST},
    {"kind": "pin", "key": "plan", "text": "Read the map."},
    {"kind": "message", "message": call(0), "full": False},
    {"kind": "message", "message": result(0, "One."), "full": False},
    {"kind": "message", "message": call(1), "full": False},
    {"kind": "message", "message": result(1, "Two."), "full": True},
    {
        "kind": "reset",
        "request": {"role": "user", "content": "Write the notes."},
        "answer": {"role": "assistant", "content": "Two towers."},
        "by": "policy",
        "base": [*FIRST, NOTES],
        "replayed": [call(1), result(1, "Two.")],
        "identifiers": ["AB-12345"],
    },
    {"kind": "message", "message": {"role": "assistant", "content": "The first."}, "full": False},
    {"kind": "pin", "key": "plan", "text": None},
    {"kind": "outcome", "outcome": "finished"},
]
"""Events as session files have them."""


def replay(events: Sequence[Any]) -> list[Transcript]:
    """Return the transcript after every event."""
    states = [Transcript()]
    for event in events:
        states.append(states[-1].apply(cast("Event", event), COUNT))
    return states[1:]


def test_a_log_of_events_becomes_this_transcript() -> None:
    last = replay(LOG)[-1]
    final = {"role": "assistant", "content": "The first."}
    task = {"role": "user", "content": f"{FIRST[1]['content']}\n\n{NOTES['content']}"}
    assert last.messages == [FIRST[0], task, call(1), result(1, "Two."), final]
    assert last.conversation == [*FIRST, call(1), result(1, "Two."), final]
    assert (last.steps, last.resets, last.events, last.ending) == (3, 1, len(LOG), "finished")
    assert (last.notes, last.board.pins, dict(last.pins)) == ("Two towers.", replay(LOG)[0].board.pins, {})
    assert last.tokens == measure_tokens(last.messages, COUNT)
    first, second = last.trajectory()
    assert first.mask == (True, False, False, True)
    assert second.mask == (False, False, True)


def test_step_that_fills_the_context_is_held_until_a_reset() -> None:
    states = replay(LOG)
    assert [state.is_full for state in states] == [False] * 5 + [True] + [False] * 4
    assert states[5].messages == [*FIRST, call(0), result(0, "One.")]
    assert list(states[5].held) == [call(1), result(1, "Two.")]


def test_a_transcript_names_its_unanswered_calls() -> None:
    states = replay(LOG)
    assert [state.unanswered for state in states[1:4]] == [[], ["c0"], []]
    with pytest.raises(InvalidInputError, match=r"\['c0'\] have no result"):
        _ = states[2].messages


def test_applying_an_event_never_changes_the_transcript() -> None:
    state = Transcript()
    for event in LOG:
        before, given = copy.deepcopy(state), copy.deepcopy(event)
        after = state.apply(cast("Event", event), COUNT)
        assert state == before
        assert event == given
        assert after != state
        state = after


def test_a_changed_copy_of_a_message_changes_no_transcript() -> None:
    state = replay(LOG[:4])[-1]
    state.messages[0]["content"] = "changed"
    assert state.messages[0] == FIRST[0]
