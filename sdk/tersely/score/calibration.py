"""Find a threshold for a recall, by conformal risk control.

A calibration holds one number per question: the score of its best answer sentence. A threshold above this
score loses the answer. Conformal risk control (Angelopoulos et al., 2022, with the 0-1 loss "the answer
sentence is lost") picks the highest threshold whose share of lost questions, corrected for the size of the
set, is at most 1 - recall. For a new question like the ones in the set, the probability of losing the answer
sentence is then at most 1 - recall. The guarantee of the bundled set is approximate, because the set is
cross-fitted, and the weights were chosen on the same questions. `benchmarks/RESULTS.md` measures how it holds
on other questions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tersely.runtime.artifacts import Artifact

FILE = "calibration.json"
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Calibration:
    """Scores of answer sentences, ascending, one per calibration question."""

    scores: tuple[float, ...]
    questions: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of questions by data set, for people to read."""

    def __post_init__(self) -> None:
        if not self.scores or any(not 0 <= s <= 1 for s in self.scores):
            raise ValueError("a calibration needs scores in [0, 1], at least one")
        object.__setattr__(self, "scores", tuple(sorted(self.scores)))

    @property
    def highest_recall(self) -> float:
        """The highest recall that a set of this size can promise, rounded down to four digits."""
        return math.floor(1e4 * (1 - 1 / (len(self.scores) + 1)) + 1e-9) / 1e4

    def threshold(self, recall: float) -> float:
        """Return the highest threshold with (questions lost + 1) / (questions + 1) <= 1 - recall.

        Raises ValueError for a recall that a set of this size cannot promise.
        """
        return self.scores[self._count_lost(recall)]

    def interval(self, recall: float) -> tuple[float, float]:
        """Return the 95 % interval of the share of new questions for which the threshold keeps the answer.

        The mean of this share over all calibrations of this size is `recall`; for one calibration, the share
        has a beta distribution. Raises ValueError as `threshold` does.
        """
        lost = self._count_lost(recall) + 1
        return make_interval(len(self.scores) + 1 - lost, lost)

    def _count_lost(self, recall: float) -> int:
        """Return the largest number of questions that may score below the threshold."""
        lost = math.floor((1 - recall) * (len(self.scores) + 1) + 1e-9) - 1
        if lost < 0:
            raise ValueError(f"{len(self.scores)} questions can promise {self.highest_recall:.4f} at most")
        return min(lost, len(self.scores) - 1)

    def to_dict(self) -> dict[str, Any]:
        return {"questions": dict(self.questions), "scores": [math.floor(s * 1e6) / 1e6 for s in self.scores]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Calibration:
        """Read an object from the values of `to_dict`. Raises KeyError, TypeError or ValueError for anything
        else."""
        return cls(tuple(map(float, values["scores"])), dict(values["questions"]))


def make_interval(inside: int, outside: int) -> tuple[float, float]:
    """Return the 95 % interval of a share that has a beta distribution with these two parameters."""
    if not inside:
        return 0.0, 0.0
    low, high = np.quantile(np.random.default_rng(0).beta(inside, outside, 100_000), (0.025, 0.975))
    return float(low), float(high)


def read_part(artifact: Artifact, file: str, read: Callable[[Any], Value]) -> Value | None:
    """Read a JSON file of a model; None if its manifest lists none. Raises ValueError for a damaged file."""
    if not artifact.lists(file):
        return None
    try:
        return read(json.loads(artifact.file(file).read_text(encoding="utf-8")))
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{file} lacks {error}") from error


def read_calibration(artifact: Artifact) -> Calibration | None:
    """Read a model's calibration; see `read_part`."""
    return read_part(artifact, FILE, Calibration.from_dict)


def write_calibration(artifact: Path, calibration: Calibration) -> None:
    """Write the file into a model folder. Call `write_manifest` afterwards: the manifest has its checksum."""
    (artifact / FILE).write_text(json.dumps(calibration.to_dict()) + "\n", encoding="utf-8")
