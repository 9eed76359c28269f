"""Pages of facts that are read one by one; the policy remembers only its summary.

The context of a turn is ZipRL's: only the question, the previous summary and the new page. The question asks
for the facts about some keys, which are on several pages among others. Each key has its place in a line, so
that a tiny policy learns to copy within minutes. A summary names its level and is rated by
`tersely_agents.quality`, the levels scaled down to a few words; the last turn answers. With three keys:

    find amber - cedar known - - - page - birch:glass cedar:river more     ultra-coarse - - cedar:river .
    find amber - cedar known - - cedar:river page amber:cloud - - last     answer amber:cloud - cedar:river .
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any, ClassVar

from tersely_agents.levels import LEVELS
from tersely_agents.quality import quality
from training.rl.environments.words import STOP, Words
from training.rl.trajectory import Outcome

# At least four letters: the quality does not count shorter words as keywords.
KEYS = ("amber", "birch", "cedar", "daisy", "ember", "grape")
VALUES = ("stone", "river", "cloud", "glass")
NOTHING = "-"
"""Placeholder for a key without a fact."""
SCALE = 20
"""Divisor of the bounds of a level, because summaries are shorter here than in the paper."""
SHORT_LEVELS = {
    level.name: replace(
        level,
        characters=(level.characters[0] // SCALE, level.characters[1] // SCALE),
        words=(level.words[0] // SCALE, level.words[1] // SCALE),
        sentences=max(1, level.sentences // SCALE),
    )
    for level in LEVELS
}
FACTS = tuple(f"{key}:{value}" for key in KEYS for value in VALUES)
"""All facts. A fact is one word for the policy and two for the quality."""
WORDS = Words(["find", "known", "page", "more", "last", "answer", NOTHING, *SHORT_LEVELS, *KEYS, *FACTS])

Line = tuple[str, ...]
"""One word per key: a fact about it, or `NOTHING`."""
EMPTY: Line = (NOTHING,) * len(KEYS)


@dataclass(frozen=True, slots=True)
class Gather:
    """The environment (`episode.Environment`).

    Raises ValueError if a question asks for more facts than a summary can hold.
    """

    asked: tuple[int, int] = (2, 4)
    """Minimum and maximum number of keys of a question, at difficulty 0 and 1."""
    pages: int = 6
    fewest_pages: int | None = None
    """Minimum number of pages; their number is drawn for each task, up to `pages`. None gives all tasks
    `pages`."""
    room: int = 4
    """Number of facts that a summary can hold; further ones are lost."""
    fill: float = 0.3
    """Probability that a page has a fact about another key."""
    drop: float = 0.08
    """Probability that a flawed demonstration drops a requested fact, at each turn."""
    hoard: float = 0.1
    """Probability that it keeps another fact."""
    without: str = ""
    """Part of the quality that counts as 0: "ratio", "level", "info" or "sem"; all count by default."""
    history: bool = False
    """True to leave out summaries: the policy reads all pages and answers in its only turn."""

    vocabulary: ClassVar = WORDS.words
    stop: ClassVar = WORDS.stop
    max_reply: ClassVar = len(KEYS) + 2

    def __post_init__(self) -> None:
        most = min(self.room, len(KEYS))
        if self.asked[1] > most:
            raise ValueError(f"A question can ask for {most} facts here, not for {self.asked[1]}.")

    @property
    def positions(self) -> int:
        lines = 1 + (self.pages if self.history else 2)
        return lines * (1 + len(KEYS)) + 1 + self.max_reply

    def sample(self, random: random.Random, difficulty: float) -> GatherTask:
        fewest, most = self.asked
        asked = set(random.sample(range(len(KEYS)), fewest + round(difficulty * (most - fewest))))
        count = random.randint(self.fewest_pages, self.pages) if self.fewest_pages else self.pages
        wanted, pages = list(EMPTY), [list(EMPTY) for _ in range(count)]
        for place in range(len(KEYS)):
            if place in asked:
                wanted[place] = draw_fact(place, random)
                random.choice(pages)[place] = wanted[place]
                continue
            for page in pages:
                if random.random() < self.fill:
                    page[place] = draw_fact(place, random)
        return GatherTask(
            f"gather-{random.getrandbits(48):012x}", tuple(wanted), tuple(tuple(page) for page in pages), self
        )

    def demonstrate(
        self, episode: GatherEpisode, random: random.Random, *, flawed: bool = False
    ) -> Iterator[Sequence[int]]:
        keep = {True: 1 - self.drop, False: self.hoard} if flawed else {True: 1.0, False: 0.0}
        while episode.outcome is None:
            pages = episode.task.pages if self.history else (episode.page,)
            seen = (
                next((fact for fact in facts if fact != NOTHING), NOTHING)
                for facts in zip(episode.known, *pages, strict=True)
            )
            line = [fact if random.random() < keep[fact in episode.task.wanted] else NOTHING for fact in seen]
            head = "answer" if episode.is_last else _choose_level(_join(line))
            yield WORDS.encode(" ".join([head, *line, STOP]))


@dataclass(frozen=True, slots=True)
class GatherTask:
    id: str
    wanted: Line
    """The facts that the question asks for."""
    pages: tuple[Line, ...]
    settings: Gather

    @property
    def question(self) -> Line:
        """Keys that it asks for."""
        return tuple(fact.split(":")[0] for fact in self.wanted)

    def start(self) -> GatherEpisode:
        return GatherEpisode(self)


class GatherEpisode:
    """One rollout (`episode.Episode`). The reward is 1 for an answer with all the facts and no other, else 0.

    facts: `asked`, how many facts the question asks for, and `kept`, how many of them are in the last
    summary.
    """

    def __init__(self, task: GatherTask) -> None:
        self.outcome: Outcome | None = None
        self.reward = 0.0
        self.dropped_turn = False
        self.task = task
        self.known = EMPTY
        """The last summary."""
        self._read = len(task.pages) - 1 if task.settings.history else 0

    @property
    def facts(self) -> Mapping[str, Any]:
        wanted = {*self.task.wanted} - {NOTHING}
        return {"asked": len(wanted), "kept": len(wanted & {*self.known})}

    @property
    def page(self) -> Line:
        """The new page."""
        return self.task.pages[self._read]

    @property
    def is_last(self) -> bool:
        """True if this is the last page, so that the policy should answer."""
        return self._read == len(self.task.pages) - 1

    def context(self) -> Sequence[int]:
        end = "last" if self.is_last else "more"
        lines = [("known", *self.known), ("page", *self.page)]
        if self.task.settings.history:
            lines = [("page", *page) for page in self.task.pages]
        return WORDS.encode(" ".join(["find", *self.task.question, *chain(*lines), end]))

    def step(self, reply: Sequence[int]) -> float | None:
        words = WORDS.decode(reply).split()
        head, line = words[0], tuple(words[1:-1])
        heads = {"answer"} if self.is_last else SHORT_LEVELS.keys()
        if words[-1] != STOP or head not in heads or not _is_line(line):
            self.outcome = "malformed"
            return None
        if self.is_last:
            self.outcome = "answered"
            self.reward = float(line == self.task.wanted)
            return None
        source = _join((*self.known, *self.page))
        self.known = _cut(line, self.task.settings.room)
        self._read += 1
        return _rate(_join(line), source, _join(self.task.question), head, self.task.settings.without)


def draw_fact(place: int, random: random.Random) -> str:
    """Return a fact with any value about the key at this place."""
    return f"{KEYS[place]}:{random.choice(VALUES)}"


def _is_line(words: Sequence[str]) -> bool:
    """Return whether each key has a fact or nothing in its place."""
    return len(words) == len(KEYS) and all(
        word == NOTHING or (word in FACTS and word.startswith(key))
        for key, word in zip(KEYS, words, strict=True)
    )


def _cut(line: Line, room: int) -> Line:
    """Drop the facts that do not fit."""
    places = [place for place, word in enumerate(line) if word != NOTHING][:room]
    return tuple(word if place in places else NOTHING for place, word in enumerate(line))


def _join(words: Iterable[str]) -> str:
    """Return the text for the quality."""
    return " ".join(word for word in words if word != NOTHING)


def _choose_level(text: str) -> str:
    """Return the shortest level that the text fits in."""
    return next(name for name, level in SHORT_LEVELS.items() if len(text) <= level.characters[1])


@lru_cache(maxsize=1 << 14)
def _rate(text: str, source: str, question: str, level: str, without: str) -> float:
    """Return Q_com of a summary, without one of its parts if it is named."""
    rated = quality(text, source, question, SHORT_LEVELS[level])
    return (replace(rated, **{without: 0.0}) if without else rated).total
