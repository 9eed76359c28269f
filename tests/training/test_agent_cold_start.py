"""The agent's cold start: which runs are good, their rewriting into ZipRL's turns, and the training."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tersely import Compressor, Document
from tersely_agents.agent.retrieval import DocumentIndex
from tersely_agents.agent.summary import parse_turn
from tersely_agents.agent.tools import finish_tool, search_tools
from tersely_agents.levels import LEVELS
from training.agent.card import render_card
from training.agent.examples import Recipe, hold_out, make_lessons, name_documents, read_hits, read_lessons
from training.agent.settings import Settings
from training.agent.teacher import choose_level, write_notes
from training.agent.trajectories import keep_good
from training.causal import Adapter
from training.rl.engines.random_model import make_model, make_tokenizer
from training.run import Run
from training.settings import read_settings
from training.sources import SOURCES
from training.summarizer import train as training
from training.summarizer.examples import Lesson
from training.summarizer.train import Training

pytestmark = pytest.mark.filterwarnings("ignore")
"""peft, transformers and torch warn about parts of themselves."""

CONFIG = Path(__file__).parents[2] / "training/configs/agent_smollm2.toml"
FERRY = (
    "Arno Holt built the ferry of Tarnwick in 1931, and it still crosses the sound on every day of summer."
)
BIRTH = "Arno Holt was a shipwright of the island of Orvelle, where he was born on a farm in 1888."


def make_row(number: int, *steps: tuple[str, str, str], reward: str = "True", **facts: Any) -> dict[str, Any]:
    """A row of the set; a step is a thought, an action and what was observed."""
    question = f"Where was the man born who built ferry {number} of Tarnwick?"
    messages = [{"role": "user", "content": question}]
    for thought, action, found in steps:
        seen = found.replace("Tarnwick", f"Tarnwick {number}").replace("Orvelle", f"Orvelle {number}")
        messages.append({"role": "assistant", "content": f"Thought: {thought}\nAction: {action}"})
        messages.append({"role": "user", "content": f"Observation: {seen}"})
    messages[-1]["content"] = f"Observation: Episode finished, reward = {reward}"
    return {"id": f"tasks-{number}", "task": question, "reward": None, "messages": messages, **facts}


STEPS = (
    ("I need the builder.", "search[builder of the ferry of Tarnwick]", FERRY),
    ("Now his birthplace.", "search[Arno Holt birthplace]", BIRTH),
    ("He was born on Orvelle.", "finish[Orvelle]", ""),
)


def test_a_good_run_keeps_its_thoughts_searches_and_answer() -> None:
    (run,) = keep_good([make_row(1, *STEPS)])
    assert [search.query for search in run.searches] == [
        "builder of the ferry of Tarnwick",
        "Arno Holt birthplace",
    ]
    assert run.searches[1].found == BIRTH.replace("Orvelle", "Orvelle 1")
    assert (run.thought, run.answer) == ("He was born on Orvelle.", "Orvelle")


@pytest.mark.parametrize(
    "row",
    [
        make_row(1, *STEPS, reward="False"),
        make_row(1, *STEPS, reward=0),
        {**make_row(1, *STEPS), "reward": 0.0},
        {**make_row(1, *STEPS), "id": "hotpot-dev-1"},
        make_row(1, STEPS[2]),
        make_row(1, *STEPS[:2], ("I know.", "finish[Paris]", "")),
        make_row(1, *STEPS[:2], ("It is so.", "finish[yes]", "")),
        make_row(1, STEPS[0], ("Hm.", "lookup[Holt]", BIRTH), STEPS[2]),
        make_row(1, *STEPS[:1] * 5, *STEPS[1:]),
        make_row(1, ("<think>", *STEPS[0][1:]), *STEPS[1:]),
    ],
)
def test_runs_without_a_grounded_answer_or_of_another_form_are_left_out(row: dict[str, Any]) -> None:
    assert keep_good([row]) == []


def test_a_question_has_one_run() -> None:
    again = {**make_row(1, *STEPS), "id": "others-9"}
    assert len(keep_good([make_row(1, *STEPS), again, make_row(2, *STEPS)])) == 2


@pytest.fixture(scope="module")
def folder(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder with eight runs."""
    rows = [make_row(number, *STEPS) for number in range(8)]
    (data / "trajectories").mkdir()
    with gzip.open(data / "trajectories/traj_fireact.jsonl.gz", "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    return data


RECIPE = Recipe(["hotpotqa"], others=4)


@pytest.fixture(scope="module")
def runs(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[list[Lesson]]:
    file = tmp_path_factory.mktemp("turns") / "lessons.jsonl"
    return make_lessons(RECIPE, Compressor(threads=1), file, folder)


TOOLS = [*search_tools(DocumentIndex({"a": Document("x")})), finish_tool(needs_explanation=True)]


def test_every_turn_is_one_that_the_agent_accepts_and_its_summary_is_inside_its_level(
    runs: list[list[Lesson]],
) -> None:
    made = [turns for turns in runs if turns]
    assert len(made) >= 6
    for first, second, last in made:
        opening = parse_turn(first.summary, TOOLS, needs_summary=False)
        assert (opening.summary, opening.call.arguments) == (
            "",
            {"query": "builder of the ferry of Tarnwick"},
        )
        for lesson in (second, last):
            turn = parse_turn(lesson.summary, TOOLS, needs_summary=True)
            low, high = turn.level.characters
            assert low <= len(turn.summary) <= high
        final = parse_turn(last.summary, TOOLS, needs_summary=True)
        assert (final.call.tool.name, final.call.arguments["answer"]) == ("finish", "Orvelle")


def test_a_summary_quotes_what_the_model_has_read_with_its_docid(runs: list[list[Lesson]]) -> None:
    for turns in filter(None, runs):
        for lesson in turns[1:]:
            read = " ".join(lesson.messages[1]["content"].split())
            summary = parse_turn(lesson.summary, TOOLS, needs_summary=True).summary
            for line in summary.splitlines():
                docid, _, text = line.removeprefix("[").partition("] ")
                assert f"[docid: {docid}]" in read or f"[{docid}]" in read
                assert text.split(". ")[0].rstrip(".") in read
        final = parse_turn(turns[-1].summary, TOOLS, needs_summary=True)
        assert "where he was born on a farm in 1888" in final.summary
        assert all(name in final.summary for name in final.call.arguments["explanation"].split())


def test_turns_that_were_interrupted_go_on(runs: list[list[Lesson]], folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "lessons.jsonl"
    make_lessons(RECIPE, Compressor(threads=1), file, folder)
    whole = file.read_text("utf-8")
    file.write_text(whole[: len(whole) // 2], "utf-8")
    assert make_lessons(RECIPE, Compressor(threads=1), file, folder) == runs
    assert file.read_text("utf-8") == whole
    assert read_lessons(file) == runs


def test_held_out_turns_share_no_question_with_the_others(runs: list[list[Lesson]]) -> None:
    split = hold_out(runs, 4)
    questions = [lesson.messages[1]["content"].splitlines()[1] for lesson in split]
    assert not set(questions[:4]) & set(questions[4:])
    assert len(split) >= sum(map(len, runs)) - 2


def test_a_level_is_never_above_what_the_text_fills() -> None:
    assert choose_level(LEVELS[4], 120) is LEVELS[0]
    assert choose_level(LEVELS[4], 700) is LEVELS[1]
    assert choose_level(LEVELS[0], 700) is LEVELS[0]
    assert choose_level(LEVELS[2], 20) is LEVELS[0]


def test_notes_that_cannot_have_the_length_of_a_level_are_none() -> None:
    assert write_notes(Compressor(threads=1), "Who built it?", {"a": Document("Arno Holt.")}, ["a"]) is None


def test_documents_of_one_title_have_ids_of_their_own() -> None:
    same = [Document("One.", "Arno Holt"), Document("Two.", "Arno Holt"), Document("Three.")]
    for seed in range(6):
        assert len(name_documents(same, random.Random(seed))) == 3


def test_hits_are_read_as_the_search_shows_them() -> None:
    documents = {"a.md": Document("One. Two.\n\nThree.", "First"), "b.md": Document("One four.", "Second")}
    search = search_tools(DocumentIndex(documents))[0]
    found = read_hits(search.run({"query": "One"}))
    assert {docid: hit.title for docid, hit in found.items()} == {"a.md": "First", "b.md": "Second"}
    assert found["a.md"].text == "One. Two.\n\nThree."


def test_a_small_model_learns_turns(
    runs: list[list[Lesson]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load_tiny(base: Path | None) -> tuple[Any, Any]:
        tokenizer = make_tokenizer()
        return make_model(tokenizer), tokenizer

    monkeypatch.setattr(training, "load_causal", load_tiny)
    settings = Settings(
        RECIPE,
        adapter=Adapter(rank=2, alpha=4, layers=1),
        training=Training(learning_rate=1e-2, batch=4, heldout=2, positions=10_000),
    )
    run = Run(tmp_path, identity=asdict(settings))
    before, after = training.train(settings, hold_out(runs, 2), run)["heldout_loss"]
    assert after < before
    assert (tmp_path / "final/adapter_model.safetensors").exists()


def test_the_configuration_is_read_and_its_sources_have_licences() -> None:
    settings = read_settings(Settings, CONFIG)
    assert {*settings.data.passages, "traj_fireact"} <= set(SOURCES)


def test_the_card_says_what_was_learned_and_from_what() -> None:
    facts = {
        "base_model": "owner/base",
        "training_command": "python -m training.agent",
        "data": {"traj_fireact": 40},
        "questions": 15,
        "run": {"examples": 30, "examples_of": 20, "tokens": 1234, "minutes": 6, "heldout_loss": [1.5, 0.5]},
        "parity": {"agreement": 0.99, "tokens": 100, "replies": 2},
        "adapter": {"rank": 16, "alpha": 32, "layers": 8},
    }
    card = render_card("my-agent", facts)
    for part in (
        "owner/base",
        "40 turns, of 15 questions",
        "30 turns of 20, some more than once",
        "99.0 %",
        "| MIT |",
        "1.5 before, 0.5 after",
    ):
        assert " ".join(part.split()) in " ".join(card.split())
