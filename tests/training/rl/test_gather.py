"""Gathering facts: the expert solves it, and only the summary lasts."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.rl.cold_start import record_demonstration
from training.rl.environments.gather import EMPTY, KEYS, WORDS, Gather, GatherEpisode, GatherTask, Line


def make_line(**facts: str) -> Line:
    return tuple(f"{key}:{facts[key]}" if key in facts else "-" for key in KEYS)


def write(head: str, **facts: str) -> list[int]:
    return WORDS.encode(" ".join([head, *make_line(**facts), "."]))


def make_episode(*, room: int = 4) -> GatherEpisode:
    """Two pages; the question asks for amber and cedar."""
    pages = (make_line(amber="river", birch="stone"), make_line(cedar="cloud"))
    return GatherTask("a", make_line(amber="river", cedar="cloud"), pages, Gather(pages=2, room=room)).start()


@given(st.integers(0, 2**32), st.floats(0, 1), st.integers(1, 8), st.floats(0, 1))
def test_the_expert_always_solves_it(seed: int, difficulty: float, pages: int, fill: float) -> None:
    environment = Gather(pages=pages, fill=fill)
    draw = random.Random(seed)
    task = environment.sample(draw, difficulty)
    segments, reward = record_demonstration(environment, task, draw)
    assert reward == 1.0
    qualities = [turn.quality for segment in segments for turn in segment.turns]
    assert len(qualities) == pages
    assert qualities[-1] is None
    assert all(quality is not None and 0 <= quality <= 1 for quality in qualities[:-1])
    for segment in segments:
        assert len(segment.tokens) <= environment.positions


def test_a_turn_reads_the_question_the_summary_and_the_page() -> None:
    episode = make_episode()
    first = WORDS.decode(episode.context())
    assert first == "find amber - cedar - - - known - - - - - - page amber:river birch:stone - - - - more"
    episode.step(write("ultra-coarse", amber="river"))
    second = WORDS.decode(episode.context())
    assert second == "find amber - cedar - - - known amber:river - - - - - page - - cedar:cloud - - - last"
    episode.step(write("answer", amber="river", cedar="cloud"))
    assert (episode.outcome, episode.reward) == ("answered", 1.0)


def test_what_the_summary_leaves_out_is_lost() -> None:
    episode = make_episode()
    episode.step(write("ultra-coarse", birch="stone"))
    assert "amber:river" not in WORDS.decode(episode.context()).split()
    assert episode.facts == {"asked": 2, "kept": 0}


def test_a_summary_loses_what_it_has_no_room_for() -> None:
    episode = make_episode(room=4)
    episode.step(write("coarse", amber="river", birch="stone", daisy="cloud", ember="cloud", grape="cloud"))
    known = make_line(amber="river", birch="stone", daisy="cloud", ember="cloud")
    assert episode.known == known != EMPTY


def test_quality_falls_with_a_lost_fact_and_with_the_wrong_level() -> None:
    def rate(head: str, **facts: str) -> float:
        quality = make_episode().step(write(head, **facts))
        assert quality is not None
        return quality

    kept = rate("ultra-coarse", amber="river")
    assert kept > rate("ultra-coarse", birch="stone")
    assert kept > rate("medium", amber="river")


@pytest.mark.parametrize(
    "reply",
    [
        ["more", *EMPTY, "."],
        ["answer", *EMPTY, "."],
        ["ultra-coarse", *EMPTY],
        ["ultra-coarse", *EMPTY[1:], "."],
        ["ultra-coarse", "-", "amber:river", *EMPTY[2:], "."],
        ["."],
    ],
)
def test_what_is_no_summary_is_malformed(reply: list[str]) -> None:
    episode = make_episode()
    assert episode.step(WORDS.encode(" ".join(reply))) is None
    assert (episode.outcome, episode.reward) == ("malformed", 0.0)


def test_an_answer_with_a_fact_too_many_earns_nothing() -> None:
    episode = make_episode()
    episode.step(write("ultra-coarse", amber="river", birch="stone"))
    episode.step(write("answer", amber="river", birch="stone", cedar="cloud"))
    assert (episode.outcome, episode.reward) == ("answered", 0.0)


def test_a_question_that_no_summary_can_answer_is_refused() -> None:
    with pytest.raises(ValueError, match="can ask for 3 facts"):
        Gather(room=3)
