"""Lessons that outlive the run in which they were learned (Evolving Rollouts, section 3.4, appendix B).

One SQLite file holds the entries with their vectors (`storage`); a matrix in memory is searched (`vectors`).
Entries that are replaced, forgotten or revoked stay in the file. A replaced entry comes back once its
replacement, the replacement of that one, and so on, are all forgotten or revoked.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tersely.embedding import SentenceEmbedder
from tersely.errors import InvalidInputError
from tersely.inputs import check_count, check_flag, check_list, check_query, check_share, check_text
from tersely_agents.experience import storage, transfer
from tersely_agents.experience.types import DamagedError, Experience, Recalled, Record
from tersely_agents.experience.vectors import (
    Embedder,
    Index,
    Vectors,
    check_embedder,
    embed_experiences,
    embed_texts,
)

logger = logging.getLogger("tersely")

ALPHA, K = 0.5, 5
"""Weight of the query, where 1 - ALPHA is that of the problem; number of experiences recalled (table 3)."""
MERGE_THRESHOLD = 0.90
"""Similarity above which a new experience replaces the most similar one (equation 9, table 3)."""
FORGET_AFTER = 3
"""Number of uses without a success after which `forget` removes an experience. The paper does not give the
number."""


class ExperienceBank:
    """A bank of lessons in the file at `path`. Threads and processes may share it.

    Many members: one for each way to add, recall, count or remove lessons.

    Args:
        path: the file, created if it is missing; ":memory:" for a bank that ends with the process.
        embedder: makes the vectors; None for `SentenceEmbedder()`. A bank with the vectors of another
            embedder is embedded again when it is opened.
        merge_threshold: similarity above which a new experience replaces the most similar one.
        redact_secrets: True to keep keys, tokens and passwords out of the file and of exports.

    Raises:
        ExperienceError: the file cannot be opened or is not a bank.
        InvalidInputError: another argument cannot be used.
    """

    def __init__(
        self,
        path: str | Path,
        embedder: Embedder | None = None,
        *,
        merge_threshold: float = MERGE_THRESHOLD,
        redact_secrets: bool = True,
    ) -> None:
        self.path = path
        self._embedder: Embedder = SentenceEmbedder() if embedder is None else check_embedder(embedder)
        self._merge_threshold = check_share(merge_threshold, "merge_threshold", "Pass one in (0, 1].")
        self._redact_secrets = check_flag(redact_secrets, "redact_secrets")
        self._lock = threading.RLock()
        self._data_version: int | None = None
        """SQLite's number for the state of the file that the index reflects; None if the index must be read
    again."""
        self._index: Index
        self._damaged: dict[str, str] = {}
        self._database = storage.open_database(path)
        self._refresh()

    def __len__(self) -> int:
        """Return the number of experiences that can be recalled."""
        with self._lock:
            self._refresh()
            return len(self._index)

    def add(self, experience: Experience, *, over_success: bool = False) -> Experience:
        """Add an experience. It replaces the most similar one, if their similarity is above the threshold.

        Args:
            experience: a lesson.
            over_success: True if a failure may replace a success. Otherwise both are kept.

        Returns:
            The experience as it is stored, with the id of the one that it replaces.

        Raises:
            InvalidInputError: the bank has or had an experience with this id, or the run was revoked.
            ExperienceError: the embedder gives no vectors of length 1.
        """
        return self.add_all([experience], over_success=over_success)[0]

    def add_all(self, experiences: Sequence[Experience], *, over_success: bool = False) -> list[Experience]:
        """Add the experiences in order, all of them or none; see `add`."""
        experiences = check_list(experiences, Experience, "experiences", "Pass a list of Experience.")
        check_flag(over_success, "over_success")
        revoked = {e.origin.run for e in experiences} & storage.read_revoked_runs(self._database)
        if revoked:
            raise InvalidInputError(
                f"The run {revoked.pop()!r} has been revoked. Leave its experiences out; none can be added."
            )
        return self._add(experiences, self._merge_threshold, over_success)

    def recall(
        self, query: str, problem: str | None = None, *, k: int = K, alpha: float = ALPHA
    ) -> list[Recalled]:
        """Return the experiences that match the query best, best first.

        Args:
            query: what the agent is about to do, or what it cannot solve.
            problem: the task of the agent; None for the query.
            k: the largest number of experiences to recall.
            alpha: weight of the similarity between the query and title and description. The similarity
                between the problem and the experience's problem has the weight 1 - alpha.

        Raises:
            InvalidInputError: an argument cannot be used.
        """
        query = check_query(query)
        k = check_count(k, "k", "experiences")
        if alpha != 0:
            alpha = check_share(alpha, "alpha", "Pass a weight from 0 to 1.")
        asked = [query] if problem is None else [query, check_text(problem, "problem")]
        vectors = embed_texts(self._embedder, asked)
        vector = np.concatenate([alpha * vectors[0], (1 - alpha) * vectors[-1]]).astype(np.float32)
        recalled: list[Recalled] = []
        with self._lock:
            self._refresh()
            for key, score in self._index.search(vector):
                if len(recalled) == k:
                    break
                try:
                    recalled.append(Recalled(storage.read_experience(self._database, key), score))
                except (KeyError, DamagedError):  # another process has changed or damaged the row since
                    self._data_version = None
        return recalled

    def get(self, key: str) -> Experience:
        """Return the experience with this id. Raises KeyError unless the bank has it and can recall it."""
        with self._lock:
            return storage.read_experience(self._database, check_text(key, "key"))

    def record_use(self, keys: Iterable[str], success: bool) -> None:
        """Count a use of each experience, and whether the task succeeded. Unknown ids are ignored."""
        with self._database.transaction() as connection:
            storage.count_use(connection, keys, success)

    def forget(self, after: int = FORGET_AFTER) -> list[str]:
        """Take out experiences with `after` or more uses and no success. Returns their ids."""
        return self._take_out("forgotten", "uses >= ? AND wins = 0", (check_count(after, "after", "uses"),))

    def revoke(
        self, *, key: str | None = None, run: str | None = None, model: str | None = None
    ) -> list[str]:
        """Take out an experience, or all of a run or a model, for good. Returns their ids.

        They cannot be imported again. If only a run is given, nothing from it can be added later. Experiences
        that they had replaced come back.

        Raises:
            InvalidInputError: no argument is given.
        """
        given = {"id": key, "run": run, "model": model}
        conditions = {name: check_text(value, name) for name, value in given.items() if value is not None}
        if not conditions:
            raise InvalidInputError("Nothing is named. Pass key, run or model.")
        if run is not None and key is None and model is None:
            with self._database.transaction() as connection:
                storage.revoke_run(connection, run)
        condition = " AND ".join(f"{name} = ?" for name in conditions)
        return self._take_out("revoked", condition, tuple(conditions.values()))

    def experiences(self) -> list[Experience]:
        """Return all experiences that can be recalled, oldest first."""
        return storage.read_experiences(self._database)

    def removed(self) -> dict[str, str]:
        """Return the ids of experiences that are not recalled, and why: "replaced by <id>", "forgotten" or
        "revoked"."""
        return storage.read_removed(self._database)

    def history(self, key: str) -> list[Record]:
        """Return the experience with this id and those that it replaced, directly or not, newest first.

        Raises KeyError if the bank never had one with this id, or cannot read it.
        """
        records: dict[str, Record] = {}
        at: str | None = check_text(key, "key")
        while at is not None and at not in records:
            record = storage.read_record(self._database, at)
            if record is None:
                break
            records[at] = record
            at = record.experience.origin.replaces
        if not records:
            raise KeyError(key)
        return list(records.values())

    def damaged(self) -> dict[str, str]:
        """Return the ids of experiences with a damaged row, and the damage. They are not recalled."""
        with self._lock:
            self._refresh()
            return dict(self._damaged)

    def export_jsonl(self, path: str | Path) -> int:
        """Write the experiences that can be recalled, one JSON object per line. Returns their number."""
        return transfer.write_jsonl(path, [self._redact(e) for e in self.experiences()])

    def import_jsonl(self, path: str | Path) -> int:
        """Add the experiences in a file of `export_jsonl`. Returns the number of new ones.

        Experiences with a known id or from a revoked run are skipped. Nothing is merged.

        Raises:
            InvalidInputError: a line is not an experience; the message names it, and nothing is added.
        """
        experiences = transfer.read_jsonl(path)
        known = storage.read_ids(self._database)
        revoked = storage.read_revoked_runs(self._database)
        new = [e for e in experiences if e.id not in known and e.origin.run not in revoked]
        return len(self._add(new, None, False))

    def close(self) -> None:
        """Close the file. The bank cannot be used afterwards."""
        self._database.close()

    def __reduce__(self) -> tuple[Any, tuple[object, ...]]:
        """Let copies and pickles open the same file. Raises ExperienceError for a bank in RAM."""
        options = {"merge_threshold": self._merge_threshold, "redact_secrets": self._redact_secrets}
        opener = partial(ExperienceBank, **options)
        return opener, (self._database.find_file(), self._embedder)

    def _add(
        self, experiences: Sequence[Experience], threshold: float | None, over_success: bool
    ) -> list[Experience]:
        if not experiences:
            return []
        experiences = [self._redact(e) for e in experiences]
        rows = embed_experiences(self._embedder, experiences)
        with self._lock:
            try:
                with self._change() as connection:
                    return [
                        self._insert(connection, experience, row, threshold, over_success)
                        for experience, row in zip(experiences, rows, strict=True)
                    ]
            except BaseException:
                self._data_version = None  # the index may hold entries that the file does not
                raise

    def _redact(self, experience: Experience) -> Experience:
        return transfer.redact_experience(experience) if self._redact_secrets else experience

    def _insert(
        self,
        connection: sqlite3.Connection,
        experience: Experience,
        row: Vectors,
        threshold: float | None,
        over_success: bool,
    ) -> Experience:
        old = None
        if threshold is not None:
            old = self._find_replaced(experience, row, threshold, over_success)
            experience = replace(experience, origin=replace(experience.origin, replaces=old))
        storage.insert_experience(connection, experience, row)
        if old is None:
            self._index.add(experience.id, row)
        else:
            storage.set_replacement(connection, old, experience.id)
            self._index.replace(old, experience.id, row)
        return experience

    def _find_replaced(
        self, experience: Experience, row: Vectors, threshold: float, over_success: bool
    ) -> str | None:
        """Return the id of the most similar entry that the experience may replace."""
        vector = row.copy()
        vector[self._embedder.dimension :] = 0  # problems do not count
        for key, _ in self._index.search(vector, threshold):
            with contextlib.suppress(KeyError, DamagedError):
                old = storage.read_experience(self._database, key)
                if experience.success or over_success or not old.success:
                    return key
        return None

    def _take_out(self, reason: str, condition: str, values: tuple[object, ...]) -> list[str]:
        with self._lock:
            with self._change() as connection:
                keys = storage.take_out(connection, reason, condition, values)
            self._data_version = None
            return keys

    def _refresh(self) -> None:
        """Read the index again if another connection has written to the file."""
        version = storage.read_data_version(self._database)
        if self._data_version == version:
            return
        storage.complete_vectors(self._database, self._embedder)
        self._index, damaged = storage.read_index(self._database, self._embedder.dimension)
        for key in damaged.keys() - self._damaged.keys():
            logger.warning("%s: experience %s is left out: %s.", self.path, key, damaged[key])
        self._damaged = damaged
        self._data_version = version

    @contextlib.contextmanager
    def _change(self) -> Generator[sqlite3.Connection]:
        """Begin a transaction in which the index is up to date and no other process writes."""
        while True:
            self._refresh()
            with self._database.transaction() as connection:
                if storage.read_data_version(self._database) == self._data_version:
                    yield connection
                    return
