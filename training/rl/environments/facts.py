"""A base of facts that is searched one fact at a time (RECON): each fact gives the entity of the next search.

The context is RECON's: it grows with each action and its result. A search finds one passage about its entity
among others. In the raw arm the policy reads all of them, in the other a frozen summarizer's text. Text
beyond the window is cut off. Two hops from ada, first raw, then summarised:

    ask two ada   search ada .   found cal:fay ada:bob ...   search bob .   found dan:eve ...   answer gus .
    ask two ada   search ada .   found ada:bob               search bob .   found bob:gus       answer gus .
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from training.rl.environments.words import STOP, Words
from training.rl.trajectory import Outcome

ENTITIES = ("ada", "bob", "cal", "dan", "eve", "fay", "gus", "hal")
HOPS = ("one", "two", "three")
PASSAGES = 5
"""Number of passages that a search finds."""
ACTIONS = 5
"""B: maximum number of actions of an episode, with the answer."""
WORDS = Words(
    [
        *("ask", "search", "answer", "found", "again", *HOPS, *ENTITIES),
        *(f"{subject}:{other}" for subject in ENTITIES for other in ENTITIES if subject != other),
    ]
)
LONGEST = 3 + (ACTIONS - 1) * (3 + 1 + PASSAGES) + 3
"""Tokens of the longest episode without a window."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The environment (`episode.Environment`). Difficulty 0 is one hop, difficulty 1 three.

    Raises ValueError for a window without room for one search and an answer.
    """

    summarise: bool = False
    """True if the policy reads a summary instead of the passages."""
    window: int = LONGEST
    """Maximum number of tokens of a context with its reply."""
    stray: float = 0.2
    """Probability that a flawed demonstration searches for a random entity."""
    early: float = 0.1
    """Probability that it answers before the last hop."""

    vocabulary: ClassVar = WORDS.words
    stop: ClassVar = WORDS.stop
    max_reply: ClassVar = 3

    def __post_init__(self) -> None:
        if self.window < 11:
            raise ValueError(f"A window of {self.window} tokens is too small: give at least 11.")

    @property
    def positions(self) -> int:
        return self.window

    def sample(self, random: random.Random, difficulty: float) -> FactTask:
        hops = 1 + round(difficulty * (len(HOPS) - 1))
        chain = random.sample(ENTITIES, hops + 1)
        base = {
            subject: random.choice([other for other in ENTITIES if other != subject]) for subject in ENTITIES
        }
        base |= dict(pairwise(chain))
        return FactTask(f"facts-{random.getrandbits(48):012x}", tuple(chain), base, self)

    def demonstrate(
        self, episode: FactEpisode, random: random.Random, *, flawed: bool = False
    ) -> Iterator[Sequence[int]]:
        chain = episode.task.chain
        reached = 0
        while episode.outcome is None:
            if reached == len(chain) - 1 or (flawed and random.random() < self.early):
                yield WORDS.encode(f"answer {chain[reached]} .")
            elif flawed and random.random() < self.stray:
                yield WORDS.encode(f"search {random.choice(ENTITIES)} .")
            else:
                yield WORDS.encode(f"search {chain[reached]} .")
                reached += 1


@dataclass(frozen=True, slots=True)
class FactTask:
    id: str
    chain: tuple[str, ...]
    """Entities from the question to the answer."""
    base: Mapping[str, str]
    """The fact about each entity."""
    settings: Facts

    def start(self) -> FactEpisode:
        return FactEpisode(self)

    def search(self, entity: str) -> list[str]:
        """Return the passages that a search for `entity` finds: one about it, the others about entities off
        the chain if there are enough. The same search finds the same."""
        draw = random.Random(f"{self.id} {entity}")
        others = [other for other in ENTITIES if other not in (*self.chain, entity)]
        more = [other for other in self.chain if other != entity]
        others = draw.sample(others, min(PASSAGES - 1, len(others)))
        subjects = [entity, *others, *more[: PASSAGES - 1 - len(others)]]
        draw.shuffle(subjects)
        return [f"{subject}:{self.base[subject]}" for subject in subjects]


class FactEpisode:
    """One rollout (`episode.Episode`). The reward is 1 for the entity at the end of the chain, else 0.

    facts: `hops`, `actions`, `context`, tokens of the longest context, and `cut`, words of passages that did
    not fit in the window.
    """

    def __init__(self, task: FactTask) -> None:
        self.outcome: Outcome | None = None
        self.reward = 0.0
        self.dropped_turn = False
        self.task = task
        self._context = WORDS.encode(f"ask {HOPS[len(task.chain) - 2]} {task.chain[0]}")
        self._actions = self._cut = 0

    @property
    def facts(self) -> Mapping[str, Any]:
        return {
            "hops": len(self.task.chain) - 1,
            "actions": self._actions,
            "context": len(self._context),
            "cut": self._cut,
        }

    def context(self) -> Sequence[int]:
        return self._context

    def step(self, reply: Sequence[int]) -> None:
        self._actions += 1
        match WORDS.decode(reply).split():
            case ["answer", entity, end] if entity in ENTITIES and end == STOP:
                self.outcome = "answered"
                self.reward = float(entity == self.task.chain[-1])
            case ["search", entity, end] if entity in ENTITIES and end == STOP:
                self._observe(reply, ["found", *self._read(entity)])
            case _:
                # RECON corrects an invalid action, and counts it.
                self._observe(reply, ["again"])
        if self.outcome is None and self._actions >= ACTIONS:
            self.outcome = "turns"

    def _read(self, entity: str) -> list[str]:
        passages = self.task.search(entity)
        if not self.task.settings.summarise:
            return passages
        return [passage for passage in passages if passage.startswith(f"{entity}:")]

    def _observe(self, reply: Sequence[int], words: Sequence[str]) -> None:
        room = self.task.settings.window - 3 - len(self._context) - len(reply)
        if room < 1:
            self.outcome = "overlong"
            return
        self._cut += max(0, len(words) - room)
        self._context = [*self._context, *reply, *WORDS.encode(" ".join(words[:room]))]
