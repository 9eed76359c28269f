"""The bank's part of a step of Evolving Rollouts (section 3.4 and appendix B.2)."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from tersely.embedding import SentenceEmbedder
from tersely_agents.chat import ChatError, ChatModel, Message
from tersely_agents.experience import Attempt, Embedder, Experience, ExperienceBank, ExperienceError, extract
from training.rl.algorithms.evolving import has_variance, succeeded
from training.rl.experience.editions import Editions, copy_bank
from training.rl.targets import group_by_task
from training.rl.trajectory import Trajectory

logger = logging.getLogger(__name__)

PARALLEL = 16
"""Number of groups whose lessons are extracted at once."""
RUN = "rollouts"
"""Name of the run of lessons from the policy's own rollouts."""


class Evolution:
    """The bank of a run, as a learner besides the policy (`episode.Learner`).

    `learn` takes lessons from all groups, with any rewards, and consolidates them as equation 9 is
    printed: a new lesson replaces the most similar one above the threshold, whether or not it comes from a
    success. Then it forgets lessons that failed in every use. `publish` makes the bank an edition.

    FOLDER/bank.db        the bank
    FOLDER/steps.jsonl    the figures of each step
    FOLDER/editions/      see `editions`

    Args:
        folder: folder of the run; a run that was stopped continues with its bank.
        start: bank of the cold start.
        extractor: frozen model, not the policy.
        read: returns the messages of a rollout.
        embedder: embedder of the bank; None for its default.

    Raises ValueError if `start` is missing or holds no lesson.
    """

    def __init__(
        self,
        folder: Path,
        start: Path,
        extractor: ChatModel,
        read: Callable[[Trajectory], Sequence[Message]],
        embedder: Embedder | None = None,
    ) -> None:
        self._embedder: Embedder = embedder or SentenceEmbedder()
        self.editions = Editions(folder / "editions", start, self._embedder)
        self._folder, self._extractor, self._read = folder, extractor, read
        self._file = folder / "bank.db"
        if not self._file.exists():
            copy_bank(self.editions.find(self.edition), self._file)
        self._bank = ExperienceBank(self._file, self._embedder)
        with closing(ExperienceBank(self.editions.find(0), self._embedder)) as first:
            self._centre = self._embed(first.experiences()).mean(0)

    @property
    def edition(self) -> int:
        """Number of publications."""
        return self.editions.newest

    def learn(self, trajectories: Sequence[Trajectory]) -> None:
        """Record the uses of lessons, take new ones from all groups, consolidate and forget."""
        groups = [group for group in map(_drop_failed, group_by_task(trajectories).values()) if group]
        before = len(self._bank)
        for trajectory in (t for group in groups for t in group):
            self._bank.record_use(set(trajectory.facts["recalled"]), succeeded(trajectory))
        with ThreadPoolExecutor(PARALLEL) as pool:
            found = list(pool.map(self._extract, groups))
        lessons = [lesson for extracted in found for lesson in extracted or ()]
        added = self._bank.add_all(lessons, over_success=True)
        forgotten = self._bank.forget()
        figures = {
            "edition": self.edition + 1,
            "groups": len(groups),
            "groups_without_variance": sum(not has_variance(group) for group in groups),
            "groups_without_lessons": sum(extracted is None for extracted in found),
            "forgotten": len(forgotten),
            **self._describe(before, added, [t for group in groups for t in group]),
        }
        with open(self._folder / "steps.jsonl", "a", encoding="utf-8") as stream:
            stream.write(json.dumps(figures) + "\n")

    def publish(self) -> None:
        """Make the bank the newest edition."""
        self.editions.publish(self._file)

    def state_dict(self) -> dict[str, Any]:
        return {"edition": self.edition}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go back to the edition of a checkpoint."""
        if state_dict["edition"] == self.edition:
            return
        self.editions.go_back(state_dict["edition"])
        self._bank.close()
        copy_bank(self.editions.find(self.edition), self._file)
        self._bank = ExperienceBank(self._file, self._embedder)

    def _extract(self, group: Sequence[Trajectory]) -> list[Experience] | None:
        """Return the lessons of a group; None if the extractor gives none."""
        facts = group[0].facts
        attempts = [Attempt(list(self._read(t)), min(1.0, max(0.0, t.reward))) for t in group]
        try:
            return extract(
                self._extractor, facts["question"], attempts, expected=facts["answers"][0], run=RUN
            )
        except (ChatError, ExperienceError) as error:
            logger.warning("a group of %r gives no lesson: %s", facts["question"], error)
            return None

    def _describe(
        self, before: int, added: Sequence[Experience], trajectories: Sequence[Trajectory]
    ) -> dict[str, Any]:
        """Return the figures of section 5.2. The paper does not define churn and usage: here churn is the
        changes relative to the size before, and usage the share of turns that recall. Distances are between
        the embeddings, not between points of their t-SNE, and the convex hull is left out."""
        lessons = self._bank.experiences()
        turns = sum(len(t.turns) for t in trajectories)
        vectors = self._embed(added) if added else None
        return {
            "size": len(lessons),
            "changes": len(added),
            "merges": sum(lesson.origin.replaces is not None for lesson in added),
            "churn": len(added) / max(1, before),
            "from_rollouts": sum(lesson.origin.run == RUN for lesson in lessons) / max(1, len(lessons)),
            "from_successes": sum(lesson.success for lesson in lessons) / max(1, len(lessons)),
            "usage": sum(t.facts["recalls"] for t in trajectories) / max(1, turns),
            "reward": fmean(t.reward for t in trajectories) if trajectories else None,
            **({} if vectors is None else self._measure_diversity(vectors)),
        }

    def _measure_diversity(self, vectors: np.ndarray) -> dict[str, float]:
        """Return spread, mean distance of pairs, and mean distance from the first edition's centre."""
        count = len(vectors)
        pairs = np.linalg.norm(vectors[:, None] - vectors[None], axis=-1)
        spread = np.linalg.norm(vectors - vectors.mean(0), axis=1)
        return {
            "spread": float(np.sqrt((spread**2).mean())),
            "pair_distance": float(pairs.sum() / max(1, count * (count - 1))),
            "distance_from_first": float(np.linalg.norm(vectors - self._centre, axis=1).mean()),
        }

    def _embed(self, lessons: Sequence[Experience]) -> np.ndarray:
        return self._embedder.embed([lesson.key_text for lesson in lessons])


def _drop_failed(group: Sequence[Trajectory]) -> list[Trajectory]:
    """Leave out rollouts whose server or tools failed."""
    return [t for t in group if t.outcome not in ("server", "environment")]
