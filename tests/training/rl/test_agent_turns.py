"""Questions with their own documents: rewards and counts, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.shared.tasks import Example
from benchmarks.shared.tasks.example import SourceDocument
from tersely_agents.levels import LEVELS
from tersely_agents.quality import quality
from tests.sdk.agents import COMPRESSOR
from training.agent.teacher import write_turn
from training.rl.engines.random_model import make_tokenizer
from training.rl.environments.turns import TurnsEnvironment
from training.rl.language.chat import Chat

CHAT = Chat(make_tokenizer())
KEYS = (
    "Ada holds the spare key of the lighthouse, says the book of the harbour master of Tarnwick, page nine."
)
EXAMPLE = Example(
    id="q1",
    question="Who holds the spare key of the lighthouse?",
    answers=("Ada", "Ada Quill"),
    documents=(
        SourceDocument("Keys", KEYS, None),
        SourceDocument("Pears", "The pears are ripe in September.", None),
    ),
    support=None,
    answer_spans=None,
    findable=True,
)
ENVIRONMENT = TurnsEnvironment(
    CHAT, COMPRESSOR, search_tokens=60, max_turns=3, max_reply=900, positions=20_000
)
SEARCH = write_turn("Hm.", LEVELS[0], "", "search", {"query": "spare key"})


def finish(answer: str, summary: str = KEYS) -> str:
    return write_turn("So.", LEVELS[0], summary, "finish", {"answer": answer, "explanation": "[1.md]"})


def play(*replies: str) -> Any:
    """Return the episode after the replies, and the quality of each."""
    episode = ENVIRONMENT.make_task(EXAMPLE).start()
    qualities = [episode.step([*CHAT.encode(reply), CHAT.stop]) for reply in replies]
    return episode, qualities


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        ("ada", 1.0),
        ("It is Ada", 0.5),  # of three words one is right, and it is all of "Ada": 2 x 1/3 x 1 / (1/3 + 1)
        ("Ada Holt Quill", 0.8),  # two of three, and all of "Ada Quill": 2 x 2/3 x 1 / (2/3 + 1)
        ("Holt", 0.0),
    ],
)
def test_reward_is_the_f1_of_the_best_answer(answer: str, reward: float) -> None:
    episode, _ = play(SEARCH, finish(answer))
    assert episode.outcome == "answered"
    assert episode.reward == pytest.approx(reward)


def test_broken_form_and_no_answer_earn_nothing() -> None:
    broken, _ = play(SEARCH, "Ada holds it.")
    assert (broken.outcome, broken.reward) == ("malformed", 0.0)
    assert (broken.facts["replies"], broken.facts["well_formed"], broken.facts["correct"]) == (2, 1, False)
    again = write_turn("Hm.", LEVELS[0], KEYS, "search", {"query": "key"})
    endless, _ = play(SEARCH, again, again)
    assert (endless.outcome, endless.reward) == ("turns", 0.0)
    assert (endless.facts["summaries"], endless.facts["inside"]) == (2, 2)


def test_rates_the_summary_of_what_the_selector_keeps() -> None:
    result = play(SEARCH)[0].state.result
    assert KEYS in result
    episode, qualities = play(SEARCH, finish("Ada", "Ada holds the key."))
    assert qualities == [None, quality("Ada holds the key.", result, EXAMPLE.question, LEVELS[0]).total]
    assert (episode.facts["summaries"], episode.facts["inside"]) == (1, 0)
    assert episode.facts["correct"]
