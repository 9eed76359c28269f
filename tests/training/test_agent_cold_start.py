"""The agent's cold start: good runs, their rewriting into ZipRL's turns, and the training."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from benchmarks.shared.tasks import Example
from benchmarks.shared.tasks.example import SourceDocument
from tersely import Compressor, Document
from tersely_agents.agent.retrieval import DocumentIndex
from tersely_agents.agent.summary import parse_turn
from tersely_agents.agent.tools import finish_tool, search_tools
from tersely_agents.levels import LEVELS
from tests.sdk.fakes import FakeScorer
from training.agent.card import render_card
from training.agent.examples import Recipe, hold_out, make_lessons, name_documents, read_hits, read_lessons
from training.agent.questions import MOST_SEARCHES, Evidence, LabelledExpert, find_evidence
from training.agent.settings import Settings
from training.agent.teacher import choose_level, write_notes
from training.agent.trajectories import keep_good
from training.causal import Adapter
from training.run import Run
from training.summarizer.examples import Lesson
from training.summarizer.train import Training, train

pytestmark = pytest.mark.filterwarnings("ignore")
"""peft, transformers and torch warn about parts of themselves."""

FERRY = (
    "Arno Holt built the ferry of Tarnwick in 1931, and it still crosses the sound on every day of summer."
)
BIRTH = "Arno Holt was a shipwright of the island of Orvelle, where he was born on a farm in 1888."


def make_row(number: int, *steps: tuple[str, str, str], reward: str = "True", **facts: Any) -> dict[str, Any]:
    """Make a row of the set. A step is a thought, an action and an observation."""
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


def test_good_run_keeps_its_thoughts_searches_and_answer() -> None:
    (run,) = keep_good([make_row(1, *STEPS)])
    queries = ["builder of the ferry of Tarnwick", "Arno Holt birthplace"]
    assert [search.query for search in run.searches] == queries
    assert run.searches[1].found == BIRTH.replace("Orvelle", "Orvelle 1")
    assert (run.thought, run.answer) == ("He was born on Orvelle.", "Orvelle")
    again = {**make_row(1, *STEPS), "id": "others-9"}
    assert len(keep_good([make_row(1, *STEPS), again, make_row(2, *STEPS)])) == 2  # one for each question


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
def test_drops_runs_that_are_ungrounded_or_malformed(row: dict[str, Any]) -> None:
    assert keep_good([row]) == []


RECIPE = Recipe(["hotpotqa"], others=4)
TOOLS = [*search_tools(DocumentIndex({"a": Document("x")})), finish_tool(needs_explanation=True)]
COMPRESSOR = Compressor(threads=1)


@pytest.fixture(scope="module")
def file(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with the turns of six runs."""
    (data / "trajectories").mkdir()
    with gzip.open(data / "trajectories/traj_fireact.jsonl.gz", "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(make_row(number, *STEPS)) + "\n" for number in range(6))
    file = tmp_path_factory.mktemp("turns") / "lessons.jsonl"
    make_lessons(RECIPE, COMPRESSOR, file, data)
    return file


@pytest.fixture
def runs(file: Path) -> list[list[Lesson]]:
    return read_lessons(file)


def test_agent_accepts_every_turn(runs: list[list[Lesson]]) -> None:
    made = [turns for turns in runs if turns]
    assert len(made) >= 4
    for first, *others in made:
        opening = parse_turn(first.summary, TOOLS, needs_summary=False)
        query = {"query": "builder of the ferry of Tarnwick"}
        assert (opening.summary, opening.call.arguments) == ("", query)
        for lesson in others:
            turn = parse_turn(lesson.summary, TOOLS, needs_summary=True)
            low, high = turn.level.characters
            assert low <= len(turn.summary) <= high
        final = parse_turn(others[-1].summary, TOOLS, needs_summary=True)
        assert (final.call.tool.name, final.call.arguments["answer"]) == ("finish", "Orvelle")


def test_summary_quotes_documents_that_the_model_has_read(runs: list[list[Lesson]]) -> None:
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


def test_interrupted_turns_are_completed(
    file: Path, runs: list[list[Lesson]], data: Path, tmp_path: Path
) -> None:
    whole, part = file.read_text("utf-8"), tmp_path / "lessons.jsonl"
    part.write_text(whole[: len(whole) // 2], "utf-8")
    assert make_lessons(RECIPE, COMPRESSOR, part, data) == runs
    assert part.read_text("utf-8") == whole


def test_held_out_turns_share_no_question_with_the_others(runs: list[list[Lesson]]) -> None:
    split = hold_out(runs, 4)
    questions = [lesson.messages[1]["content"].splitlines()[1] for lesson in split]
    assert not set(questions[:4]) & set(questions[4:])
    assert len(split) >= sum(map(len, runs)) - 2


def test_level_is_never_above_what_the_text_fills() -> None:
    for wanted, characters, chosen in ((4, 120, 0), (4, 700, 1), (0, 700, 0), (2, 20, 0)):
        assert choose_level(LEVELS[wanted], characters) is LEVELS[chosen]


def test_writes_no_notes_shorter_than_every_level() -> None:
    assert write_notes(COMPRESSOR, "Who built it?", {"a": Document("Arno Holt.")}, ["a"]) is None


@pytest.mark.parametrize(("longest", "number"), [(700, 2), (1500, 3), (2500, 4), (6000, 5)])
def test_longer_summaries_have_higher_levels(longest: int, number: int) -> None:
    text = " ".join(f"Keeper {n} of the red light wrote this line." for n in range(300))
    notes = write_notes(Compressor(FakeScorer()), "red light", {"a": Document(text)}, [], longest)
    assert notes is not None
    low, high = notes.level.characters
    assert notes.level.number <= number
    assert number < 3 or notes.level.number == number
    assert low <= len(notes.text) <= min(high, longest)


def test_documents_with_the_same_title_get_different_ids() -> None:
    same = [Document("One.", "Arno Holt"), Document("Two.", "Arno Holt"), Document("Three.")]
    assert all(len(name_documents(same, random.Random(seed))) == 3 for seed in range(6))


def test_reads_hits_as_the_search_shows_them() -> None:
    documents = {"a.md": Document("One. Two.\n\nThree.", "First"), "b.md": Document("One four.", "Second")}
    found = read_hits(search_tools(DocumentIndex(documents))[0].run({"query": "One"}))
    assert {docid: hit.title for docid, hit in found.items()} == {"a.md": "First", "b.md": "Second"}
    assert found["a.md"].text == "One. Two.\n\nThree."


@pytest.mark.usefixtures("tiny_causal")
def test_small_model_learns_turns(runs: list[list[Lesson]], tmp_path: Path) -> None:
    steps = Training(learning_rate=1e-2, batch=2, heldout=1, positions=10_000)
    settings = Settings(RECIPE, adapter=Adapter(rank=2, alpha=4, layers=1), training=steps)
    facts = train(
        settings, hold_out([turns[:1] for turns in runs], 1), Run(tmp_path, identity=asdict(settings))
    )
    before, after = facts["heldout_loss"]
    assert after < before
    assert (tmp_path / "final/adapter_model.safetensors").exists()


def check_card(facts: dict[str, Any], *parts: str) -> str:
    """Assert that the card of an agent has these parts, and return it in one line."""
    card = " ".join(render_card("my-agent", facts).split())
    for part in parts:
        assert part in card
    return card


def test_card_counts_turns_and_questions() -> None:
    facts = {
        "base_model": "owner/base",
        "training_command": "python -m training.agent",
        "data": {"hotpotqa": 10, "traj_fireact": 30},
        "questions": 15,
        "levels": {1: 20, 3: 5},
        "search_tokens": 300,
        "blocks": 24,
        "run": {"examples": 30, "examples_of": 20, "tokens": 1234, "minutes": 6, "heldout_loss": [1.5, 0.5]},
        "parity": {"agreement": 0.99, "tokens": 100, "replies": 2},
        "adapter": {"rank": 16, "alpha": 32, "layers": 8},
        "practice": None,
    }
    check_card(
        facts,
        "the cold start alone",
        "40 turns of 15 questions: 10 from hotpotqa, 30 from traj_fireact",
        "20 of level 1, 5 of level 3",
        "30 turns of 20, some more than once",
        "the last 8 of 24 blocks",
        "an expert that knows it",
        "99.0 %",
        "| MIT |",
    )
    facts["practice"] = {
        "algorithm": "hrr",
        "sets": ["hotpotqa"],
        "updates": 3,
        "rollouts": 1200,
        "questions": 150,
        "minutes": 7,
        "device": "a CPU",
        "heldout": 9,
        "reward": [0.25, 0.5],
        "correct": [1 / 3, 2 / 3],
        "command": "python -m training.rl.agent",
    }
    card = check_card(
        facts,
        "then from its own (HRR",
        "3 updates by HRR from 1,200 rollouts on 150 training questions of hotpotqa, in 7 minutes on a CPU",
        "0.333 before, 0.667 after",
        "`python -m training.rl.agent`",
    )
    assert "cold start alone" not in card


LABELLED = Example(
    id="1",
    question="Where was the builder of the ferry of Tarnwick born?",
    answers=("Orvelle",),
    documents=(
        SourceDocument("Ferry of Tarnwick", FERRY, True),
        SourceDocument("Sound (geography)", "A sound is wider than a strait.", False),
        SourceDocument("Arno Holt (shipwright)", BIRTH, True),
    ),
    support=((0, 0, len(FERRY)), (2, 0, len(BIRTH))),
    answer_spans=None,
    findable=True,
)


def make_expert() -> LabelledExpert:
    return LabelledExpert(LABELLED.question, "Orvelle", find_evidence(LABELLED), ["ferry", "sound", "holt"])


def test_expert_searches_for_a_named_title_and_answers_when_all_evidence_is_shown() -> None:
    expert = make_expert()
    first = expert({})
    second = expert({"ferry": Document(FERRY), "sound": Document("A sound is wider than a strait.")})
    last = expert({"holt": Document(f"{BIRTH} He died in 1950.")})
    assert first is not None
    assert second is not None
    assert last is not None
    assert (first.arguments, first.needed) == ({"query": LABELLED.question}, [])
    assert (second.arguments, second.needed) == ({"query": "Arno Holt"}, ["ferry"])
    assert second.think == f"{FERRY} Next I need Arno Holt."
    assert last.arguments == {"answer": "Orvelle", "explanation": "[ferry] [holt]"}
    assert last.think == f"{BIRTH} So the answer is Orvelle."


def test_expert_gives_up_if_nothing_names_the_missing_document() -> None:
    expert = make_expert()
    expert({})
    assert (
        expert({"sound": Document("A sound is wider than a strait.")}) is not None
    )  # the ferry, by the question
    assert expert({"sound": Document("A sound is wider than a strait.")}) is not None
    anonymous = find_evidence(LABELLED)
    anonymous[2] = Evidence("Untold", anonymous[2].sentences)
    expert = LabelledExpert(LABELLED.question, "Orvelle", anonymous, ["ferry", "sound", "holt"])
    expert({})
    assert expert({"ferry": Document(FERRY)}) is None


def test_expert_gives_up_after_four_searches() -> None:
    expert = make_expert()
    assert [expert({}) is None for _ in range(MOST_SEARCHES + 1)] == [False] * MOST_SEARCHES + [True]


def test_half_wide_recipe_makes_turns_of_labelled_questions(data: Path, tmp_path: Path) -> None:
    recipe = Recipe(["hotpotqa"], others=4, trajectories=0, questions=["hotpotqa"], wide=0.5)
    runs = make_lessons(recipe, COMPRESSOR, tmp_path / "lessons.jsonl", data)
    made = [turns for turns in runs if turns]
    assert made
    assert all(turn.source == "hotpotqa" for turns in made for turn in turns)
    for turns in made:
        final = parse_turn(turns[-1].summary, TOOLS, needs_summary=True)
        assert final.call.tool.name == "finish"
