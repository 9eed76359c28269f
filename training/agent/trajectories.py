"""Runs of a ReAct agent with a right answer (ZipRL, appendix A: correct and well-formed).

The set is FireAct's (MIT): questions of HotpotQA and others, GPT-4's thoughts and searches, and a search
engine's snippet for each search. Runs on questions of HotpotQA's development part are never read, because
benchmarks ask some of them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.shared.tasks.rows import read_lines
from tersely.metrics import contains_answer, normalize_answer

FILE = "trajectories/traj_fireact.jsonl.gz"
HELD_OUT = "hotpot-dev"
"""Prefix of the ids of questions that benchmarks may ask."""
MOST_SEARCHES = 4
LONGEST_THOUGHT = 300
"""Largest number of characters of a thought."""

_STEP = re.compile(
    r"Thought: (?P<thought>.*?)\nAction: (?P<action>search|finish)\[(?P<value>.*)\]\s*", re.DOTALL
)
_END = re.compile(r"Episode finished, reward = (\w+)")
_OBSERVATION = "Observation: "


@dataclass(frozen=True, slots=True)
class Search:
    thought: str
    query: str
    found: str
    """The snippet that the search returned."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A run that searched at least once."""

    question: str
    searches: tuple[Search, ...]
    thought: str
    """The last thought, before the answer."""
    answer: str


def read_trajectories(data: Path) -> list[Trajectory]:
    """Read the good runs, one for each question, in the order of the file."""
    return keep_good(read_lines(data / FILE))


def keep_good(rows: Iterable[dict[str, Any]]) -> list[Trajectory]:
    chosen: dict[str, Trajectory] = {}
    for row in rows:
        trajectory = None if row["id"].startswith(HELD_OUT) else _read(row)
        if trajectory is not None:
            chosen.setdefault(normalize_answer(trajectory.question), trajectory)
    return list(chosen.values())


def shuffle(trajectories: Iterable[Trajectory], seed: int) -> list[Trajectory]:
    mixed = list(trajectories)
    random.Random(seed).shuffle(mixed)
    return mixed


def read_end(message: str) -> bool | None:
    """Return whether the last message of a run says that it was rewarded; None if it does not say."""
    found = _END.search(message)
    return found and found[1] in ("True", "1")


def _read(row: dict[str, Any]) -> Trajectory | None:
    """Return the run in a row, or None if it is not rewarded, not well-formed, too long, or found no text
    with its answer. This excludes the answers yes and no, which cannot be looked up in a snippet."""
    after = row["messages"][1:]
    said = [m["content"] for m in after if m["role"] == "assistant"]
    found = [m["content"].removeprefix(_OBSERVATION).strip() for m in after if m["role"] == "user"]
    steps = [_STEP.fullmatch(text) for text in said]
    if not found or not read_end(found[-1]) or row["reward"] == 0 or len(found) != len(said):
        return None
    if any(step is None for step in steps):
        return None
    whole = [step for step in steps if step is not None]
    *before, last = whole
    if last["action"] != "finish" or any(step["action"] != "search" for step in before):
        return None
    if not 1 <= len(before) <= MOST_SEARCHES or not all(found):
        return None
    question, answer = row["task"].strip(), last["value"].strip()
    thoughts = [step["thought"].strip() for step in whole]
    if any(len(thought) > LONGEST_THOUGHT or "<" in thought for thought in thoughts) or "\n" in question:
        return None
    if not any(contains_answer(text, (answer,)) for text in (question, *found[:-1])):
        return None
    searches = tuple(
        Search(thought, step["value"].strip(), text)
        for thought, step, text in zip(thoughts, before, found, strict=False)
    )
    return Trajectory(question, searches, thoughts[-1], answer)
