"""Check the arguments of callers: query, documents, files, counts. Errors name the cause and the remedy."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from types import UnionType
from typing import Any, TypeVar, cast

from tersely.errors import InvalidInputError
from tersely.types import Document

DocumentLike = str | Document | Mapping[str, Any]

Item = TypeVar("Item")
Request = tuple[str | None, list[Document]]
"""A query and its documents."""

_MAX_VALUE_CHARACTERS = 80
"""Largest number of characters of a value that a message shows."""
_DOCUMENT_KEYS = frozenset({"text", "title", "id", "metadata"})


def check_query(query: object) -> str:
    """Return the query. Raises InvalidInputError unless it is a text with more than white space."""
    if not isinstance(query, str):
        raise InvalidInputError(f"The query is {type_name(query)}. Pass the question as text.")
    if not query.strip():
        raise InvalidInputError("The query is empty. Pass the question that the context should answer.")
    return query


def read_documents(docs: object) -> list[Document]:
    """Return the caller's documents as `Document`s, in order.

    A mapping needs the key "text" and may have "title", "id" and "metadata"; its other keys join the
    metadata.
    """
    single = isinstance(docs, str | bytes | Document | Mapping)
    if single or not isinstance(docs, Iterable):
        kind = type_name(cast("object", docs))
        raise InvalidInputError(
            f"The documents were given as {kind}. Pass a list, even for a single document."
        )
    items = cast("Iterable[object]", docs)
    return [_read_document(item, f"Document {index}") for index, item in enumerate(items)]


def read_requests(requests: object) -> list[Request]:
    """Return the (query, documents) of a batch, in order. Queries are not checked.

    The documents are read together with their query, because a generator may reuse one list for the next
    request.
    """
    remedy = "Pass a list of pairs: a query and its documents."
    if isinstance(requests, str | bytes | Mapping) or not isinstance(requests, Iterable):
        raise InvalidInputError(f"The requests are {type_name(cast('object', requests))}. {remedy}")
    read: list[Request] = []
    for index, pair in enumerate(cast("Iterable[object]", requests)):
        if not isinstance(pair, tuple | list):
            raise InvalidInputError(f"Request {index} is {type_name(pair)}. {remedy}")
        if (length := len(cast("Sequence[object]", pair))) != 2:
            raise InvalidInputError(f"Request {index} has {length} values. {remedy}")
        query, docs = cast("tuple[str | None, object]", pair)
        read.append((query, read_documents(docs)))
    return read


def _read_document(item: object, where: str) -> Document:
    if isinstance(item, str):
        return Document(item)
    if isinstance(item, Mapping):
        values = cast("Mapping[str, Any]", item)
        if "text" not in values:
            raise InvalidInputError(f"{where} has no 'text' key, only {sorted(map(str, values))}. Add it.")
        metadata: object = values.get("metadata", {})
        if not isinstance(metadata, Mapping):
            raise InvalidInputError(f"{where} has metadata that is {type_name(metadata)}. Pass a mapping.")
        extra = {key: value for key, value in values.items() if key not in _DOCUMENT_KEYS}
        item = Document(
            values["text"],
            values.get("title"),
            values.get("id"),
            {**extra, **cast("Mapping[str, Any]", metadata)},
        )
    if not isinstance(item, Document):
        raise InvalidInputError(
            f"{where} is {type_name(item)}. Pass text, a Document, or a mapping with 'text'."
        )
    if not isinstance(cast("object", item.text), str):
        raise InvalidInputError(
            f"{where} has a text that is {type_name(item.text)}. Pass text; decode bytes first."
        )
    for name, value in (("a title", item.title), ("an id", item.id)):
        if not isinstance(cast("object", value), str | None):
            raise InvalidInputError(f"{where} has {name} that is {type_name(value)}. Pass text or None.")
    return item


def decode_utf8(raw: bytes, source: str) -> str:
    """Decode a file, and remove its byte order mark. Line endings stay as they are, so offsets count them.

    Messages name the `source`. Raises InvalidInputError for bytes that are not UTF-8, or not text.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # After a byte order mark, the error counts bytes from the end of the mark.
        start = error.start + len(raw) - len(error.object)
        raise InvalidInputError(
            f"{source}: not UTF-8 text (byte 0x{raw[start]:02x} at {start}). "
            "Convert it, for example with iconv -t UTF-8."
        ) from error
    if "\0" in text:
        raise InvalidInputError(f"{source}: has NUL bytes, so it is a binary file. Give text.")
    return text


def check_count(value: object, name: str, unit: str, *, minimum: int = 1) -> int:
    """Return `value` as an int. Raises InvalidInputError unless it is a whole number of at least `minimum`.

    Messages begin with `name`, and name the unit ("tokens", "threads").
    """
    remedy = f"Pass a whole number of {unit}, {minimum} or more."
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidInputError(f"{name} is {type_name(value)}. {remedy}")
    count = int(value)
    if count < minimum:
        raise InvalidInputError(f"{name} is {count}. {remedy}")
    return count


def check_time_limit(seconds: object, name: str = "timeout_s") -> float:
    """Return the seconds that a call may take.

    Raises InvalidInputError unless they are a positive number that a thread can wait for. Messages begin with
    `name`.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, Real):
        raise InvalidInputError(f"{name} is {type_name(seconds)}. Pass seconds, such as 60.0.")
    limit = float(seconds)
    if not (math.isfinite(limit) and 0 < limit <= threading.TIMEOUT_MAX):
        longest = int(threading.TIMEOUT_MAX)
        raise InvalidInputError(
            f"{name} is {seconds}. Pass seconds above 0 and at most {longest}, such as 60.0."
        )
    return limit


def check_share(value: object, name: str, remedy: str) -> float:
    """Return `value` as a float. Raises InvalidInputError unless it is a number above 0 and at most 1.

    The error message begins with `name` and ends with `remedy`, a full sentence.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidInputError(f"{name} is {type_name(value)}. {remedy}")
    share = float(value)
    if math.isnan(share) or not 0 < share <= 1:
        raise InvalidInputError(f"{name} is {share}. {remedy}")
    return share


def check_members(value: object, members: Sequence[str], name: str, remedy: str) -> None:
    """Raise InvalidInputError unless `value` has all of these members.

    The error message begins with `name` and ends with `remedy`, a full sentence. A class is refused too,
    because callers often pass a class by mistake instead of an instance.
    """
    if isinstance(value, type) or not all(hasattr(value, member) for member in members):
        kind = f"the class {value.__name__}" if isinstance(value, type) else type_name(value)
        raise InvalidInputError(f"{name} is {kind}. {remedy}")


def check_text(value: object, name: str, remedy: str = "Pass text.") -> str:
    """Return `value`. Raises InvalidInputError unless it is a text, which may be empty.

    The error message begins with `name` and ends with `remedy`, a full sentence.
    """
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} is {type_name(value)}. {remedy}")
    return value


def check_kind(value: object, kind: type[Item], name: str) -> Item:
    """Return `value`. Raises InvalidInputError unless it is an instance of `kind`."""
    if not isinstance(value, kind):
        raise InvalidInputError(f"{name} is {type_name(value)}. Pass a {kind.__name__}.")
    return value


def check_flag(value: object, name: str) -> bool:
    """Return `value`. Raises InvalidInputError unless it is a bool: the text "false" would count as true."""
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name} is {type_name(value)}. Pass True or False.")
    return value


def check_list(value: object, kind: type[Item] | UnionType, name: str, remedy: str) -> list[Item]:
    """Return `value` as a list. Raises InvalidInputError unless given an iterable of objects of this kind.

    The error message begins with `name` and ends with `remedy`, a full sentence. A text is not a list of
    texts.
    """
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{name} is {type_name(cast('object', value))}. {remedy}")
    items = list(cast("Iterable[Item]", value))
    for index, item in enumerate(items):
        if not isinstance(item, kind):
            raise InvalidInputError(f"{name} has {type_name(item)} at position {index}. {remedy}")
    return items


def check_compressor(value: Item) -> Item:
    """Return `value`. Raises InvalidInputError unless it can be used as a compressor."""
    check_members(value, ("compress", "count_tokens"), "The compressor", "Pass a tersely.Compressor.")
    return value


def split_json_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line that is not blank, with its number, counted from 1."""
    # Not splitlines(): JSON strings may hold U+2028 and its like, which do not end a line of JSON.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line


def show_value(value: object) -> str:
    """Return the `repr` of a value for a message, or the beginning of a long one."""
    text = repr(value)
    return text if len(text) <= _MAX_VALUE_CHARACTERS else f"{text[:_MAX_VALUE_CHARACTERS]}…"


def type_name(value: object) -> str:
    """Return how a message names the type of a value: "a list", but "None" and "True"."""
    if isinstance(value, bool | None):
        return str(value)
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
