"""Typed pins: which statements of users are found, what replaces them, and how they are recalled."""

from __future__ import annotations

import pytest

from tersely import Compressor
from tersely_agents.memory import AgentMemory, MemoryStore
from tersely_agents.memory.pins import Pin, PinBoard, choose_pins, render_pins
from tersely_agents.memory.values import find_values
from tests.sdk.conversations import COMPRESSOR

SYSTEM = {"role": "system", "content": "You help."}


def read(*messages: str) -> PinBoard:
    board = PinBoard()
    for message in messages:
        board = board.read(message)
    return board


def texts(board: PinBoard) -> list[str]:
    return [pin.text for pin in board.pins]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Never mail a customer without asking me.", "rule"),
        ("Lösche auf keinen Fall die alten Bilder.", "rule"),
        ("No peanuts.", "rule"),
        ("The trip may cost 300 euros at most.", "constraint"),
        ("Die Reise kostet höchstens 300 Euro.", "constraint"),
        ("We decided to use Postgres.", "decision"),
        ("Wir haben uns für Postgres entschieden.", "decision"),
        ("I prefer short sentences.", "preference"),
        ("Ich hätte gern kurze Sätze.", "preference"),
        ("Write in British spelling.", "preference"),
        ("The next step is the import.", "goal"),
        ("The order is AB-12345.", "identifier"),
        ("I live in Kiel.", "fact"),
        ("DECISION: blue it is.", "decision"),
    ],
)
def test_a_statement_has_a_kind(text: str, kind: str) -> None:
    assert [pin.kind for pin in read(text).pins] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, that helps.",
        "What may the trip cost at most?",
        "Gestern war es kalt.",
        "The weather was strange this week.",
        "",
        "Never " + "say so " * 100 + ".",
    ],
)
def test_small_talk_questions_and_pasted_text_are_no_pins(text: str) -> None:
    assert not read(text).pins


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("I am looking for a flat in Leipzig.", "Forget Leipzig, I stay in Kiel.", "I stay in Kiel."),
        ("The deadline is April 28.", "The deadline is now May 3.", "The deadline is now May 3."),
        ("Our budget is $300.", "Our budget is $450.", "Our budget is $450."),
        ("Das Budget liegt bei 300 Euro.", "Das Budget liegt jetzt bei 450 Euro.", None),
        ("Ich suche in Leipzig, ab 900 Euro.", "Vergiss Leipzig, ich bleibe in Kiel.", "ich bleibe in Kiel."),
        ("Lea Sommer owns the parser.", "Tom Winter took over, he owns the parser now.", None),
        ("Show all times in UTC.", "Show clocks in Pacific time.", "Show clocks in Pacific time."),
    ],
)  # fmt: skip
def test_a_correction_replaces_what_was_said(old: str, new: str, left: str | None) -> None:
    board = read(old, new)
    assert texts(board) == [left or new]
    assert [pin.text for pin in board.replaced] == [old]


@pytest.mark.parametrize(
    "pair",
    [
        ("The staging host is alpha-1.", "The production host is beta-2."),
        ("Gate 3 opens at 7:00.", "Gate 4 opens at 8:00."),
        ("The carrier for the north is Brandvold.", "The carrier for the south is Meridian."),
        ("Lunch costs 9 euros.", "The lunch break starts at 12:30."),
    ],
)
def test_statements_on_different_things_both_stay(pair: tuple[str, str]) -> None:
    assert texts(read(*pair)) == list(pair)


@pytest.mark.parametrize(
    "text",
    [
        "The ticket is https://tickets.example/12345, and the log is in /data/2024-05-06-77/out.txt.",
        "build_7 is in /srv/build_7/out.txt.",
        "Gate 12, not gate 11, opens at 5 for Ada Moor. The code is 77812.",
    ],
)
def test_each_value_is_at_its_place(text: str) -> None:
    values = find_values(text)
    assert values
    assert all(text[value.start :].startswith(value.text) for value in values)
    assert AgentMemory([{"role": "user", "content": text}], limit=500).transcript.board.pins


def test_the_same_statement_is_pinned_once() -> None:
    assert len(read("Never delete a row.", "never delete a row.").pins) == 1


def test_strong_pins_go_first_and_the_newest_before_older_ones() -> None:
    pins = [Pin("fact", f"Ship {i} has {i} masts.", 1) for i in range(9)] + [
        Pin("rule", "Never sail at night.", 2)
    ]
    chosen = choose_pins(pins, 40, COMPRESSOR.count_tokens)
    assert COMPRESSOR.count_tokens(render_pins(chosen)) <= 40
    assert chosen[-1].kind == "rule"
    assert [pin.text for pin in chosen[:-1]] == [pin.text for pin in pins[10 - len(chosen) : -1]]


def test_an_identifier_stands_in_for_a_statement_without_room() -> None:
    pin = Pin("fact", "The order AB-12345 " + "of the very long customer " * 12 + "is late.", 1)
    (short,) = choose_pins([pin], 12, COMPRESSOR.count_tokens)
    assert (short.kind, short.text) == ("identifier", "AB-12345")


def chat(memory: AgentMemory, *turns: str) -> None:
    for number, turn in enumerate(turns):
        memory.append({"role": "user", "content": turn})
        memory.prepare(None)
        memory.append({"role": "assistant", "content": f"Page {number} has nothing on lamps. " * 12})


TALK = [f"What does page {i} of the guide say about lamps?" for i in range(12)]


def test_statements_outlive_resets_and_the_newest_value_holds() -> None:
    memory = AgentMemory([SYSTEM], limit=500, compressor=COMPRESSOR)
    chat(
        memory, "I am looking for a flat in Leipzig.", *TALK[:6], "Forget Leipzig, I stay in Kiel.", *TALK[6:]
    )
    assert memory.transcript.resets > 2
    context = str(memory.prepare(None))
    assert "I stay in Kiel." in context
    assert "Leipzig" not in context
    assert [pin.text for pin in memory.transcript.board.replaced] == ["I am looking for a flat in Leipzig."]


def test_recall_finds_what_left_the_context_also_on_disk() -> None:
    store = MemoryStore(":memory:")
    memory = AgentMemory([SYSTEM], limit=500, compressor=COMPRESSOR, store=store)
    chat(memory, "The cellar key hangs behind the blue cupboard, as my aunt told me.", *TALK)
    again = AgentMemory(limit=500, compressor=COMPRESSOR, store=store)
    for one in (memory, again):
        found = one.recall("Where does the cellar key hang?", budget=60)
        assert "behind the blue cupboard" in found.text
        assert COMPRESSOR.count_tokens(found.text) <= 60
    assert again.transcript == memory.transcript


def test_recall_without_a_budget_returns_only_what_answers() -> None:
    memory = AgentMemory([SYSTEM], limit=2000, compressor=Compressor(threads=1))
    chat(memory, "The cellar key hangs behind the blue cupboard, as my aunt told me.", *TALK * 2)
    assert memory.transcript.resets
    found, filled = (memory.recall("Where does the cellar key hang?", budget=b) for b in (None, 500))
    assert "behind the blue cupboard" in found.text
    assert found.tokens_after < filled.tokens_after / 3
    many = memory.recall(" ".join(TALK))
    assert many.tokens_after <= memory.journal.settings.summary_limit


def test_recall_opens_what_was_shortened() -> None:
    memory = AgentMemory([SYSTEM], limit=500, compressor=COMPRESSOR)
    page = "The tower has windows. " * 90 + "Ada Moor holds the spare key. " + "The tower has doors. " * 90
    memory.append({"role": "user", "content": page})
    memory.prepare(None)
    assert "Ada Moor holds the spare key." in memory.recall("Who holds the spare key?", budget=40).text


def test_recall_of_nothing_is_empty() -> None:
    assert AgentMemory([SYSTEM], limit=500, compressor=COMPRESSOR).recall("Who?").text == ""
