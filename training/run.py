"""One training run: its folder, its clock and its history. Every training program here works on a `Run`.

FOLDER/identity.json    settings that must not change when the run continues
FOLDER/history.jsonl    one line for each step or validation
FOLDER/checkpoint.pt    what a stopped run needs to continue (`training.checkpoint`)
FOLDER/final/           the best weights, and runs.json: the runs that made them
FOLDER/lock             locked while a process trains
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from filelock import FileLock, Timeout
from tqdm import tqdm

Entry = dict[str, Any]
T = TypeVar("T")

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells give it."""
CONTINUE = "Run the same command again to continue from what is saved."


class Clock:
    """The time that a run has taken, in this process and in those before it.

    max_minutes: the time after which the run ends; None for no limit.
    """

    def __init__(self, max_minutes: float | None = None) -> None:
        self._limit = max_minutes * 60 if max_minutes else None
        self._started = time.monotonic()
        self.seconds_before = 0.0
        """Time spent before this process; it comes from the checkpoint."""

    def seconds(self) -> float:
        return self.seconds_before + time.monotonic() - self._started

    def minutes(self) -> int:
        return round(self.seconds() / 60)

    def share(self, done: float) -> float:
        """Return the progress of the run, in [0, 1]: the share of work `done`, or of time if it is more."""
        share = max(done, self.seconds() / self._limit) if self._limit else done
        return min(share, 1.0)

    def seconds_left(self) -> float:
        """Return the time until the limit; infinity without one."""
        return float("inf") if self._limit is None else max(0.0, self._limit - self.seconds())

    def has_time_for(self, seconds: float) -> bool:
        """Return whether this much of the run's time is left; always true without a limit."""
        return self._limit is None or self.seconds() + seconds <= self._limit

    def estimate_left(self, share: float) -> str:
        """Return the minutes that are left when `share` of the run is done, as words for a progress bar."""
        return f"{self.seconds() * (1 - share) / share / 60:.0f} min left" if share else "just started"


class Pace:
    """A divider of a clock's time among the parts of a stage, by their numbers of rows.

    rows: number of all rows.
    """

    def __init__(self, clock: Clock, rows: int) -> None:
        self._clock, self._rows = clock, rows
        self._begin = self._end = 0.0

    def take(self, rows: Sequence[T]) -> Iterator[T]:
        """Yield the rows of a part, at least one, until its share of the time that is left is over."""
        share = len(rows) / max(1, self._rows)
        self._rows -= len(rows)
        self._begin = self._clock.seconds()
        self._end = self._begin + share * self._clock.seconds_left()
        for number, row in enumerate(rows):
            if number and self._clock.seconds() >= self._end:
                return
            yield row

    def is_half_over(self) -> bool:
        """Return whether half of the time of the present part is over."""
        return 2 * self._clock.seconds() >= self._begin + self._end


class Run:
    """The folder of a run, its clock, its history, and the runs that its first weights came from.

    Args:
        max_minutes: the time after which the run ends; None for no limit.
        identity: settings that must be the same each time the run continues.

    Raises ValueError if the folder was made with another identity.
    """

    def __init__(
        self, folder: Path, *, max_minutes: float | None = None, identity: Mapping[str, Any] | None = None
    ) -> None:
        self.folder = folder
        self.final = folder / "final"
        self.clock = Clock(max_minutes)
        self.origins: list[dict[str, Any]] = []
        """The runs that made the weights with which this one started, oldest first."""
        self.writes = True
        """False in all but one of the processes that share a run."""
        self._file = folder / "history.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        # Runs with the same folder in one process share the lock.
        self._file_lock = FileLock(folder / "lock", is_singleton=True)
        if identity is not None:
            self._check_identity(dict(identity))
        self.history: list[Entry] = _read_lines(self._file)

    def record(self, **values: Any) -> Entry:
        """Add an entry to the history."""
        self.history.append(values)
        if self.writes:
            self._lock()
            with open(self._file, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(values) + "\n")
        return values

    def record_validation(self, score: float, save_weights: Callable[[Path], None], **values: Any) -> Entry:
        """Add a validation with its selection score, by which the best weights are chosen.

        If the score is higher than all before, `save_weights` writes the weights to `final` first.
        """
        if not any(score <= entry["selection_score"] for entry in self.validations()):
            save_weights(self.final)
        return self.record(**values, selection_score=score)

    def validations(self) -> list[Entry]:
        """Return the entries that have a selection score, oldest first."""
        return [entry for entry in self.history if "selection_score" in entry]

    def best(self) -> Entry:
        """Return the validation with the highest selection score, the first of equals."""
        return max(self.validations(), key=lambda entry: entry["selection_score"])

    def cut_history(self, length: int) -> None:
        """Drop all entries after the first `length`."""
        del self.history[length:]
        if not self.writes:
            return
        self._lock()
        if self._file.exists():
            write_text(self._file, "".join(json.dumps(entry) + "\n" for entry in self.history))

    def finish(self, facts: Mapping[str, Any]) -> None:
        """Write `runs.json` to `final`; `facts` describe this run."""
        write_text(self.final / "runs.json", json.dumps([*self.origins, dict(facts)], indent=2))

    def _lock(self) -> None:
        """Keep other processes from writing to the folder until this one ends.

        Raises RuntimeError if another process writes to it.
        """
        try:
            self._file_lock.acquire(blocking=False)
        except Timeout:
            raise RuntimeError(
                f"another process trains in {self.folder}: wait until it ends, or name a new folder"
            ) from None

    def _check_identity(self, identity: dict[str, Any]) -> None:
        file = self.folder / "identity.json"
        identity = json.loads(json.dumps(identity))  # tuples become lists, as in the file
        stored = json.loads(file.read_text(encoding="utf-8")) if file.exists() else identity
        if stored != identity:
            raise ValueError(f"{self.folder} was made with {stored}, not {identity}: name a new folder")
        write_text(file, json.dumps(identity))


def run_command(main: Callable[[], int | None], advice: str = CONTINUE) -> NoReturn:
    """Run a program's `main` and exit with its code.

    Ctrl-C exits with 130 and one line, which ends with `advice`. The last checkpoint stays as it is.
    """
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print(f"\nStopped. {advice}", file=sys.stderr)
        sys.exit(INTERRUPTED)


def read_runs(final: Path) -> list[dict[str, Any]]:
    """Return the runs that made the weights in a `final` folder, oldest first."""
    return json.loads((final / "runs.json").read_text(encoding="utf-8"))


def write_text(path: Path, text: str) -> None:
    """Write a whole file or nothing: a reader never sees a part of it."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def read_whole_lines(file: Path) -> list[Any]:
    """Read the JSON of a file's complete lines. If a stopped process left a last line unfinished, remove it
    from the file."""
    if not file.exists():
        return []
    # splitlines() would also split at U+2028, which a JSON string may contain.
    *lines, unfinished = file.read_text(encoding="utf-8").split("\n")
    if unfinished:
        write_text(file, "".join(f"{line}\n" for line in lines))
    return [json.loads(line) for line in lines]


def show_progress(
    stage: str,
    rows: Iterable[Any] | None = None,
    *,
    total: int | None = None,
    done: int = 0,
    unit: str = "it",
    visible: bool = True,
) -> tqdm:
    """Return a bar that names the stage, the part that is done, and the time that is left."""
    return tqdm(rows, desc=stage, total=total, initial=done, unit=unit, mininterval=10, disable=not visible)


def _read_lines(path: Path) -> list[Entry]:
    """Return the whole lines of a history; a line that a killed process left unfinished is not an entry."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]
