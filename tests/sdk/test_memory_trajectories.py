"""Trajectories that a memory leaves to train on."""

from __future__ import annotations

from tersely_agents.chat import ScriptedChat
from tests.sdk.conversations import (
    FIRST,
    fill,
    make_memory,
    nearly_fill,
)


def test_a_trajectory_marks_what_the_policy_wrote() -> None:
    memory = make_memory()
    number = fill(memory)
    memory.prepare(ScriptedChat(["Notes."]))
    memory.append({"role": "assistant", "content": "Lighthouse 0-1."})
    memory.finish()
    first, second = memory.transcript.trajectory()
    assert list(first.prompt) == FIRST
    assert [m["role"] for m in first.response] == ["assistant", "tool"] * (number - 1) + ["user", "assistant"]
    assert list(first.mask) == [True, False] * (number - 1) + [False, True]
    assert first.response[-1]["content"] == "Notes."
    assert first.steps[:4] == (1, 1, 2, 2)
    assert first.steps[-2:] == (None, None)
    # The step that was held back was an answer to another context, so that it is not trained on here.
    assert list(second.mask) == [False, False, True]
    assert second.steps == (number, number, number + 1)
    assert list(second.prompt) == memory.transcript.messages[:2]
    assert memory.transcript.ending == "finished"


def test_notes_that_the_policy_did_not_write_are_masked() -> None:
    memory = make_memory()
    fill(memory)
    memory.prepare(None)
    assert next(memory.transcript.trajectory()).mask[-1] is False


def test_final_answer_that_fills_the_context_is_recorded() -> None:
    memory = make_memory()
    nearly_fill(memory)
    memory.append({"role": "assistant", "content": "The answer is Cape Morrow. " * 20})
    assert memory.transcript.is_full
    memory.finish()
    (part,) = memory.transcript.trajectory()
    assert "Cape Morrow" in part.response[-1]["content"]
    assert part.mask[-1] is True
