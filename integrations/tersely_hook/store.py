"""The original texts on disk, under their ids, and the command that prints one."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import threading
import time
from pathlib import Path

from tersely_hook.client import folder

COMMAND = "tersely_original"
MAX_BYTES = 100_000_000
"""Largest number of bytes of all originals; the oldest go first."""
MAX_AGE_S = 7 * 24 * 3600
_SWEEP_S = 3600
_ID = re.compile(r"[0-9a-f]{12}")


def originals_folder() -> Path:
    return Path(folder(), "originals")


class Originals:
    """The originals in a folder that only the user may open. One process writes at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._bytes = 0
        self._swept: float | None = None

    def keep(self, key: str, text: str) -> None:
        """Keep a text under its id, which no other text has. Raises OSError."""
        content = text.encode("utf-8", "surrogatepass")
        with self._lock:
            if self._is_kept(key, len(content)):
                return
            is_due = self._swept is None or time.monotonic() > self._swept + _SWEEP_S
            if is_due or self._bytes + len(content) > MAX_BYTES:
                self._bytes = self._sweep(MAX_BYTES - len(content))
                self._swept = time.monotonic()
            new = self.path / f"{key}.new"
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(content)
            os.replace(new, self.path / key)
            self._bytes += len(content)

    def get(self, key: str) -> str | None:
        """Return the text with an id; None if no text has it, or no longer."""
        try:
            content = (self.path / key).read_bytes() if _ID.fullmatch(key) else None
        except FileNotFoundError:
            return None
        return None if content is None else content.decode("utf-8", "surrogatepass")

    def _is_kept(self, key: str, size: int) -> bool:
        """Return whether an original is there, and renew its age. Replacing the file would take 7 ms."""
        path = self.path / key
        try:
            is_whole = path.stat().st_size == size
        except FileNotFoundError:
            return False
        if is_whole:
            os.utime(path)
        return is_whole

    def measure(self) -> tuple[int, int]:
        """Return the number of originals and of their bytes."""
        sizes = [entry.stat().st_size for entry in os.scandir(self.path) if _ID.fullmatch(entry.name)]
        return len(sizes), sum(sizes)

    def _sweep(self, most: int) -> int:
        """Delete files that are too old, and then the oldest until at most `most` bytes are left. Return the
        number of bytes left."""
        kept = 0
        files = sorted(
            ((entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in os.scandir(self.path)),
            reverse=True,
        )
        for changed, size, path in files:
            if kept + size > most or changed < time.time() - MAX_AGE_S:
                os.unlink(path)
            else:
                kept += size
        return kept


def shell_command(key: str) -> str:
    """Return a command that prints an original, whether or not `tersely_original` can be found."""
    return f"{COMMAND} {key}" if shutil.which(COMMAND) else shlex.join(["cat", str(originals_folder() / key)])


def main() -> int:
    """Print the original of the id that is the only argument: the command `tersely_original`."""
    arguments = sys.argv[1:]
    text = Originals(originals_folder()).get(arguments[0]) if len(arguments) == 1 else None
    if text is None:
        print(
            f"usage: {COMMAND} ID, with an id that is at most {MAX_AGE_S // 86400} days old", file=sys.stderr
        )
        return 2
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    return 0
