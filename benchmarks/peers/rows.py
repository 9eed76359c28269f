"""Rows of the comparison with peers, as they are recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.peers.catalogue import BY_NAME
from benchmarks.shared.environment import Environment

OURS = "tersely"
ALL = "all documents"
UNCOMPRESSED = 1.0
TIMED = 0.25
"""The rate at which tersely and its controls are timed, and at which untrained peers run."""

Kind = Literal["ours", "whole", "peer"]
"""tersely or a control in its packer; no compression; another compressor."""


@dataclass(frozen=True, slots=True)
class SystemRow:
    """One system, and what it needs to run."""

    name: str
    kind: Kind
    version: str | None = None
    load_seconds: float | None = None
    installed_bytes: int | None = None
    """Of the package with everything that it requires, without weights."""
    peak_bytes: int | None = None
    """Most resident RAM of its process."""
    failures: tuple[str, ...] = ()
    """Errors of single calls, for which all documents were taken."""
    failed: str | None = None
    """Why the peer gave no result at all."""

    @property
    def is_trained(self) -> bool:
        """Whether its output means anything; False for peers with random weights."""
        return self.name not in BY_NAME or BY_NAME[self.name].is_trained

    @property
    def is_timed(self) -> bool:
        """Whether its times mean anything; the embeddings of the MiniLM controls come from a file."""
        return self.kind != "whole" and not self.name.startswith("MiniLM")


@dataclass(frozen=True, slots=True)
class PeerCell:
    """One system at one budget on one task, with a value for each question."""

    system: str
    task: str
    budget: float
    """Share of the tokens that the system should keep."""
    kept: tuple[int, ...]
    """1 if an answer stands in the output, else 0."""
    rate: tuple[float, ...]
    """Share of the tokens that the output has."""
    seconds: tuple[float, ...]
    f1: dict[str, tuple[float | None, ...]]
    """By reader, the token F1 of its answers; None where the reader failed."""
    tersely_kept: tuple[int, ...] | None = None
    """Of a peer: whether tersely keeps an answer in as many tokens as the peer's output has."""


@dataclass(frozen=True, slots=True)
class PeersRun:
    """One run of `python -m benchmarks.peers`."""

    benchmark: str
    model: str
    seed: int
    environment: Environment
    readers: tuple[str, ...]
    systems: tuple[SystemRow, ...]
    cells: tuple[PeerCell, ...]

    @property
    def tasks(self) -> list[str]:
        """The tasks that ran, in order."""
        return list(dict.fromkeys(cell.task for cell in self.cells))

    def list_cells(self, system: str) -> list[PeerCell]:
        """The cells of a system; none where it failed as a whole."""
        return [cell for cell in self.cells if cell.system == system]

    def find_cell(self, system: str, task: str, budget: float) -> PeerCell | None:
        """The cell of a system on a task at a budget, if it was measured."""
        rows = (c for c in self.cells if (c.system, c.task, c.budget) == (system, task, budget))
        return next(rows, None)
