"""Read the files in allowed folders, and no others. No link is followed."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import islice, product, takewhile
from pathlib import Path

from tersely import Document, InvalidInputError
from tersely.inputs import check_list, decode_utf8
from tersely_mcp.handles import Handle, LinkError

MAX_NAMES = 100
"""Largest number of paths and patterns of one call."""
MAX_FILES = 1000
"""Largest number of files, or documents, of one call."""
MAX_BYTES = 4_000_000
"""Largest number of bytes of all files of one call, or characters of its documents."""
MAX_DEPTH = 50
"""Largest number of levels of nested folders that a pattern looks into."""
NAMES_SHOWN = 10
"""Largest number of files that a message lists."""

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class File:
    """A file in an allowed folder."""

    folder: Folder
    parts: Parts

    @property
    def title(self) -> str:
        """Path in the folder."""
        return "/".join(self.parts)

    @property
    def name(self) -> str:
        """Path with the name of the folder in front."""
        return f"{self.folder.name}/{self.title}"

    def read(self, most: int) -> bytes:
        """Return the first `most` bytes. Raises OSError."""
        with (
            closing(self.folder.open(self.parts[:-1])) as folder,
            open(folder.open_file(self.parts[-1]), "rb") as file,
        ):
            return file.read(most)

    def read_document(self, most: int = MAX_BYTES) -> tuple[Document, int]:
        """Return the first `most` bytes as a document, and their number. Raises InvalidInputError."""
        try:
            content = self.read(most)  # the file may have grown since it was found
        except OSError as error:
            raise InvalidInputError(f"{self.title}: cannot be read ({error.strerror}).") from error
        return Document(decode_utf8(content, self.title), title=self.title), len(content)


@dataclass(frozen=True, slots=True)
class FilesRead:
    """Files that a call has read."""

    documents: list[Document]
    skipped: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """(path, reason) of files that match a pattern and could not be read."""


class Folder:
    """An allowed folder. It stays open, so that nothing else can take its place."""

    def __init__(self, given: str | Path) -> None:
        self.path = Path(given).resolve()
        self.name = self.path.name
        """Its name: the last part of its path, or more parts if another folder ends in the same part."""
        self.outer = self
        """Outermost allowed folder that holds this one; itself if no other does."""
        self._given = Path(os.path.abspath(given))
        self._named = tuple(part for part in Path(os.path.normpath(given)).parts if part not in ("..", "/"))
        self._handle = Handle.open(self.path)
        weakref.finalize(self, self._handle.close)

    def open(self, parts: Parts) -> Handle:
        """Open the folder in this one that the parts lead to. Raises LinkError and OSError."""
        handle = self._handle
        for part in parts or (".",):
            try:
                inner = handle.open_folder(part)
            finally:
                if handle is not self._handle:
                    handle.close()
            handle = inner
        return handle

    def file(self, parts: Parts) -> File:
        """Return a file below this folder: the same one for every allowed folder that holds it."""
        return File(self.outer, (*self.path.relative_to(self.outer.path).parts, *parts))

    def parts(self, name: str, *, has_name: bool) -> list[Parts]:
        """Return the paths below this folder that a name may mean, as parts.

        If `has_name`, the name is absolute or begins with that of the folder. Raises LinkError if it leads
        out of the folder.
        """
        path = Path(name)
        if path.is_absolute():
            roots = [root for root in (self.path, self._given) if path.is_relative_to(root)]
            if not roots or ".." in path.parts:
                raise LinkError
            return [path.relative_to(roots[0]).parts] if has_name else []
        parts = _remove_dots(path.parts)
        if not has_name:
            return [parts]
        names = dict.fromkeys((self._named, Path(self.name).parts, (self.path.name,)))
        return [parts[len(prefix) :] for prefix in names if prefix and prefix == parts[: len(prefix)]]

    def find(self, pattern: Parts, skipped: list[tuple[str, str]]) -> Iterator[File]:
        """Yield the files that match a pattern, sorted; add folders that cannot be read to `skipped`.

        Raises LinkError if the pattern names a link before its first wildcard.
        """
        fixed = tuple(takewhile(lambda part: not _is_pattern(part), pattern[:-1]))
        return self._match(fixed, pattern[len(fixed) :], skipped)

    def _match(self, at: Parts, pattern: Parts, skipped: list[tuple[str, str]]) -> Iterator[File]:
        first, rest = pattern[0], pattern[1:]
        try:
            with closing(self.open(at)) as handle:
                files, folders = handle.list()
        except LinkError:
            raise
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            skipped.append(("/".join(at) or self.name, f"cannot be read ({error.strerror})"))
            return
        if first == "**":
            if rest:
                yield from self._match(at, rest, skipped)
            inner, below = folders if len(at) < MAX_DEPTH else [], pattern
        elif rest:
            inner, below = [folder for folder in folders if fnmatchcase(folder, first)], rest
        else:
            yield from (self.file((*at, file)) for file in files if fnmatchcase(file, first))
            return
        for folder in inner:
            with suppress(LinkError):  # it was swapped for a link, which is not followed
                yield from self._match((*at, folder), below, skipped)


class Folders:
    """Folders with files that may be read. Files of a folder inside another one belong to the outer folder.

    Raises:
        InvalidInputError: a folder does not exist.
    """

    def __init__(self, folders: Sequence[str | Path]) -> None:
        folders = check_list(folders, str | Path, "folders", "Pass a list of folders, even for one.")
        for folder in folders:
            if not str(folder).strip() or not Path(folder).is_dir():
                raise InvalidInputError(f"There is no folder {str(folder)!r}. Name one that exists.")
        try:
            opened = [Folder(folder) for folder in folders]
        except OSError as error:
            raise InvalidInputError(
                f"A folder cannot be opened ({error}). Name one that may be read."
            ) from error
        for folder in opened:
            holders = (other for other in opened if folder.path.is_relative_to(other.path))
            folder.outer = min(holders, key=lambda other: len(other.path.parts))
        self._outermost = [folder for folder in opened if folder.outer is folder]
        _name_apart(self._outermost)
        self._folders = [*self._outermost, *(folder for folder in opened if folder.outer is not folder)]

    @property
    def names(self) -> list[str]:
        """Names of the folders that are not in another one."""
        return [folder.name for folder in self._outermost]

    def list(self, most: int = MAX_FILES) -> list[File]:
        """Return the first `most` files, each once, without hidden ones.

        A file is hidden if a part of its path in the allowed folder begins with a dot.
        """
        files: dict[File, None] = {}
        for folder in self._folders:
            above = len(folder.path.relative_to(folder.outer.path).parts)
            for file in folder.find(("**", "*"), []):
                if len(files) == most:
                    break
                if not any(part.startswith(".") for part in file.parts[above:]):
                    files[file] = None
        return list(files)

    def read(self, names: Sequence[str]) -> FilesRead:
        """Read the text files with these names, each once. A document's title is its path in its folder.

        A name is a path or a pattern such as "docs/**/*.md", with the folder's name in front or without it.
        The former is tried first, so that the name of a listed file always leads to it. Links, and files that
        match a pattern and cannot be read, are skipped.

        Raises:
            InvalidInputError: a path leads out of the folders or through a link, a name fits no file, a named
                file cannot be read, the files are too many or too large, or no file can be read.
        """
        if not self._folders:
            raise InvalidInputError("No folder is allowed. Start with --folder, or pass documents.")
        if len(names) > MAX_NAMES:
            raise InvalidInputError(f"There are {len(names)} paths. Name {MAX_NAMES} or use patterns.")
        read = FilesRead([])
        is_named: dict[File, bool] = {}
        for name in names:
            files, named = self._find_files(name, read.skipped)
            for file in files:
                is_named[file] = is_named.get(file, False) or named
        if len(is_named) > MAX_FILES:
            raise InvalidInputError(f"There are more than {MAX_FILES} files. Name fewer.")
        bytes_left = MAX_BYTES
        for file, named in is_named.items():
            try:
                document, size = file.read_document(bytes_left + 1)
            except InvalidInputError as error:
                if named:
                    raise
                read.skipped.append((file.title, str(error)))
                continue
            bytes_left -= size
            if bytes_left < 0:
                raise InvalidInputError(f"The files have more than {MAX_BYTES} bytes. Name fewer.")
            read.documents.append(document)
        if not read.documents and read.skipped:
            raise InvalidInputError(f"None of the files can be read. {'; '.join(w for _, w in read.skipped)}")
        return read

    def _find_files(self, name: str, skipped: list[tuple[str, str]]) -> tuple[list[File], bool]:
        """Return the files that a path or a pattern means, and whether it is a path."""
        leads_out = False
        for has_name, folder in product((True, False), self._folders):
            try:
                for parts in folder.parts(name, has_name=has_name):
                    if _is_file(file := folder.file(parts)):
                        return [file], True
                    if not _can_match(parts) or ".." in Path(name).parts:
                        continue
                    if files := list(islice(folder.find(parts, skipped), MAX_FILES + 1)):
                        return files, False
            except LinkError:
                leads_out = True
            except (OSError, ValueError):
                pass  # the name is too long or has a zero byte, or a folder cannot be read
        if leads_out:
            raise InvalidInputError(
                f"{name!r} leads out of the allowed folders, or through a link. Name files inside of them."
            )
        raise InvalidInputError(
            f"No file in the allowed folders is named {name!r}. Name a text file inside of them. "
            + self._hint()
        )

    def _hint(self) -> str:
        names = [file.name for file in self.list(NAMES_SHOWN)]
        return f"There are: {', '.join(names)}." if names else "They have no files."


def _remove_dots(parts: Parts) -> Parts:
    """Resolve `..` in a relative path. Raises LinkError if the path leads out."""
    kept: list[str] = []
    for part in parts:
        if part != "..":
            kept.append(part)
        elif kept:
            kept.pop()
        else:
            raise LinkError
    return tuple(kept)


def _is_file(file: File) -> bool:
    """Return whether the file exists. Raises LinkError for a link."""
    if not file.parts:
        return False
    try:
        file.read(0)
    except LinkError:
        raise
    except PermissionError:
        return True  # reading it will report that
    except (OSError, ValueError):
        return False
    return True


def _can_match(parts: Parts) -> bool:
    """Return whether the parts are a pattern with at most one **, because more would multiply the work."""
    deep = [part for part in parts if "**" in part]
    return any(map(_is_pattern, parts)) and deep in ([], ["**"])


def _is_pattern(part: str) -> bool:
    return any(sign in part for sign in "*?[")


def _name_apart(folders: Sequence[Folder]) -> None:
    """Give longer names to folders with paths that end in the same name."""
    for folder in folders:
        others = [other.path.parts for other in folders if other is not folder]
        parts, count = folder.path.parts, 1
        while any(other[-count:] == parts[-count:] for other in others):
            count += 1
        folder.name = Path(*parts[-count:]).as_posix()
