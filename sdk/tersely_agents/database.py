"""SQLite files: one connection for all threads, write-ahead logging, versions of the schema, recovery."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tersely.errors import InvalidInputError, TerselyError
from tersely.runtime.paths import check_path

TIMEOUT_S = 30.0
"""Time to wait for another connection that writes."""

_NO_RECOVERY = (
    "More may be left: install a sqlite3 command that can .recover, from sqlite.org or Homebrew (Debian's "
    "and Ubuntu's may not), and run `tersely doctor` again"
)
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

    Opening an existing file writes nothing. A file that cannot be written, because it is read-only or the
    disk is full, is opened for reading; then every transaction raises the error.

    Args:
        version: number of the schema, which the file keeps.
        schema: the statements that make it.
        error: raised for every error of SQLite, and for a file of another version.
        remedy: returns the remedy for an error of SQLite, as a sentence.
    """

    def __init__(
        self,
        path: str | Path,
        version: int,
        schema: Sequence[str],
        error: type[TerselyError],
        remedy: Callable[[sqlite3.Error], str],
    ) -> None:
        self.path = path
        self._file = check_path(path, "The file").absolute()
        self._error, self._remedy = error, remedy
        self._lock = threading.RLock()
        self._write_error: sqlite3.Error | None = None
        """The reason why the file is open for reading only; None if it is not."""
        _create_private(path)
        with self._translate_errors():
            self.connection = self._connect(path)
            try:
                self._open(version, schema)
            except BaseException:
                self.connection.close()
                raise

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        with self._lock, self._translate_errors():
            return self.connection.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Write everything inside the `with` block, or nothing if it raises."""
        if error := self._write_error:
            raise self._error(f"{self.path} is open for reading only: {error}. {self._remedy(error)}")
        with self._lock, self._translate_errors(), self.connection:
            self.connection.execute("BEGIN IMMEDIATE")
            yield self.connection

    def find_file(self) -> Path:
        """Return the absolute path, for a copy that opens the same file. Raises the error for a database in
        RAM."""
        if str(self.path) in _IN_RAM:
            raise self._error("What is in RAM cannot be copied or pickled. Keep it in a file.")
        return self._file

    def close(self) -> None:
        with self._lock:
            self.connection.close()

    def _connect(self, path: str | Path, *, uri: bool = False) -> sqlite3.Connection:
        return sqlite3.connect(
            path, timeout=TIMEOUT_S, isolation_level=None, check_same_thread=False, uri=uri
        )

    def _open(self, version: int, schema: Sequence[str]) -> None:
        try:
            if self._pragma("user_version") == 0 or self._pragma("journal_mode") not in ("wal", "memory"):
                # The mode stays in the file. If two processes set it at once, SQLite refuses one of them.
                with contextlib.suppress(sqlite3.OperationalError):
                    self.connection.execute("PRAGMA journal_mode = WAL")
                self._create(version, schema)
            self.connection.execute("PRAGMA synchronous = FULL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _CANNOT_WRITE or not self._has_content():
                raise
            self._write_error = error
            self._open_for_reading()
        found = self._pragma("user_version")
        if found != version:
            remedy = (
                "Update tersely." if found > version else "It is damaged, or older than 0.1: restore a copy."
            )
            raise self._error(
                f"{self.path} has version {found}, and this version of tersely knows {version}. {remedy}"
            )

    def _create(self, version: int, schema: Sequence[str]) -> None:
        with self.connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            if self._pragma("user_version") == 0:
                for statement in schema:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {version}")

    def _open_for_reading(self) -> None:
        log = self._file.with_name(f"{self._file.name}-wal")
        # SQLite needs an index of a write-ahead log. The index is a file, but with an exclusive lock on the
        # database SQLite keeps it in RAM.
        mode = "mode=rw" if log.is_file() and log.stat().st_size else "immutable=1"
        for last, query in enumerate(("mode=ro", mode)):
            self.connection.close()
            self.connection = self._connect(f"{self._file.as_uri()}?{query}", uri=True)
            try:
                if query == "mode=rw":
                    self.connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                self.connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
                return
            except sqlite3.Error:
                if last:
                    raise

    def _has_content(self) -> bool:
        with contextlib.suppress(OSError):
            return self._file.is_file() and self._file.stat().st_size > 0
        return False

    def _pragma(self, pragma: str) -> Any:
        return self.connection.execute(f"PRAGMA {pragma}").fetchone()[0]

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
    """Create the file, if it is missing, so that only its owner can ever read it. SQLite gives the files
    next to it (-wal, -shm) the same mode. A file that exists keeps its mode."""
    if str(path) in _IN_RAM:
        return
    with contextlib.suppress(OSError):  # it exists, or SQLite will report the error
        os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


@contextlib.contextmanager
def open_damaged(
    path: str | Path, error: type[TerselyError]
) -> Generator[tuple[sqlite3.Connection, str | None]]:
    """Yield a connection to the readable part of a file, and a description of the damage; None without any.

    The connection opens a copy. If the copy is damaged, the sqlite3 command recovers it. Bytes that are not
    UTF-8 become surrogates. Raises the error if nothing can be read.
    """
    if not Path(path).is_file():
        raise error(f"{path} does not exist. Name a file that exists.")
    with TemporaryDirectory() as folder:
        copy, recovered = Path(folder, "copy.db"), Path(folder, "recovered.db")
        for suffix in ("", "-wal"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        try:
            damage = _find_damage(copy)
            if damage is not None and _recover(copy, recovered):
                copy = recovered
            elif damage is not None:
                damage += f". {_NO_RECOVERY}"
            with contextlib.closing(sqlite3.connect(copy)) as connection:
                connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
                yield connection, damage
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            raise error(f"{path}: {problem}. Nothing can be read; restore a copy.") from problem


def scan(connection: sqlite3.Connection, query: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query up to the first damage, and then those from the other end of the table."""
    for is_reversed in (0, 1):
        connection.execute(f"PRAGMA reverse_unordered_selects = {is_reversed}")
        with contextlib.suppress(sqlite3.Error, OverflowError):
            yield from connection.execute(query)
            return


def _find_damage(file: Path) -> str | None:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        try:
            message: str = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            message = str(error)
    return None if message == "ok" else " ".join(message.split())


def _recover(damaged: Path, recovered: Path) -> bool:
    """Recover a damaged file with the sqlite3 command, into the new file `recovered`.

    Return False if the command is missing or cannot recover files.
    """
    command = shutil.which("sqlite3")
    if command is None:
        return False
    shell = [command, "-init", os.devnull]
    with subprocess.Popen(
        [*shell, damaged, ".recover --ignore-freelist"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as reading:
        subprocess.run([*shell, recovered], stdin=reading.stdout, capture_output=True, check=False)
    return reading.returncode == 0
