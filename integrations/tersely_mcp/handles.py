"""Open folders step by step, each relative to the one before, so that no link is ever followed.

Between a check of a path and its opening, a part of the path could be swapped for a link. So nothing is
checked first: the opened file is the one that is read.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

HAS_HANDLES = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
"""True if the system opens files relative to a folder. Windows does not, so there a path is checked, opened
and checked again."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# Opening a pipe must not wait for a writer.
_FILE = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0)
_FOLDER = os.O_RDONLY | _NO_LINK | getattr(os, "O_DIRECTORY", 0)


class LinkError(OSError):
    """A part of a path is a link."""


@dataclass(frozen=True, slots=True)
class Handle:
    """An open folder."""

    path: Path
    """Its path when it was opened, which is used only on systems without handles."""
    number: int | None
    """Its number in the operating system; None on systems without handles."""

    @classmethod
    def open(cls, path: Path) -> Handle:
        """Open a folder by its path, in which links are followed."""
        return cls(path, os.open(path, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0)) if HAS_HANDLES else None)

    def open_folder(self, name: str) -> Handle:
        """Open a folder in this one. Raises LinkError for a link, and OSError."""
        path = self.path / name
        if self.number is not None:
            return Handle(path, self._open(name, _FOLDER))
        _check_no_link(path)
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "is not a folder", name)
        return Handle(path, None)

    def open_file(self, name: str) -> int:
        """Open a regular file in this folder; return its number. Raises LinkError for a link, and OSError."""
        if self.number is not None:
            file = self._open(name, _FILE)
        else:
            _check_no_link(self.path / name)
            file = os.open(self.path / name, _FILE)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise FileNotFoundError(errno.ENOENT, "is not a file", name)
            if self.number is None:
                _check_no_link(self.path / name)
        except OSError:
            os.close(file)
            raise
        return file

    def list(self) -> tuple[list[str], list[str]]:
        """Return the sorted names of files, and of folders, in this one, without links and other entries."""
        files: list[str] = []
        folders: list[str] = []
        with os.scandir(self.path if self.number is None else self.number) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    files.append(entry.name)
                elif entry.is_dir(follow_symlinks=False) and not _is_junction(entry):
                    folders.append(entry.name)
        return sorted(files), sorted(folders)

    def close(self) -> None:
        if self.number is not None:
            os.close(self.number)

    def _open(self, name: str, flags: int) -> int:
        try:
            return os.open(name, flags, dir_fd=self.number)
        except OSError as error:
            # Systems raise different errors for links; this only decides on the message.
            if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR) and self._is_link(name):
                raise LinkError(error.errno, "is a link", name) from error
            raise

    def _is_link(self, name: str) -> bool:
        try:
            return stat.S_ISLNK(os.stat(name, dir_fd=self.number, follow_symlinks=False).st_mode)
        except OSError:
            return False


def _is_junction(entry: os.DirEntry[str]) -> bool:
    return bool(getattr(entry, "is_junction", bool)())


def _check_no_link(path: Path) -> None:
    if os.path.realpath(path) != str(path):
        raise LinkError(errno.ELOOP, "is a link", path.name)
