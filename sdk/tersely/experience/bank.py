"""Lessons that outlive the run they were learned in (Evolving Rollouts, section 3.4 and appendix B).

One SQLite file holds the entries with their vectors; an index in memory finds them. Nothing is ever lost
without trace: what is replaced, forgotten or revoked stays in the file with the reason, and is not found
again.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import uuid
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tersely.embedding import SentenceEmbedder
from tersely.errors import InvalidInputError
from tersely.experience.index import ExactIndex, Index
from tersely.experience.types import Embedder, Experience, ExperienceError, Recalled, Vectors
from tersely.inputs import check_count, check_query
from tersely.runtime.database import Database
from tersely.runtime.jsonl import numbered_lines

ALPHA = 0.5
"""Weight of the query against the problem (table 3)."""
K = 5
"""Experiences recalled (table 3)."""
MERGE_THRESHOLD = 0.90
"""Similarity above which a new experience takes the place of the most similar one (equation 9, table 3)."""
FORGET_AFTER = 3
"""Uses, all of them failures, after which `forget` takes an experience out; the paper leaves the number
open."""

_MIGRATIONS = (
    (
        """CREATE TABLE experiences (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            entry TEXT NOT NULL,
            run TEXT,
            model TEXT,
            uses INTEGER NOT NULL,
            wins INTEGER NOT NULL,
            vectors BLOB,
            gone TEXT
        )""",
        "CREATE INDEX by_run ON experiences (run)",
        "CREATE INDEX by_model ON experiences (model)",
        "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    ),
)

_CONTENTS = "contents"
"""Name, in the table of facts, of what changes with the vectors."""
_REVOKED = "revoked run "
"""Before a run's name, in the table of facts."""


class ExperienceBank:
    """The bank in the file at `path`, made where it is missing; ":memory:" for one that ends with the
    process.

    Safe to share between threads; other processes' changes are seen with the next call.

    Args:
        embedder: makes the vectors; `SentenceEmbedder()` where None. A bank that was filled with another one
            is embedded again, once.
        index: makes an empty index for vectors of a dimension; `FaissIndex` where faiss is installed.
        merge_threshold: similarity above which a new experience replaces the most similar one.

    Raises:
        ExperienceError: the file cannot be opened or is no bank.
    """

    def __init__(
        self,
        path: str | Path,
        embedder: Embedder | None = None,
        *,
        index: Callable[[int], Index] = ExactIndex,
        merge_threshold: float = MERGE_THRESHOLD,
    ) -> None:
        if not 0 < merge_threshold <= 1:
            raise InvalidInputError(f"merge_threshold is {merge_threshold}. Pass a similarity in (0, 1].")
        self.path = path
        self._embedder: Embedder = embedder or SentenceEmbedder()
        self._make_index = index
        self._merge_threshold = merge_threshold
        self._lock = threading.RLock()
        self._seen: int | None = None
        """The file's data version that the index holds; SQLite raises it for other connections' changes."""
        self._contents: list[Any] = []
        """The mark of the vectors that the index holds."""
        self._index: Index = index(self._embedder.dimension)
        self._ids: list[str] = []
        self._places: dict[str, int] = {}
        self._database = Database(path, _MIGRATIONS, ExperienceError, _remedy)
        self._refresh()

    def __len__(self) -> int:
        """Experiences that can be recalled."""
        with self._lock:
            self._refresh()
            return len(self._ids)

    def add(self, experience: Experience) -> Experience:
        """Take an experience in; where one is more alike than the merge threshold, the most similar gives
        way.

        Returns it as it is kept, with what it replaced. Raises InvalidInputError for an id that is known
        already, also where it was revoked.
        """
        return self.add_all([experience])[0]

    def add_all(self, experiences: Sequence[Experience]) -> list[Experience]:
        """`add` for each, in order; all of them or none."""
        barred = {e.origin.run for e in experiences} & self._revoked_runs()
        if barred:
            raise InvalidInputError(f"The run {barred.pop()!r} has been revoked. Nothing of it can be added.")
        return self._add(experiences, merge=True)

    def _add(self, experiences: Sequence[Experience], *, merge: bool) -> list[Experience]:
        if not experiences:
            return []
        texts = [e.key_text for e in experiences]
        vectors = self._embedder.embed([*texts, *(e.problem for e in experiences)])
        with self._lock:
            try:
                with self._changing() as connection:
                    own, problems = vectors[: len(texts)], vectors[len(texts) :]
                    return [
                        self._insert(connection, *row, merge=merge)
                        for row in zip(experiences, own, problems, strict=True)
                    ]
            except BaseException:
                self._seen = None  # the index may be ahead of the file
                raise

    def recall(
        self, query: str, problem: str | None = None, *, k: int = K, alpha: float = ALPHA
    ) -> list[Recalled]:
        """The experiences that serve the query best, best first.

        Args:
            query: what the agent is about to do, or is stuck with.
            problem: the task it works on; the query where None.
            k: most of them.
            alpha: weight of the query's similarity to title and description, against the problem's to the
                problem that taught the experience.
        """
        query = check_query(query)
        k = check_count(k, "k", "experiences")
        if not 0 <= alpha <= 1:
            raise InvalidInputError(f"alpha is {alpha}. Pass a weight from 0 to 1.")
        wanted = self._embedder.embed([query] if problem is None else [query, problem])
        with self._lock:
            self._refresh()
            found = self._index.search(wanted[0], wanted[-1], alpha, k)
            recalled: list[Recalled] = []
            for place, score in found:
                with contextlib.suppress(KeyError):  # taken out by another process since
                    recalled.append(Recalled(self._read(self._ids[place]), score))
            return recalled

    def get(self, key: str) -> Experience:
        """The experience with this id. Raises KeyError where there is none, or no longer."""
        with self._lock:
            return self._read(key)

    def record_use(self, keys: Iterable[str], success: bool) -> None:
        """Count a use of each, and whether the task succeeded; ids that are gone are passed over."""
        rows = [(int(success), key) for key in keys]
        with self._database.transaction() as connection:
            connection.executemany(
                "UPDATE experiences SET uses = uses + 1, wins = wins + ? WHERE id = ?", rows
            )

    def forget(self, after: int = FORGET_AFTER) -> list[str]:
        """Take out what has been used at least `after` times and never helped; the ids."""
        after = check_count(after, "after", "uses")
        return self._take_out("forgotten", "uses >= ? AND wins = 0", (after,))

    def revoke(
        self, *, key: str | None = None, run: str | None = None, model: str | None = None
    ) -> list[str]:
        """Take out one experience, or all of a run or a model, for good: they cannot be imported again, and
        of a run nothing can be added any more. The ids."""
        given = {"id": key, "run": run, "model": model}
        named = {name: value for name, value in given.items() if value is not None}
        if not named:
            raise InvalidInputError("Nothing is named. Pass key, run or model.")
        if run is not None and key is None and model is None:
            with self._database.transaction() as connection:
                connection.execute("INSERT OR IGNORE INTO facts VALUES (?, '')", (_REVOKED + run,))
        where = " AND ".join(f"{name} = ?" for name in named)
        return self._take_out("revoked", where, tuple(named.values()))

    def experiences(self) -> list[Experience]:
        """All that can be recalled, oldest first."""
        rows = self._database.rows(
            "SELECT entry, uses, wins FROM experiences WHERE gone IS NULL ORDER BY number"
        )
        return [_experience(*row) for row in rows]

    def history(self) -> dict[str, str]:
        """Ids that can no longer be recalled, and why: "replaced by <id>", "forgotten", "revoked"."""
        return dict(self._database.rows("SELECT id, gone FROM experiences WHERE gone IS NOT NULL"))

    def export_jsonl(self, path: str | Path) -> int:
        """Write what can be recalled, one JSON object a line; how many."""
        found = self.experiences()
        partial = Path(f"{path}.partial")
        partial.write_text("".join(json.dumps(e.to_dict()) + "\n" for e in found), encoding="utf-8")
        partial.replace(path)
        return len(found)

    def import_jsonl(self, path: str | Path) -> int:
        """Add what `export_jsonl` wrote; how many were new. Known ids are passed over, those that are gone
        too, and so is everything of a run that was revoked.

        Raises InvalidInputError naming a line that is no experience; nothing has been added then.
        """
        found: list[Experience] = []
        for number, line in numbered_lines(Path(path)):
            try:
                found.append(Experience.from_dict(json.loads(line)))
            except (ValueError, AttributeError) as error:
                raise InvalidInputError(f"{path}, line {number}: {error}") from error
        known = {row[0] for row in self._database.rows("SELECT id FROM experiences")}
        barred = self._revoked_runs()
        new = [e for e in found if e.id not in known and e.origin.run not in barred]
        return len(self._add(new, merge=False))

    def close(self) -> None:
        self._database.close()

    def _insert(
        self,
        connection: sqlite3.Connection,
        experience: Experience,
        own: Vectors,
        problem: Vectors,
        *,
        merge: bool,
    ) -> Experience:
        near = self._index.nearest(own) if merge else None
        if near is not None and near[1] > self._merge_threshold:
            place, old = near[0], self._ids[near[0]]
            experience = replace(experience, origin=replace(experience.origin, replaces=old))
            connection.execute(
                "UPDATE experiences SET gone = ?, vectors = NULL WHERE id = ?",
                (f"replaced by {experience.id}", old),
            )
            del self._places[old]
            self._index.replace(place, own, problem)
            self._ids[place] = experience.id
        else:
            place = len(self._ids)
            self._index.add(own[None], problem[None])
            self._ids.append(experience.id)
        self._places[experience.id] = place
        try:
            connection.execute(
                "INSERT INTO experiences (id, entry, run, model, uses, wins, vectors) VALUES (?,?,?,?,?,?,?)",
                (
                    experience.id,
                    json.dumps(experience.to_dict()),
                    experience.origin.run,
                    experience.origin.model,
                    experience.uses,
                    experience.wins,
                    np.concatenate([own, problem]).astype("<f4").tobytes(),
                ),
            )
        except sqlite3.IntegrityError as error:
            raise InvalidInputError(
                f"The id {experience.id!r} is known, or has been revoked. Leave the id out to get a new one."
            ) from error
        return experience

    def _take_out(self, reason: str, where: str, values: tuple[object, ...]) -> list[str]:
        with self._lock:
            with self._changing() as connection:
                rows = connection.execute(
                    "UPDATE experiences SET gone = ?, vectors = NULL "
                    f"WHERE gone IS NULL AND {where} RETURNING id",
                    (reason, *values),
                ).fetchall()
            keys = [row[0] for row in rows]
            for key in keys:
                place = self._places.pop(key)
                last = self._ids.pop()
                self._index.remove(place)
                if last != key:
                    self._ids[place] = last
                    self._places[last] = place
            return keys

    def _revoked_runs(self) -> set[str | None]:
        rows = self._database.rows("SELECT name FROM facts WHERE name LIKE ?", (f"{_REVOKED}%",))
        return {name.removeprefix(_REVOKED) for (name,) in rows}

    def _read(self, key: str) -> Experience:
        rows = self._database.rows(
            "SELECT entry, uses, wins FROM experiences WHERE id = ? AND gone IS NULL", (key,)
        )
        if not rows:
            raise KeyError(key)
        return _experience(*rows[0])

    def _refresh(self) -> None:
        """Fill the index again where the file has changed without us."""
        version = self._data_version()
        if self._seen == version:
            return
        if self._seen is not None and self._marked() == self._contents != []:  # uses were counted, no more
            self._seen = version
            return
        self._embed_again()
        self._contents = self._marked()
        rows = self._database.rows("SELECT id, vectors FROM experiences WHERE gone IS NULL ORDER BY number")
        index = self._make_index(self._embedder.dimension)
        if rows:
            joined = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4").reshape(len(rows), -1)
            half = joined.shape[1] // 2
            index.add(joined[:, :half], joined[:, half:])
        self._index = index
        self._ids = [row[0] for row in rows]
        self._places = {key: place for place, key in enumerate(self._ids)}
        self._seen = version

    def _marked(self) -> list[Any]:
        """What `_mark` has left in the file."""
        return self._database.rows("SELECT value FROM facts WHERE name = ?", (_CONTENTS,))

    def _embed_again(self) -> None:
        """Make the vectors of a bank that another embedder filled, or whose vectors are missing."""
        name = f"{self._embedder.name} {self._embedder.dimension}"
        known = self._database.rows("SELECT value FROM facts WHERE name = 'embedder'")
        size = 2 * 4 * self._embedder.dimension
        stale = "" if known != [(name,)] else f"AND (vectors IS NULL OR length(vectors) != {size})"
        rows = self._database.rows(f"SELECT id, entry FROM experiences WHERE gone IS NULL {stale}")
        if not rows and stale:
            return
        changes: list[tuple[bytes, str]] = []
        if rows:
            found = [Experience.from_dict(json.loads(entry)) for _, entry in rows]
            vectors = self._embedder.embed([*(e.key_text for e in found), *(e.problem for e in found)])
            both = np.hstack([vectors[: len(found)], vectors[len(found) :]]).astype("<f4")
            changes = [(row.tobytes(), key) for row, (key, _) in zip(both, rows, strict=True)]
        with self._database.transaction() as connection:
            connection.executemany("UPDATE experiences SET vectors = ? WHERE id = ?", changes)
            connection.execute("INSERT OR REPLACE INTO facts VALUES ('embedder', ?)", (name,))
            _mark(connection)

    @contextlib.contextmanager
    def _changing(self) -> Generator[sqlite3.Connection]:
        """A transaction in which the index is up to date and nobody else writes."""
        while True:
            self._refresh()
            with self._database.transaction() as connection:
                if self._data_version() == self._seen:
                    yield connection
                    self._contents = _mark(connection)
                    return

    def _data_version(self) -> int:
        return self._database.rows("PRAGMA data_version")[0][0]


def _mark(connection: sqlite3.Connection) -> list[Any]:
    """Say in the file that there are other vectors now; what it says then."""
    value = uuid.uuid4().hex
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_CONTENTS, value))
    return [(value,)]


def _remedy(_: sqlite3.Error) -> str:
    return "Check the file, its folder and the free space."


def _experience(entry: str, uses: int, wins: int) -> Experience:
    return replace(Experience.from_dict(json.loads(entry)), uses=uses, wins=wins)
