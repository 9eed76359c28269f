"""Families of tasks with a hidden rule, and the experience bank that collects lessons about them.

A family is a colour with an offset as its rule: the tool that solves a task is shape plus offset. So a lesson
about a colour tells how to solve its tasks but not their answers, and helps with shapes that were not tried.
Lessons come from the real `ExperienceBank`, two for each task, at the beginning of the context; they may be
about another colour. No training task has a colour of the test.

    c12 plus o3 c40 not o0 task c12 s4    u1 .
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from tersely_agents.experience import Experience, ExperienceBank
from training.rl.algorithms.evolving import has_variance, succeeded
from training.rl.environments.words import STOP, Words
from training.rl.targets import group_by_task
from training.rl.trajectory import Outcome, Trajectory

COLOURS, TOOLS = 120, 6
SHAPES = TOOLS
UNSEEN = 24
"""Number of colours that no training task and no lesson of the cold start has: new rules for the test."""
RECALLED = 2
WORDS = Words(
    [
        *("task", "plus", "not"),
        *(f"c{number}" for number in range(COLOURS)),
        *(f"s{number}" for number in range(SHAPES)),
        *(f"u{number}" for number in range(TOOLS)),
        *(f"o{number}" for number in range(TOOLS)),
    ]
)
Bank = Literal["none", "static", "evolving"]
Groups = Literal["all", "mixed"]


class Families:
    """The environment (`episode.Environment`), and a learner besides the policy (`episode.Learner`).

    Args:
        rules: seed of the hidden rules, the offset of each colour. bank: "none" recalls nothing, "static"
        recalls lessons of the cold start, "evolving" also learns from rollouts. known: share of the trained
        colours that the cold start has lessons about. learn_from: groups to take lessons from: all, or only
        those whose rewards differ. omitted: share of the tasks that show no lessons. habit: probability that
        a flawed demonstration without a lesson takes the first tool.

    Raises ValueError for an unknown bank or groups.
    """

    stop = WORDS.stop
    max_reply = 2
    positions = 3 * RECALLED + 3 + max_reply
    vocabulary = WORDS.words

    def __init__(
        self,
        *,
        rules: int = 1,
        bank: Bank = "evolving",
        known: float = 0.3,
        learn_from: Groups = "all",
        omitted: float = 0.0,
        habit: float = 0.6,
    ) -> None:
        for value, kind in ((bank, Bank), (learn_from, Groups)):
            if value not in get_args(kind):
                raise ValueError(f"{value!r} is not one of {', '.join(get_args(kind))}")
        self._kind, self._learn_from, self._omitted, self._habit = bank, learn_from, omitted, habit
        draw = random.Random(f"rules {rules}")
        self.offsets = [draw.randrange(TOOLS) for _ in range(COLOURS)]
        """The rule of each colour."""
        self.edition = 0
        self._bank = ExperienceBank(":memory:", WordEmbedder())
        trained = COLOURS - UNSEEN
        colours = draw.sample(range(trained), round(known * trained))
        self._bank.add_all([make_lesson(c, draw.randrange(SHAPES), self.offsets[c], True) for c in colours])

    def sample(self, random: random.Random, difficulty: float) -> FamilyTask:
        """Return a task of a training family. All tasks are equally hard: `difficulty` is ignored."""
        return self._make_task(random, random.randrange(COLOURS - UNSEEN), random.randrange(SHAPES))

    def sample_unseen(self, random: random.Random) -> FamilyTask:
        """Return a task of a family that no training task belongs to, with a shape that `list_practice` does
        not have."""
        colour = COLOURS - 1 - random.randrange(UNSEEN)
        return self._make_task(random, colour, (colour + 1 + random.randrange(SHAPES - 1)) % SHAPES)

    def list_practice(self, random: random.Random) -> list[FamilyTask]:
        """Return one task of each unseen family, from which a bank may learn its rule before the test."""
        return [
            self._make_task(random, colour, colour % SHAPES) for colour in range(COLOURS - UNSEEN, COLOURS)
        ]

    def demonstrate(
        self, episode: FamilyEpisode, random: random.Random, *, flawed: bool = False
    ) -> Iterator[Sequence[int]]:
        tool = episode.task.tool
        if flawed and f"c{episode.task.colour} plus" not in episode.task.lessons:
            tool = 0 if random.random() < self._habit else random.randrange(TOOLS)
        yield WORDS.encode(f"u{tool} .")

    def learn(self, trajectories: Sequence[Trajectory]) -> None:
        """Take a lesson from each group, and record the use of those that were read."""
        if self._kind != "evolving":
            return
        for group in group_by_task(trajectories).values():
            for trajectory in group:
                self._bank.record_use(trajectory.facts["lessons"], succeeded(trajectory))
            if self._learn_from == "all" or has_variance(group):
                self._bank.add(extract_lesson(group))
        self._bank.forget()

    def publish(self) -> None:
        self.edition += 1

    def state_dict(self) -> dict[str, Any]:
        return {"edition": self.edition, "lessons": [e.to_dict() for e in self._bank.experiences()]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self.edition = state_dict["edition"]
        self._bank = ExperienceBank(":memory:", WordEmbedder())
        self._bank.add_all([Experience.from_dict(values) for values in state_dict["lessons"]])

    def _make_task(self, random: random.Random, colour: int, shape: int) -> FamilyTask:
        problem = f"c{colour} s{shape}"
        shown = self._kind != "none" and random.random() >= self._omitted
        recalled = self._bank.recall(problem, k=RECALLED) if shown else []
        return FamilyTask(
            f"family-{random.getrandbits(48):012x}",
            colour,
            shape,
            (shape + self.offsets[colour]) % TOOLS,
            # Put the best match next to the task.
            " ".join(match.experience.content for match in reversed(recalled)),
            tuple(match.experience.id for match in recalled),
        )


@dataclass(frozen=True, slots=True)
class FamilyTask:
    id: str
    colour: int
    shape: int
    tool: int
    lessons: str
    """The recalled lessons, as the policy reads them."""
    keys: tuple[str, ...]
    """Ids of the recalled lessons."""

    def start(self) -> FamilyEpisode:
        return FamilyEpisode(self)


class FamilyEpisode:
    """An episode of one turn: the reward is 1 for the family's tool, else 0."""

    def __init__(self, task: FamilyTask) -> None:
        self.task = task
        self.outcome: Outcome | None = None
        self.reward = 0.0
        self.dropped_turn = False
        self.facts: dict[str, Any] = {"colour": task.colour, "shape": task.shape, "lessons": list(task.keys)}

    def context(self) -> Sequence[int]:
        return WORDS.encode(f"{self.task.lessons} task c{self.task.colour} s{self.task.shape}")

    def step(self, reply: Sequence[int]) -> None:
        tool, *rest = WORDS.decode(reply).split()
        if rest != [STOP] or not tool.startswith("u"):
            self.outcome = "malformed"
            return
        self.outcome = "answered"
        self.facts["tool"] = int(tool[1:])
        self.reward = float(self.facts["tool"] == self.task.tool)


def extract_lesson(group: Sequence[Trajectory]) -> Experience:
    """Extract the lesson of a group: the offset of the tool that succeeded, or if all failed of the one that
    failed most often. The rule does not change while the policy learns."""
    facts = group[0].facts
    right = [t.facts["tool"] for t in group if succeeded(t)]
    tools = right or [t.facts.get("tool", 0) for t in group]
    (tool, _), *_ = Counter(tools).most_common(1)
    return make_lesson(facts["colour"], facts["shape"], (tool - facts["shape"]) % TOOLS, bool(right))


def make_lesson(colour: int, shape: int, offset: int, success: bool) -> Experience:
    verb = "plus" if success else "not"
    # Title and description have only the colour, so that a later lesson about it replaces an earlier one.
    content = f"c{colour} {verb} o{offset}"
    return Experience(f"c{colour}", f"task c{colour}", content, f"c{colour} s{shape}", success)


class WordEmbedder:
    """Embedder that adds a random direction for each word, so that texts with the same words are similar."""

    name = "words"
    dimension = 64

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        vectors = np.stack([sum((_direction(word) for word in text.split()), np.zeros(64)) for text in texts])
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _direction(word: str) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(word.strip(".").encode()).digest()[:8])
    return np.random.default_rng(seed).standard_normal(WordEmbedder.dimension)
