"""Files that a client may name: those inside the folders that were allowed at start, and no others."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tersely import Document, InvalidInputError
from tersely.cli_input import decode

MOST_FILES = 1000
MOST_BYTES = 16_000_000
"""Of all files of a call."""


class Folders:
    """Raises InvalidInputError for a folder that does not exist."""

    def __init__(self, folders: Sequence[str | Path]) -> None:
        for folder in folders:
            if not Path(folder).is_dir():
                raise InvalidInputError(f"There is no folder {str(folder)!r}. Name one that exists.")
        self._roots = [Path(folder).resolve() for folder in folders]

    def read(self, names: Sequence[str]) -> list[Document]:
        """The text files that the names stand for, each once; a document's title is its path in its folder.

        Raises InvalidInputError for a name that leads out of the folders, by a link too, for one that no
        file has, and where files are too many, too large or no text.
        """
        if not self._roots:
            raise InvalidInputError(
                "No folder is allowed. Start the server with --folder, or pass documents."
            )
        found = list(dict.fromkeys(file for name in names for file in self._files(name)))
        if len(found) > MOST_FILES:
            raise InvalidInputError(f"That is {len(found)} files. Name {MOST_FILES} or fewer.")
        room = MOST_BYTES
        documents: list[Document] = []
        for file in found:
            title = next(file.relative_to(r) for r in self._roots if file.is_relative_to(r)).as_posix()
            try:
                with file.open("rb") as stream:
                    raw = stream.read(room + 1)  # never more, whatever the file has grown to
            except OSError as error:
                raise InvalidInputError(f"{title}: cannot be read ({error.strerror}).") from error
            room -= len(raw)
            if room < 0:
                raise InvalidInputError(f"The files have more than {MOST_BYTES} bytes. Name fewer.")
            documents.append(Document(decode(raw, title), title=title))
        return documents

    def _files(self, name: str) -> list[Path]:
        """The files that a path or a pattern such as "docs/**/*.md" stands for, links resolved."""
        if name.strip() and "\0" not in name:
            for root in self._roots:
                # Whether a name leads out is said before anything is said of what is there.
                given = self._inside(root / name, name)
                if given.is_file():
                    return [given]
                matches = [self._inside(path, name) for path in sorted(_matches(root, name))]
                if files := [path for path in matches if path.is_file()]:
                    return files
        raise InvalidInputError(f"No file in the allowed folders is named {name!r}.")

    def _inside(self, path: Path, name: str) -> Path:
        resolved = Path(os.path.realpath(path))
        if not any(resolved.is_relative_to(root) for root in self._roots):
            raise InvalidInputError(f"{name!r} leads out of the allowed folders. Name files inside of them.")
        return resolved


def _matches(root: Path, pattern: str) -> Iterator[Path]:
    if Path(pattern).is_absolute():
        if not Path(pattern).is_relative_to(root):
            return iter(())
        pattern = str(Path(pattern).relative_to(root))
    return root.glob(pattern) if any(sign in pattern for sign in "*?[") else iter(())
