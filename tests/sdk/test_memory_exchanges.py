"""Questions and their answers: what notes without a model hold of them, and how recall finds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tersely import Compressor
from tersely_agents.memory import AgentMemory
from tersely_agents.memory.notes import Quote, extract_notes, read_quotes
from tersely_agents.memory.pins import PinBoard
from tersely_agents.memory.sentences import cut_sentences
from tersely_agents.memory.shortening import Shortener
from tests.sdk.conversations import COMPRESSOR, SYSTEM, facts, result

MODEL = Compressor(threads=1)
FILLER = (
    "I checked the store room this morning. The weather outside is mild today. There are many shelves along "
    "the wall. Some of the labels have faded over time. A colleague passed by and said hello. The lights in "
    "the hall were already on. We usually keep the inventory in a binder. The binder is blue and heavy. "
    "Nothing unusual happened during the check. The floor had been swept the night before. I will continue "
    "with the next item soon. Please let me know if anything is unclear."
)
GERMAN_FILLER = (
    "Ich war heute früh im Lager. Das Wetter ist mild. An der Wand stehen viele Regale. Einige Schilder sind "
    "verblasst. Ein Kollege kam vorbei und grüßte. Das Licht im Flur brannte schon. Der Ordner ist blau und "
    "recht schwer. Bei der Prüfung fiel nichts auf. Der Boden war frisch gefegt."
)
TURNS = 26
WORDINGS: Sequence[tuple[str, str, str]] = (
    (
        "Question {n}: what is the code of box {n}?",
        "The code of box {n} is {value}. " + FILLER,
        "The code of box {n} is {value}.",
    ),
    (
        "When does ferry {n} leave?",
        "I looked at the timetable. Ferry {n} leaves at pier {value}. " + FILLER,
        "Ferry {n} leaves at pier {value}.",
    ),
    (
        "Wie lautet der Code von Kiste {n}?",
        "Der Code von Kiste {n} lautet {value}. " + GERMAN_FILLER,
        "Der Code von Kiste {n} lautet {value}.",
    ),
)


def fill_in(text: str, number: int) -> str:
    return text.format(n=number, value=1000 + 7 * number)


def exchange(number: int, wording: tuple[str, str, str]) -> list[dict[str, Any]]:
    asked, answer, _ = wording
    return [
        {"role": "user", "content": fill_in(asked, number)},
        {"role": "assistant", "content": fill_in(answer, number)},
    ]


def talk(wording: tuple[str, str, str], turns: int = TURNS) -> AgentMemory:
    memory = AgentMemory([SYSTEM], limit=2000, compressor=MODEL)
    for number in range(turns):
        for message in exchange(number, wording):
            memory.append(message)
            memory.prepare(None)
    assert memory.transcript.resets
    return memory


@pytest.fixture(scope="module", params=range(len(WORDINGS)))
def chat(request: pytest.FixtureRequest) -> tuple[AgentMemory, tuple[str, str, str]]:
    wording = WORDINGS[request.param]
    return talk(wording), wording


def test_notes_hold_the_answer_of_each_question(chat: tuple[AgentMemory, tuple[str, str, str]]) -> None:
    memory, (asked, _, statement) = chat
    notes = memory.transcript.notes
    noted = [number for number in range(TURNS) if fill_in(asked, number) in notes]
    assert len(noted) >= 10
    assert noted == list(range(noted[0], noted[-1] + 1))
    assert all(fill_in(statement, number) in notes for number in noted)
    assert notes.count("User:") == notes.count("Assistant:") == len(noted)


def test_notes_hold_whole_sentences(chat: tuple[AgentMemory, tuple[str, str, str]]) -> None:
    lines = chat[0].transcript.notes.splitlines()
    assert all(line.endswith((".", "?", "…", ":")) for line in lines if line)


@pytest.mark.parametrize("number", [3, 11, 20])
def test_recall_finds_the_answer(chat: tuple[AgentMemory, tuple[str, str, str]], number: int) -> None:
    memory, (asked, _, statement) = chat
    found = memory.recall(fill_in(asked, number), budget=60)
    assert fill_in(asked, number) in found.text
    assert fill_in(statement, number) in found.text
    assert found.tokens_after <= 60


def test_oldest_exchanges_go_when_shares_are_too_small() -> None:
    quotes = [
        quote
        for number in range(20)
        for quote in (
            Quote("User:", f"Who mended lamp {number}?"),
            Quote("Assistant:", f"Lamp {number} was mended by Keeper{number}. {facts(number, 12)}"),
        )
    ]
    shortener = Shortener(MODEL, MODEL.count_tokens)
    for limit in (60, 240):
        notes = extract_notes(shortener, None, quotes, limit)
        assert 0 < shortener.count(notes) <= limit
        noted = [number for number in range(20) if f"Keeper{number}." in notes]
        assert noted == list(range(20 - len(noted), 20))
        assert len(read_quotes(notes)) == 2 * len(noted)


def test_a_sentence_longer_than_the_notes_is_cut_with_a_mark() -> None:
    answer = "The key hangs behind " + "a door and " * 80 + "a wall."
    quotes = [Quote("User:", "Where does the key hang?"), Quote("Assistant:", answer)]
    notes = extract_notes(Shortener(COMPRESSOR, COMPRESSOR.count_tokens), None, quotes, 50)
    assert "Where does the key hang?" in notes
    assert notes.endswith(" …")
    assert COMPRESSOR.count_tokens(notes) <= 50


@pytest.mark.parametrize(
    ("text", "limit", "short"),
    [
        ("One two. Three four.", 9, "One two."),
        ("The code is 1126.", 15, "The code is …"),
        ("The code is 1126.", 3, "Th…"),
        ("箱の番号は千百二十六です。", 6, "箱の番号は…"),
        ("Wir treffen uns am 24. April. Und dann?", 24, "Wir treffen uns am 24. …"),
        ("The code is 1126.", 0, ""),
        ("The code is 1126.", 17, "The code is 1126."),
    ],
)
def test_a_cut_sentence_has_a_mark(text: str, limit: int, short: str) -> None:
    assert cut_sentences(text, limit, len) == short


def test_a_known_statement_with_a_german_date_is_not_noted() -> None:
    board = PinBoard().read("Die Versammlung ist am 3. April.")
    assert board.remove_known("Die Versammlung ist am 3. April. Danke.") == "Danke."


def test_recall_finds_an_answer_in_a_second_sentence() -> None:
    wording = ("Who keeps the key of gate {n}?", "Good question. It is Keeper{value}. " + FILLER, "")
    memory = talk(wording, 20)
    found = memory.recall("Who has the key of gate 3?", budget=50)
    assert fill_in("It is Keeper{value}.", 3) in found.text


def test_recall_finds_the_answer_in_a_tool_result() -> None:
    memory = AgentMemory([SYSTEM], limit=2000, compressor=MODEL)
    for number in range(20):
        asked = f"What is the code of box {number}?"
        page = f"{FILLER} The code is {1000 + 7 * number}. {FILLER}"
        function = {"name": "look_up", "arguments": "{}"}
        action = {"id": f"c{number}", "type": "function", "function": function}
        memory.append({"role": "user", "content": asked})
        memory.append({"role": "assistant", "content": None, "tool_calls": [action]}, result(number, page))
        memory.append({"role": "assistant", "content": "I have looked it up."})
        memory.prepare(None)
    found = memory.recall("What is the code of box 3?", budget=60)
    assert "The code is 1021." in found.text


def test_recall_keeps_what_a_question_says_besides() -> None:
    memory = AgentMemory([SYSTEM], limit=600, compressor=MODEL)
    said = "I live in the yellow house by the mill. Which bus goes to the mill?"
    memory.append({"role": "user", "content": said}, {"role": "assistant", "content": FILLER})
    for number in range(8):
        memory.append(*exchange(number, WORDINGS[0]))
        memory.prepare(None)
    assert "yellow house" in memory.recall("Where do I live?", budget=30).text


def test_recall_finds_a_question_without_an_answer() -> None:
    memory = AgentMemory([SYSTEM], limit=600, compressor=MODEL)
    memory.append({"role": "user", "content": "Has the red boat arrived yet?"})
    for number in range(8):
        memory.append(*exchange(number, WORDINGS[0]))
        memory.prepare(None)
    assert "red boat" in memory.recall("Has the red boat arrived?", budget=30).text
