"""Compaction: what the benchmark reads and counts, and what is promised of users' statements."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.compaction.__main__ import compact_often, make_tables, measure_own
from benchmarks.compaction.compacting import compact_by_memory
from benchmarks.compaction.conversations import Conversation, read_conversations
from benchmarks.compaction.kit import measure_kit
from tersely import Compressor
from tersely.messages import Json, get_text
from tests.sdk.fakes import FakeScorer

COMPRESSOR = Compressor(FakeScorer(), token_counter=len)
"""Statements of users are found without a model, so a fake one is enough."""
KEPT = {0.2: 0.85, 0.3: 0.95}
"""Least share of the statements that survive, by budget."""


def by_memory(messages: list[Json], budget: int) -> str:
    return compact_by_memory(COMPRESSOR, messages, budget)


def test_a_conversation_is_read(tmp_path: Path) -> None:
    file = tmp_path / "some.txt"
    file.write_text(
        "Form.\n\n## boat, en\nU It is Red.\nx red\n~\nU Make it blue.\n= blue | make\n"
        "## small talk, en\nU Hi.\nA Hello.\nU So?\nA So.\n"
    )
    (boat,) = read_conversations(file)
    assert [m["content"] for m in boat.messages] == [
        "It is Red.",
        "Hi.",
        "Hello.",
        "So?",
        "So.",
        "Make it blue.",
    ]
    assert (boat.kept, boat.stale) == ([("blue", "make")], ["red"])
    assert (boat.count_kept("MAKE it blue"), boat.count_kept("blue"), boat.count_stale("Red")) == (1, 0, 1)


def test_our_conversations_need_what_their_users_say() -> None:
    conversations = read_conversations()
    assert len(conversations) >= 12
    for conversation in conversations:
        said = "\n".join(get_text(m) for m in conversation.messages if m["role"] == "user")
        assert conversation.count_kept(said) == len(conversation.kept) > 5
        assert conversation.count_stale(said) == len(conversation.stale) > 0


def test_every_round_fits_its_budget_and_reads_the_last() -> None:
    (conversation, *_) = read_conversations()
    messages: list[Json] = conversation.messages
    for _ in range(3):
        text = by_memory(messages, 700)
        assert len(text) <= 700
        messages = [{"role": "system", "content": text}]
    assert compact_often(by_memory, conversation.messages, 700).count("- ") > 3


@pytest.mark.parametrize("budget", list(KEPT))
def test_our_conversations_keep_what_holds(budget: float) -> None:
    (table,) = make_tables(measure_own({"memory": by_memory}, read_conversations(), [budget]))
    (row,) = table.rows
    least = {0.2: 0.8, 0.3: 0.95}[budget]
    assert row["statements kept"].value >= least
    assert row["outdated values left"].startswith(("0 ", "1 "))
    assert row["within the budget"]


@pytest.mark.parametrize("budget", list(KEPT))
def test_the_conformance_kit_finds_what_is_promised(budget: float) -> None:
    pytest.importorskip("compaction_kit")
    lines = measure_kit({"memory": by_memory}, [budget])
    kept, statements, left, outdated, pairs = (
        sum(line[name] for line in lines) for name in ("kept", "statements", "left", "outdated", "pairs kept")
    )
    assert all(line["fits"] for line in lines)
    assert kept >= KEPT[budget] * statements
    assert (outdated, left) <= (64, 5)
    assert pairs >= 16


def test_an_empty_conversation_counts_nothing() -> None:
    assert Conversation("none").count_kept("text") == 0
