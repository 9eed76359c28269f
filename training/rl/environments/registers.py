"""A register machine: cells are read one by one and added up; the total is the answer.

The machine tells after each cell whether it was the last one, so the policy cannot know how long a task is.
The context is SUPO's: when it is full, the last turn is taken back, the policy is told to summarise, and
continues from the task and its summary. Every action begins with the running total, so that one step is easy
and the length of the task is what makes it hard.

    sum begin          t0 next .   v3 more   t3 next .   v4 last   t2 answer .
    sum begin          t0 next .   v3 more   summarise   t3 .
    sum begin t3 on    t3 next .   v4 last   t2 answer .
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from training.rl.environments.words import STOP, Words
from training.rl.trajectory import Outcome

BASE = 5
"""Cells and totals are numbers below this base. A guess is correct with probability 1 / BASE."""
ACTIONS = ("next", "look", "answer")
WORDS = Words(
    [
        *("sum", "begin", "on", "more", "last", "nothing", "summarise", *ACTIONS),
        *(f"v{value}" for value in range(BASE)),
        *(f"t{value}" for value in range(BASE)),
    ]
)


@dataclass(frozen=True, slots=True)
class Registers:
    """The environment (`episode.Environment`).

    Raises ValueError for a context too small to hold one turn after a summary.
    """

    cells: tuple[int, int] = (3, 16)
    """Minimum and maximum number of cells of a task, at difficulty 0 and 1."""
    context: int = 56
    """L: tokens at which the context is full."""
    resets: int = 4
    """S: maximum number of summaries of an episode. With 0, a full context ends it, as without SUPO."""
    turns: int = 24
    """H: maximum number of turns of an episode, summaries included."""
    waste: float = 0.4
    """Probability that a flawed demonstration looks again at the cell it has just read."""
    guess: float = 0.01
    """Probability that a flawed demonstration answers before the last cell."""

    vocabulary: ClassVar = WORDS.words
    stop: ClassVar = WORDS.stop
    max_reply: ClassVar = 3

    def __post_init__(self) -> None:
        if self.context < 12:
            raise ValueError(f"A context of {self.context} tokens is too small: give at least 12.")

    @property
    def positions(self) -> int:
        """Maximum number of tokens of a context with its reply: L + 2 L_A + L_O + |v_sum| (SUPO, proposition
        3.1)."""
        return self.context + 2 * self.max_reply + 2 + 1

    def sample(self, random: random.Random, difficulty: float) -> RegisterTask:
        fewest, most = self.cells
        length = fewest + round(difficulty * (most - fewest))
        cells = tuple(random.randrange(BASE) for _ in range(length))
        return RegisterTask(f"registers-{random.getrandbits(48):012x}", cells, self)

    def demonstrate(
        self, episode: RegisterEpisode, random: random.Random, *, flawed: bool = False
    ) -> Iterator[Sequence[int]]:
        while episode.outcome is None:
            total = episode.total
            if episode.summarising:
                yield WORDS.encode(f"t{total} .")
            elif episode.finished or (flawed and random.random() < self.guess):
                yield WORDS.encode(f"t{total} answer .")
            elif flawed and random.random() < self.waste:
                yield WORDS.encode(f"t{total} look .")
            else:
                yield WORDS.encode(f"t{total} next .")


@dataclass(frozen=True, slots=True)
class RegisterTask:
    id: str
    cells: tuple[int, ...]
    settings: Registers

    def start(self) -> RegisterEpisode:
        return RegisterEpisode(self)


class RegisterEpisode:
    """One rollout (`episode.Episode`). The reward is 1 for the right total, else 0.

    facts: `cells`, `resets`, and `context`, the longest context in tokens.
    """

    def __init__(self, task: RegisterTask) -> None:
        self.outcome: Outcome | None = None
        self.reward = 0.0
        self.dropped_turn = False
        self.summarising = False
        self._task = task
        self._beginning = WORDS.encode("sum begin")
        self._context = list(self._beginning)
        self._read = 0
        self._turns = self._resets = self._longest = 0

    @property
    def facts(self) -> Mapping[str, Any]:
        return {"cells": len(self._task.cells), "resets": self._resets, "context": self._longest}

    @property
    def total(self) -> int:
        """Total of the cells that were read, which a perfect policy writes."""
        return sum(self._task.cells[: self._read]) % BASE

    @property
    def finished(self) -> bool:
        """True if the last cell was read."""
        return self._read == len(self._task.cells)

    def context(self) -> Sequence[int]:
        self._longest = max(self._longest, len(self._context))
        return self._context

    def step(self, reply: Sequence[int]) -> float | None:
        """Return the quality of a summary: 1 for the right total, else 0."""
        self.dropped_turn = False
        self._turns += 1
        quality = None
        if self.summarising:
            quality = float(list(reply) == WORDS.encode(f"t{self.total} {STOP}"))
            self._reset(reply)
        else:
            self._act(reply)
        if self.outcome is None and self._turns >= self._task.settings.turns:
            self.outcome = "turns"
        return quality

    def _act(self, reply: Sequence[int]) -> None:
        words = WORDS.decode(reply).split()
        if len(words) != 3 or words[0][0] != "t" or words[1] not in ACTIONS or words[2] != STOP:
            self.outcome = "malformed"
        elif words[1] == "answer":
            self.outcome = "answered"
            self.reward = float(words[0] == f"t{sum(self._task.cells) % BASE}")
        else:
            self._observe(reply, read=words[1] == "next" and not self.finished)

    def _observe(self, reply: Sequence[int], *, read: bool) -> None:
        self._read += read
        longer = [*self._context, *reply, *WORDS.encode(self._status())]
        if len(longer) < self._task.settings.context:
            self._context = longer
            return
        # Drop the last turn, and with it the cell that it read.
        self._read -= read
        self.dropped_turn = True
        if self._resets == self._task.settings.resets:
            self.outcome = "overlong"
            return
        self.summarising = True
        self._context = [*self._context, *WORDS.encode("summarise")]

    def _status(self) -> str:
        if self._read == 0:
            return "nothing more"
        return f"v{self._task.cells[self._read - 1]} {'last' if self.finished else 'more'}"

    def _reset(self, reply: Sequence[int]) -> None:
        words = WORDS.decode(reply).split()
        if len(words) != 2 or words[0][0] != "t" or words[1] != STOP:
            self.outcome = "malformed"
            return
        self.summarising = False
        self._resets += 1
        self._context = [*self._beginning, *reply[:-1], *WORDS.encode("on")]
