"""Files and standard input become documents; every complaint names the file and, in JSON lines, the line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

from tersely import inputs
from tersely.errors import InvalidInputError
from tersely.inputs import decode_utf8
from tersely.types import Document

Format = Literal["auto", "text", "jsonl"]

STDIN = "-"
_JSONL_SUFFIXES = frozenset({".jsonl", ".ndjson"})


@dataclass(frozen=True, slots=True)
class Request:
    """One line of a batch: a question and its own documents."""

    line: int
    """Counted from 1."""
    query: str | None
    """None for no question."""
    documents: tuple[Document, ...]
    id: Any
    """Any JSON value; it is handed back as it came."""
    answers: Any = None
    """As they came; only a calibration looks at them."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """One line of a batch that cannot be used."""

    line: int
    """Counted from 1."""
    error: str
    """What is wrong, with the place."""
    id: Any
    """As for a `Request`; None where it could not be read."""


def read_documents(names: Sequence[str], form: Format) -> list[Document]:
    """The documents of all files in order; standard input stands for `-` and for no name at all.

    A text or Markdown file is one document with the file's name as id; JSON lines hold one document each.
    `auto` takes `.jsonl` and `.ndjson` files, and standard input that starts with such a line, as JSON lines.

    Raises:
        InvalidInputError: a file is missing, unreadable, not UTF-8 text, or has a bad line; or all are empty.
    """
    if list(names).count(STDIN) > 1:
        raise InvalidInputError("Standard input can be read only once. Give '-' one time.")
    documents = [document for name in names or [STDIN] for document in _read_one(name, form)]
    if not any(document.text.strip() for document in documents):
        raise InvalidInputError("There is no text in the input. Give at least one document.")
    return documents


def read_requests(name: str) -> Iterator[Request]:
    """The requests of a batch file, one by one as its lines arrive; blank lines are passed over.

    Raises:
        InvalidInputError: as `read_documents`, at the line concerned.
    """
    for row in read_rows(name):
        if isinstance(row, BadRow):
            raise InvalidInputError(row.error)
        yield row


def read_rows(name: str) -> Iterator[Request | BadRow]:
    """`read_requests` that goes on after a line that cannot be used.

    Raises InvalidInputError if the file cannot be read.
    """
    for number, raw in _lines(name):
        record: dict[str, Any] = {}
        where = f"{_label(name)}, line {number}"
        try:
            line = decode_utf8(raw, where)
            if not line.strip():
                continue
            record = _parse_object(line, where)
            yield _request(record, number, where)
        except InvalidInputError as error:
            yield BadRow(number, str(error), record.get("id"))


def _request(record: dict[str, Any], number: int, where: str) -> Request:
    query, documents = record.get("query"), record.get("documents")
    if not isinstance(query, str | None) or not isinstance(documents, list):
        raise InvalidInputError(f'{where}: expected {{"query": string, "documents": [...]}}.')
    items = cast("list[object]", documents)
    parsed = tuple(_document(item, f"{where}, document {index}") for index, item in enumerate(items, 1))
    return Request(number, query, parsed, record.get("id"), record.get("answers"))


def demo_documents() -> list[Document]:
    """The sample documents that ship with the package."""
    return read_documents([str(Path(__file__).with_name("demo") / "documents.jsonl")], "jsonl")


def _read_one(name: str, form: Format) -> Iterator[Document]:
    text = decode_utf8(_read_bytes(name), _label(name))
    if form == "jsonl" or (form == "auto" and _is_jsonl(name, text)):
        yield from _json_documents(text, name)
    else:
        yield Document(text, id=None if name == STDIN else name)


def _is_jsonl(name: str, text: str) -> bool:
    if name != STDIN:
        return Path(name).suffix.lower() in _JSONL_SUFFIXES
    try:
        first = json.loads(text.lstrip().split("\n", 1)[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "text" in first


def _json_documents(text: str, name: str) -> Iterator[Document]:
    # Not splitlines(): JSON strings may hold U+2028 and its like, which do not end a line of JSON.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"{_label(name)}, line {number}"
            yield _document(_parse(line, where), where)


def _document(value: object, where: str) -> Document:
    item: object = value
    if isinstance(value, dict):
        record = cast("dict[str, Any]", value)
        if type(record.get("id")) is int:  # common in data, while the library wants text
            item = {**record, "id": str(record["id"])}
    try:
        return inputs.read_documents([item])[0]
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {str(error).removeprefix('Document 0 ')}") from error


def _parse_object(line: str, where: str) -> dict[str, Any]:
    value = _parse(line, where)
    if not isinstance(value, dict):
        raise InvalidInputError(f"{where}: expected a JSON object.")
    return cast("dict[str, Any]", value)


def _parse(line: str, where: str) -> object:
    try:
        return json.loads(line, parse_constant=_reject_constant)
    except ValueError as error:
        raise InvalidInputError(f"{where}: not valid JSON ({error}).") from error
    except RecursionError as error:
        raise InvalidInputError(f"{where}: the JSON is nested too deeply.") from error


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _lines(name: str) -> Iterator[tuple[int, bytes]]:
    """Numbered lines, read lazily, so that a program at the other end of a pipe gets its answers in step."""
    try:
        with sys.stdin.buffer if name == STDIN else Path(name).open("rb") as stream:
            yield from enumerate(stream, 1)
    except OSError as error:
        raise InvalidInputError(f"{_label(name)}: cannot be read ({error.strerror}).") from error


def _read_bytes(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{_label(name)}: cannot be read ({error.strerror}).") from error


def _label(name: str) -> str:
    return "standard input" if name == STDIN else name
