"""The files that a client may name: those in the folders that were allowed at the start, and no others."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from tersely import Document, InvalidInputError
from tersely.adapters import decode_utf8

MAX_NAMES = 100
"""Most paths and patterns of one call."""
MAX_FILES = 1000
"""Most files, or documents, of one call."""
MAX_BYTES = 4_000_000
"""Most bytes of all files of one call, or characters of its documents."""
# A link or a pipe may take a file's place between check and reading: it is not followed and does not block.
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class Folders:
    """The folders whose files may be read.

    Raises:
        InvalidInputError: a folder does not exist.
    """

    def __init__(self, folders: Sequence[str | Path]) -> None:
        for folder in folders:
            if not str(folder).strip() or not Path(folder).is_dir():
                raise InvalidInputError(f"There is no folder {str(folder)!r}. Name one that exists.")
        self._roots = [Path(folder).resolve() for folder in folders]

    def read(self, names: Sequence[str]) -> list[Document]:
        """The text files with these names, each once. A document's title is its path in its folder.

        A name is a path, or a pattern such as "docs/**/*.md". A pattern passes over links that lead out of
        the folders.

        Raises:
            InvalidInputError: a path leads out of the folders, also by a link; no file has a name; the files
                are too many, too large or not text.
        """
        if not self._roots:
            raise InvalidInputError("No folder is allowed. Start with --folder, or pass documents.")
        if len(names) > MAX_NAMES:
            raise InvalidInputError(f"There are {len(names)} paths. Name {MAX_NAMES} or use patterns.")
        files = list(dict.fromkeys(file for name in names for file in self._find_files(name)))
        if len(files) > MAX_FILES:
            raise InvalidInputError(f"There are more than {MAX_FILES} files. Name fewer.")
        bytes_left = MAX_BYTES
        documents: list[Document] = []
        for file in files:
            title = next(file.relative_to(r) for r in self._roots if file.is_relative_to(r)).as_posix()
            content = _read_bytes(file, title, bytes_left + 1)
            bytes_left -= len(content)
            if bytes_left < 0:
                raise InvalidInputError(f"The files have more than {MAX_BYTES} bytes. Name fewer.")
            documents.append(Document(decode_utf8(content, title), title=title))
        return documents

    def _find_files(self, name: str) -> list[Path]:
        """The files that a path or a pattern stands for, links resolved."""
        try:
            for root in self._roots:
                path = Path(os.path.realpath(root / name))
                # Checked first, so that no message tells what exists outside.
                if not self._is_inside(path):
                    raise _OutsideError
                if path.is_file():
                    return [path]
                if files := self._match_files(root, name):
                    return files
        except _OutsideError:
            raise InvalidInputError(
                f"{name!r} leads out of the allowed folders. Name files inside of them."
            ) from None
        except (OSError, ValueError):
            pass  # the name is too long or has a zero byte, or a folder cannot be read
        raise InvalidInputError(
            f"No file in the allowed folders is named {name!r}. Name a text file inside of them."
        )

    def _is_inside(self, path: Path) -> bool:
        return any(path.is_relative_to(root) for root in self._roots)

    def _match_files(self, root: Path, pattern: str) -> list[Path]:
        paths = (Path(os.path.realpath(path)) for path in _expand(root, pattern))
        files = (path for path in paths if self._is_inside(path) and path.is_file())
        return sorted(islice(files, MAX_FILES + 1))


class _OutsideError(Exception):
    """A path leads out of the allowed folders."""


def _expand(root: Path, pattern: str) -> Iterator[Path]:
    """The paths that match a pattern in `root`; none for a text that is not a pattern."""
    if Path(pattern).is_absolute():
        if not Path(pattern).is_relative_to(root):
            return iter(())
        pattern = str(Path(pattern).relative_to(root))
    # More than one ** multiplies the work, and .. walks folders that a link leads to.
    if not any(sign in pattern for sign in "*?[") or pattern.count("**") > 1 or ".." in Path(pattern).parts:
        return iter(())
    return root.glob(pattern)


def _read_bytes(file: Path, title: str, most: int) -> bytes:
    """The first `most` bytes of a file: it may have grown since it was found."""
    try:
        with open(os.open(file, _OPEN_FLAGS), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise InvalidInputError(f"{title}: is not a file any more. Name another.")
            return stream.read(most)
    except OSError as error:
        raise InvalidInputError(f"{title}: cannot be read ({error.strerror}).") from error
