"""A SQLite file with one connection for all threads, write-ahead logging and versions of its schema."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tersely.errors import InvalidInputError, TerselyError
from tersely.runtime.paths import check_path

BUSY_S = 30.0
"""Seconds to wait while another connection writes."""
PAUSE_S = 0.002
"""Longest pause between two tries to be the one that writes. SQLite's own pauses grow to 0.1 s. Where others
write without a pause, hardly one of those tries meets a moment in which nobody does."""

Migration = Sequence[str | Callable[[sqlite3.Connection], None]]
"""Statements, and functions that change the file through a connection."""
_IN_RAM = ("", ":memory:")
_CANNOT_WRITE = {
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
}


class Database:
    """The database in the file at `path`, which is created if it is missing.

    Opening a file of the newest version writes nothing. A file that cannot be written, because it is
    read-only or the disk is full, is opened for reading; then every transaction raises the error.

    Args:
        migrations: for each version of the schema, the statements that lead to it from the one before. A
            released entry never changes; new ones are added.
        error: raised for every error of SQLite, and for a file of a newer version.
        remedy: makes the remedy, as a sentence, from an error of SQLite.
    """

    def __init__(
        self,
        path: str | Path,
        migrations: Sequence[Migration],
        error: type[TerselyError],
        remedy: Callable[[sqlite3.Error], str],
    ) -> None:
        self.path = path
        self._file = check_path(path, "The file").absolute()
        self._error, self._remedy = error, remedy
        self._lock = threading.RLock()
        _create_private(path)
        self._copy: TemporaryDirectory[str] | None = None
        self._why_read_only: sqlite3.Error | None = None
        with self._translate_errors():
            self.connection = self._connect(path)
        try:
            with self._translate_errors():
                self._open(migrations)
            self.version: int = self._read_version(len(migrations))
            """Version of the file's schema: the newest, except in a file that is open for reading only."""
        except BaseException:
            self.close()
            raise

    def _connect(self, path: str | Path, *, uri: bool = False) -> sqlite3.Connection:
        return sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False, uri=uri)

    def _open(self, migrations: Sequence[Migration]) -> None:
        try:
            if self._read_version(len(migrations)) < len(migrations) or self._mode() not in ("wal", "memory"):
                self._enable_write_ahead()
                self._migrate(migrations)
            self.connection.execute("PRAGMA synchronous = FULL")
        except sqlite3.OperationalError as error:
            primary = error.sqlite_errorcode & 0xFF
            if primary not in _CANNOT_WRITE or not self._has_content():
                raise
            self._why_read_only = error
            self._open_for_reading()

    def _open_for_reading(self) -> None:
        """Raises the last error where no way leads to the file's content."""
        path = Path(self.path).absolute()
        log = path.with_name(f"{path.name}-wal")
        uris = [f"{path.as_uri()}?mode=ro"]
        with contextlib.suppress(OSError):
            if not log.is_file() or not log.stat().st_size:
                uris.append(f"{path.as_uri()}?immutable=1")  # needs no file beside it
            else:
                uris.append(f"{path.as_uri()}?mode=rw")  # with locks of its own, and no file for them
                self._copy = TemporaryDirectory()
                for file in (path, log):
                    shutil.copy(file, self._copy.name)
                uris.append(f"{Path(self._copy.name, path.name).as_uri()}?mode=rw")
        for number, uri in enumerate(uris, 1):
            self.connection.close()
            try:
                self.connection = self._connect(uri, uri=True)
                if "mode=rw" in uri:
                    self.connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                self.connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
                return
            except sqlite3.Error:
                if number == len(uris):
                    raise

    def _has_content(self) -> bool:
        path = Path(self.path)
        with contextlib.suppress(OSError):
            return path.is_file() and path.stat().st_size > 0
        return False

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """All rows that a query returns."""
        with self._lock, self._translate_errors():
            return self.connection.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Write everything inside the `with` block, or nothing if it raises."""
        if why := self._why_read_only:
            raise self._error(f"{self.path} is open for reading only: {why}. {self._remedy(why)}")
        with self._lock, self._translate_errors():
            self._wait_for("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def find_file(self) -> Path:
        """The absolute path, for a copy that opens the same file. Raises the error for a database in RAM."""
        if str(self.path) in _IN_RAM:
            raise self._error("What is in RAM cannot be copied or pickled. Keep it in a file.")
        return self._file

    def close(self) -> None:
        with self._lock:
            self.connection.close()
            if self._copy is not None:
                self._copy.cleanup()

    def _mode(self) -> str:
        return self.connection.execute("PRAGMA journal_mode").fetchone()[0]

    def _read_version(self, newest: int) -> int:
        version = self.connection.execute("PRAGMA user_version").fetchone()[0]
        if version < 0:
            raise self._error(f"{self.path} is damaged: it has version {version}. Restore a copy.")
        if version > newest:
            raise self._error(
                f"{self.path} has version {version}, and this tersely knows {newest}. Update tersely."
            )
        return version

    def _enable_write_ahead(self) -> None:
        # SQLite does not wait for the lock when two processes open a new file at once.
        self._wait_for("PRAGMA journal_mode = WAL")

    def _wait_for(self, statement: str) -> None:
        """Execute a statement that needs the file for itself."""
        deadline = time.monotonic() + BUSY_S
        self.connection.execute("PRAGMA busy_timeout = 0")
        try:
            while True:
                try:
                    self.connection.execute(statement)
                    return
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                        raise
                time.sleep(random.uniform(0, PAUSE_S))
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {int(BUSY_S * 1000)}")

    def _migrate(self, migrations: Sequence[Migration]) -> None:
        newest = len(migrations)
        self._wait_for("BEGIN IMMEDIATE")
        try:
            for statements in migrations[self._read_version(newest) :]:
                for statement in statements:
                    if isinstance(statement, str):
                        self.connection.execute(statement)
                    else:
                        statement(self.connection)
            self.connection.execute(f"PRAGMA user_version = {newest}")
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _translate_errors(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._error(f"{self.path}: {error}. {self._remedy(error)}") from error
        except UnicodeEncodeError as error:
            raise InvalidInputError(
                "A name or an id holds half a character (a lone surrogate). Pass valid Unicode."
            ) from error
        except (UnicodeDecodeError, OverflowError) as error:  # SQLite itself does not look at values
            damage = sqlite3.DatabaseError("the file is malformed, it holds a value that cannot be read")
            raise self._error(f"{self.path}: {damage}. {self._remedy(damage)}") from error


def _create_private(path: str | Path) -> None:
    """Make a missing file that its owner alone can read, from its first moment on. SQLite gives the files
    beside it (-wal, -shm) the same mode. A file that exists keeps its mode."""
    if str(path) in _IN_RAM:
        return
    with contextlib.suppress(OSError):  # it exists, or SQLite will tell what is wrong
        os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
