"""Documents and requests from files and standard input. Errors name the file and the line of JSON lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, NoReturn, cast

from tersely import inputs
from tersely.errors import InvalidInputError
from tersely.types import Document

Format = Literal["auto", "text", "jsonl"]

DEMO_QUERY = "When does the last boat leave Port Maren in winter, and can I take my bicycle on it?"
_DEMO = Path(__file__).with_name("demo") / "documents.jsonl"


@dataclass(frozen=True, slots=True)
class Request:
    """A line of a batch: a question and the documents to search."""

    line: int
    """Counted from 1."""
    id: Any = None
    """Any JSON value, which the result repeats."""
    query: str | None = None
    """None for no question."""
    documents: tuple[Document, ...] = ()
    answers: Any = None
    """Unchecked; only a calibration uses them."""
    error: InvalidInputError | None = None
    """Why the line cannot be used."""


def is_stdin(file: BinaryIO) -> bool:
    """Whether a file is standard input, which has no name."""
    return file is sys.stdin.buffer


def name_file(file: BinaryIO) -> str:
    """Return the name of a file for messages."""
    return "standard input" if is_stdin(file) else file.name


def read_documents(files: Sequence[BinaryIO], form: Format) -> list[Document]:
    """Read the documents of all files in order.

    A text or Markdown file is one document with the file's name as id; JSON lines hold one document each.
    `auto` takes `.jsonl` and `.ndjson` files, and standard input that starts with such a line, as JSON lines.

    Raises:
        InvalidInputError: a file is not UTF-8 text, or has a bad line; or all are empty.
    """
    if sum(map(is_stdin, files)) > 1:
        raise InvalidInputError("Standard input can be read only once. Give '-' one time.")
    documents = [document for file in files for document in _read_file(file, form)]
    if not any(document.text.strip() for document in documents):
        raise InvalidInputError("There is no text in the input. Give at least one document.")
    return documents


def demo_documents() -> list[Document]:
    """Read the sample documents that ship with the package."""
    with _DEMO.open("rb") as file:
        return read_documents([file], "jsonl")


def read_requests(file: BinaryIO) -> Iterator[Request]:
    """Yield the requests as their lines arrive, so that a program that writes them gets each answer at once.

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
    return Request(number, record.get("id"), query, parsed, record.get("answers"))


def _read_file(file: BinaryIO, form: Format) -> Iterable[Document]:
    text = inputs.decode_utf8(file.read(), name_file(file))
    if form == "text" or (form == "auto" and not _is_jsonl(file, text)):
        return [Document(text, id=None if is_stdin(file) else file.name)]
    # Not splitlines(): JSON strings may hold U+2028 and its like, which do not end a line of JSON.
    lines = ((f"{name_file(file)}, line {number}", line) for number, line in enumerate(text.split("\n"), 1))
    return [_make_document(_parse_json(line, where), where) for where, line in lines if line.strip()]


def _is_jsonl(file: BinaryIO, text: str) -> bool:
    if not is_stdin(file):
        return file.name.lower().endswith((".jsonl", ".ndjson"))
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
