"""Documents and requests from files and standard input. Errors name the file and the line of JSON lines."""

from __future__ import annotations

import glob
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, NoReturn, cast

from tersely import inputs
from tersely.cli import OK, formats, print_message
from tersely.cli.show import show_progress
from tersely.errors import InvalidInputError
from tersely.types import Document

Format = Literal["auto", "text", "jsonl"]

DEMO_QUERY = "When does the last boat leave Port Maren in winter, and can I take my bicycle on it?"
_MAX_FILES_WITHOUT_PROGRESS = 20
"""If there are more files, a progress bar is shown."""
_DEMO = Path(__file__).with_name("demo") / "documents.jsonl"


@dataclass(frozen=True, slots=True)
class Request:
    """A line of a batch: a question and the documents to search."""

    line: int
    """Number of the line, from 1."""
    id: Any = None
    """Id of the request, as any JSON value. The result repeats it."""
    query: str | None = None
    """The question; None without one."""
    documents: tuple[Document, ...] = ()
    answers: Any = None
    """The right answers, unchecked. Only a calibration uses them."""
    evidence: Any = None
    """The texts that the answer needs, unchecked. Only `training.adapt` uses them."""
    error: InvalidInputError | None = None
    """The reason why the line cannot be used; None if it can."""


def is_stdin(file: BinaryIO) -> bool:
    """Return whether a file is standard input, which has no name."""
    return file is sys.stdin.buffer


def name_file(file: BinaryIO) -> str:
    return "standard input" if is_stdin(file) else file.name


def find_files(names: Sequence[str]) -> list[str]:
    """Return the files that `names` lead to, each once.

    A name is a file, a folder, a pattern such as `**/*.md`, or `-` for standard input. A folder leads to the
    files in it and in its folders, in alphabetical order, without hidden ones.

    Raises InvalidInputError for a name without a file.
    """
    found: list[str] = []
    for name in names:
        if os.path.isdir(name) and name != "-":
            files = _list_folder(name)
        elif name == "-" or os.path.exists(name):
            files = [name]
        elif glob.has_magic(name):
            matches = sorted(glob.glob(name, recursive=True))
            files = [
                file
                for match in matches
                for file in (_list_folder(match) if os.path.isdir(match) else [match])
            ]
        else:
            raise InvalidInputError(f"There is no file or folder {name!r}. Check the name.")
        if not files:
            raise InvalidInputError(f"There are no files in {name!r}. Name a file, a folder or a pattern.")
        found += files
    if found.count("-") > 1:
        raise InvalidInputError("Standard input can be read only once. Give '-' one time.")
    return list(dict.fromkeys(found))


def read_files(names: Sequence[str], form: Format) -> list[Document]:
    """Read the documents of files, folders and patterns, or of standard input if `names` is empty.

    A text or Markdown file is one document with the file's name as id; JSON lines hold one document each.
    `auto` recognises PDF, DOCX and EPUB. It reads `.jsonl` and `.ndjson` files as JSON lines, and standard
    input too if its first line is a JSON object with "text". Files compressed with gzip are decompressed.
    Files of a folder or a pattern that are not text are skipped, with a note on standard error.

    Raises:
        InvalidInputError: a file that was named cannot be read; or there is no text.
        MissingDependencyError: a PDF needs a package that is not installed.
    """
    documents: list[Document] = []
    skipped: list[str] = []
    names = names or ["-"]
    files = find_files(names)
    if "-" in files and sys.stdin.isatty():
        print("reading documents from the terminal; end with Ctrl-D", file=sys.stderr)
    with show_progress(files) if len(files) > _MAX_FILES_WITHOUT_PROGRESS else nullcontext(files) as progress:
        for name in progress:
            try:
                if name == "-":
                    documents += _read_file(sys.stdin.buffer, form)
                else:
                    with open(name, "rb") as file:
                        documents += _read_file(file, form)
            except InvalidInputError:
                if name in names:
                    raise
                skipped.append(name)
    if skipped:
        more = f" and {len(skipped) - 1:,} more" if len(skipped) > 1 else ""
        print_message(f"skipped {skipped[0]}{more}: not text, or damaged", OK)
    if not any(document.text.strip() for document in documents):
        raise InvalidInputError("There is no text in the input. Give at least one document.")
    return documents


def demo_documents() -> list[Document]:
    """Read the sample documents that ship with the package."""
    return read_files([str(_DEMO)], "jsonl")


def read_requests(file: BinaryIO) -> Iterator[Request]:
    """Yield each request when its line arrives, so that a program that writes lines gets each answer at once.

    Blank lines are skipped. A line that cannot be used becomes a request with an error.
    """
    for number, raw in enumerate(file, 1):
        where = f"{name_file(file)}, line {number}"
        record: object = None
        try:
            if line := inputs.decode_utf8(raw, where).strip():
                record = _parse_json(line, where)
                yield _make_request(record, number, where)
        except InvalidInputError as error:
            identity = cast("dict[str, Any]", record).get("id") if isinstance(record, dict) else None
            yield Request(number, identity, error=error)


def _make_request(value: object, number: int, where: str) -> Request:
    if not isinstance(value, dict):
        raise InvalidInputError(f"{where}: expected a JSON object.")
    record = cast("dict[str, Any]", value)
    query, documents = record.get("query"), record.get("documents")
    if not isinstance(query, str | None) or not isinstance(documents, list):
        raise InvalidInputError(f'{where}: expected {{"query": string, "documents": [...]}}.')
    items = enumerate(cast("list[object]", documents), 1)
    parsed = tuple(_make_document(item, f"{where}, document {index}") for index, item in items)
    return Request(number, record.get("id"), query, parsed, record.get("answers"), record.get("evidence"))


def _list_folder(name: str) -> list[str]:
    found: list[str] = []
    for folder, folders, files in os.walk(name):
        folders[:] = sorted(inner for inner in folders if not inner.startswith("."))
        found += [os.path.join(folder, file) for file in sorted(files) if not file.startswith(".")]
    return found


def _read_file(file: BinaryIO, form: Format) -> Iterable[Document]:
    name = name_file(file)
    data = formats.decompress(file.read(), name)
    if form == "auto" and (read := formats.find_reader(data)):
        return read(data, name)
    text = inputs.decode_utf8(data, name)
    if form == "text" or (form == "auto" and not _is_jsonl(file, text)):
        return [Document(text, id=None if is_stdin(file) else name)]
    lines = ((f"{name}, line {number}", line) for number, line in inputs.split_json_lines(text))
    return [_make_document(_parse_json(line, where), where) for where, line in lines]


def _is_jsonl(file: BinaryIO, text: str) -> bool:
    if not is_stdin(file):
        return file.name.lower().removesuffix(".gz").endswith((".jsonl", ".ndjson"))
    try:
        first = json.loads(text.lstrip().split("\n", 1)[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "text" in first


def _make_document(value: object, where: str) -> Document:
    item: object = value
    if isinstance(value, dict):
        record = cast("dict[str, Any]", value)
        if type(record.get("id")) is int:  # common in data, while the library wants text
            item = {**record, "id": str(record["id"])}
    try:
        return inputs.read_documents([item])[0]
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {str(error).removeprefix('Document 0 ')}") from error


def _parse_json(line: str, where: str) -> object:
    try:
        return json.loads(line, parse_constant=_reject_constant)
    except ValueError as error:
        raise InvalidInputError(f"{where}: not valid JSON ({error}).") from error
    except RecursionError as error:
        raise InvalidInputError(f"{where}: the JSON is nested too deeply.") from error


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
