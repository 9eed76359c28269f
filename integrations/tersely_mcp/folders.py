"""Files that a client may name: those inside the folders that were allowed at start, and no others."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from tersely import Document, InvalidInputError
from tersely.inputs import decode_utf8

MOST_NAMES = 100
MOST_FILES = 1000
MOST_BYTES = 4_000_000
"""Of all files of a call, or characters of its documents."""
# A link or a pipe that takes a file's place between check and reading is not followed and does not block.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class Folders:
    """Raises InvalidInputError for a folder that does not exist."""

    def __init__(self, folders: Sequence[str | Path]) -> None:
        for folder in folders:
            if not str(folder).strip() or not Path(folder).is_dir():
                raise InvalidInputError(f"There is no folder {str(folder)!r}. Name one that exists.")
        self._roots = [Path(folder).resolve() for folder in folders]

    def read(self, names: Sequence[str]) -> list[Document]:
        """The text files that the names stand for, each once; a document's title is its path in its folder.

        Raises InvalidInputError for a path that leads out of the folders, by a link too, for a name that no
        file has, and where files are too many, too large or no text. Links that lead out and match a pattern
        are passed over.
        """
        if not self._roots:
            raise InvalidInputError("No folder is allowed. Start with --folder, or pass documents.")
        if len(names) > MOST_NAMES:
            raise InvalidInputError(f"That is {len(names)} paths. Name {MOST_NAMES} or use patterns.")
        found = list(dict.fromkeys(file for name in names for file in self._files(name)))
        if len(found) > MOST_FILES:
            raise InvalidInputError(f"That is more than {MOST_FILES} files. Name fewer.")
        room = MOST_BYTES
        documents: list[Document] = []
        for file in found:
            title = next(file.relative_to(r) for r in self._roots if file.is_relative_to(r)).as_posix()
            raw = _bytes(file, title, room + 1)
            room -= len(raw)
            if room < 0:
                raise InvalidInputError(f"The files have more than {MOST_BYTES} bytes. Name fewer.")
            documents.append(Document(decode_utf8(raw, title), title=title))
        return documents

    def _files(self, name: str) -> list[Path]:
        """The files that a path or a pattern such as "docs/**/*.md" stands for, links resolved."""
        try:
            for root in self._roots:
                given = Path(os.path.realpath(root / name))
                # Said before anything is said of what is there.
                if not self._is_inside(given):
                    raise _OutsideError
                if given.is_file():
                    return [given]
                if files := self._matches(root, name):
                    return files
        except _OutsideError:
            raise InvalidInputError(
                f"{name!r} leads out of the allowed folders. Name files inside of them."
            ) from None
        except (OSError, ValueError):
            pass  # too long, a zero byte, a folder that cannot be read: nothing that could be opened
        raise InvalidInputError(f"No file in the allowed folders is named {name!r}.")

    def _is_inside(self, path: Path) -> bool:
        return any(path.is_relative_to(root) for root in self._roots)

    def _matches(self, root: Path, name: str) -> list[Path]:
        matches = (Path(os.path.realpath(path)) for path in _glob(root, name))
        files = (path for path in matches if self._is_inside(path) and path.is_file())
        return sorted(islice(files, MOST_FILES + 1))


class _OutsideError(Exception):
    pass


def _glob(root: Path, pattern: str) -> Iterator[Path]:
    if Path(pattern).is_absolute():
        if not Path(pattern).is_relative_to(root):
            return iter(())
        pattern = str(Path(pattern).relative_to(root))
    # More than one ** multiplies the work, and .. walks folders that a link leads to.
    if not any(sign in pattern for sign in "*?[") or pattern.count("**") > 1 or ".." in Path(pattern).parts:
        return iter(())
    return root.glob(pattern)


def _bytes(file: Path, title: str, most: int) -> bytes:
    """Never more than `most`, whatever the file has grown to."""
    try:
        with open(os.open(file, _READ), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise InvalidInputError(f"{title}: is no file any more.")
            return stream.read(most)
    except OSError as error:
        raise InvalidInputError(f"{title}: cannot be read ({error.strerror}).") from error
