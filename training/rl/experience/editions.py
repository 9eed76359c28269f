"""Published editions of an experience bank: files that never change, and a pointer to the newest.

FOLDER/00000.db    the first edition, a copy of the start
FOLDER/00001.db    the bank after the first step, and so on: section 5.1 pairs them with checkpoints
FOLDER/newest      number of the edition that rollouts read

Processes on several nodes need a file system that they share.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tersely_agents.experience import Embedder, ExperienceBank
from training.run import write_text


class Editions:
    """The editions in a folder. The first is a copy of `start`. `embedder` is the bank's embedder; None for
    its default.

    Raises ValueError if `start` is missing or holds no lesson, because the run would then train without
    lessons.
    """

    def __init__(self, folder: Path, start: Path, embedder: Embedder | None = None) -> None:
        self._folder, self._embedder = folder, embedder
        self._opened: tuple[int, ExperienceBank] | None = None
        if not (folder / "newest").exists():
            _check(start, embedder)
            folder.mkdir(parents=True, exist_ok=True)
            self._write(start, 0)

    @property
    def newest(self) -> int:
        return int((self._folder / "newest").read_text(encoding="ascii"))

    def find(self, edition: int) -> Path:
        """Return the file of an edition."""
        return self._folder / f"{edition:05}.db"

    def read(self) -> ExperienceBank:
        """Open the newest edition. Uses are not recorded in it."""
        newest = self.newest
        if self._opened is None or self._opened[0] != newest:
            self._opened = newest, ExperienceBank(self.find(newest), self._embedder)
        return self._opened[1]

    def publish(self, bank: Path) -> None:
        """Copy a bank as the next edition. Tasks that start from now on read it."""
        self._write(bank, self.newest + 1)

    def go_back(self, edition: int) -> None:
        """Make an older edition the newest, and delete those after it."""
        for late in range(edition + 1, self.newest + 1):
            self.find(late).unlink(missing_ok=True)
        self._point(edition)

    def _write(self, bank: Path, edition: int) -> None:
        copy_bank(bank, self.find(edition))
        self._point(edition)

    def _point(self, edition: int) -> None:
        write_text(self._folder / "newest", str(edition))


def copy_bank(source: Path, target: Path) -> None:
    """Copy a bank that may be open."""
    target.unlink(missing_ok=True)
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


def _check(start: Path, embedder: Embedder | None) -> None:
    remedy = "make one with `python -m training.rl.experience.start`"
    if not start.is_file():
        raise ValueError(f"there is no experience bank {start}: {remedy}")
    with closing(ExperienceBank(start, embedder)) as bank:
        if not len(bank):
            raise ValueError(f"the experience bank {start} holds no lesson: {remedy}")
