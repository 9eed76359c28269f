"""A SQLite file with one connection for all threads, write-ahead logging and versions of its schema."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from tersely.errors import TerselyError

BUSY_S = 10.0
"""Seconds to wait while another connection writes."""


class Database:
    """The database in the file at `path`, which is created if it is missing.

    Args:
        migrations: for each version of the schema, the statements that lead to it from the one before. A
            released entry never changes; new ones are added.
        error: raised for every error of SQLite, and for a file of a newer version.
        remedy: makes the remedy, as a sentence, from an error of SQLite.
    """

    def __init__(
        self,
        path: str | Path,
        migrations: Sequence[Sequence[str]],
        error: type[TerselyError],
        remedy: Callable[[sqlite3.Error], str],
    ) -> None:
        self.path = path
        self._error, self._remedy = error, remedy
        self._lock = threading.RLock()
        _create_private(path)
        with self._translate_errors():
            self.connection = sqlite3.connect(
                path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
            )
        try:
            with self._translate_errors():
                self._enable_write_ahead()
                self.connection.execute("PRAGMA synchronous = FULL")
            self._migrate(migrations)
        except BaseException:
            self.connection.close()
            raise

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """All rows that a query returns."""
        with self._lock, self._translate_errors():
            return self.connection.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Write everything inside the `with` block, or nothing if it raises."""
        with self._lock, self._translate_errors():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        with self._lock:
            self.connection.close()

    def _enable_write_ahead(self) -> None:
        # SQLite does not wait for the lock when two processes open a new file at once.
        deadline = time.monotonic() + BUSY_S
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _migrate(self, migrations: Sequence[Sequence[str]]) -> None:
        newest = len(migrations)
        with self.transaction() as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > newest:
                raise self._error(
                    f"{self.path} has version {version}, and this tersely knows {newest}. Update tersely."
                )
            for statements in migrations[version:]:
                for statement in statements:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {newest}")

    @contextlib.contextmanager
    def _translate_errors(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._error(f"{self.path}: {error}. {self._remedy(error)}") from error


def _create_private(path: str | Path) -> None:
    """Make a missing file that its owner alone can read, from its first moment on. SQLite gives the files
    beside it (-wal, -shm) the same mode. A file that exists keeps its mode."""
    if str(path) in ("", ":memory:"):
        return
    with contextlib.suppress(OSError):  # it exists, or SQLite will tell what is wrong
        os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
