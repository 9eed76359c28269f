"""The results of a batch, one JSON object a line: on standard output, or in a file that can be continued.

A result has the number of its request's line, `line`. A request that cannot be used has `error` instead of a
result.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, cast

from tersely.cli.documents import Request
from tersely.cli.output import to_json
from tersely.errors import InvalidInputError

Row = dict[str, Any]


class Results:
    """Where the results of a batch go, and which are there already."""

    def __init__(self, stream: TextIO, done: dict[int, str | None], name: str) -> None:
        self._stream = stream
        self._done = done
        self._name = name

    def has(self, request: Request) -> bool:
        """Whether the request is done. Raises InvalidInputError if its line was another request's."""
        is_done = request.line in self._done
        if is_done and self._done[request.line] != request.query:
            raise InvalidInputError(
                f"{self._name} has the result of another question for line {request.line}. Name the file of "
                "this batch, or leave out --resume and name a new one."
            )
        return is_done

    def write(self, row: Row) -> None:
        """Write one line, which stays even if the process is killed."""
        print(to_json(row), file=self._stream, flush=True)


@contextmanager
def open_results(path: str | None, *, resume: bool) -> Generator[Results]:
    """The results in the file `path`; on standard output without one.

    With `resume` the file may exist. Its results stay, and what was cut short in it, or failed, goes.

    Raises:
        InvalidInputError: the file exists and `resume` is false, or it does not hold results.
    """
    if path is None:
        yield Results(sys.stdout, {}, "standard output")
        return
    file = Path(path)
    done = _keep_results(file) if resume and file.exists() else {}
    mode = "a" if resume else "x"
    try:
        stream = file.open(mode, encoding="utf-8", errors="backslashreplace", newline="")
    except FileExistsError as error:
        raise InvalidInputError(
            f"{path} exists. Pass --resume to go on with it, or name another file."
        ) from error
    with stream:
        yield Results(stream, done, path)


def _keep_results(file: Path) -> dict[int, str | None]:
    """The queries of the results in a file, by line. Everything else is removed from it."""
    lines = file.read_bytes().splitlines(keepends=True)
    rows = [(line, _parse(line)) for line in lines]
    kept = [(line, row) for line, row in rows if row is not None and "error" not in row]
    if any(line.endswith(b"\n") for line in lines) and not any(row is not None for _, row in rows):
        raise InvalidInputError(f"{file} does not hold the results of a batch. Name another file.")
    if len(kept) < len(rows):
        # Beside the file and then in its place, so that a kill in between loses nothing.
        fresh = file.with_name(f"{file.name}.resumed")
        fresh.write_bytes(b"".join(line for line, _ in kept))
        os.replace(fresh, file)
    return {row["line"]: row["query"] for _, row in kept}


def _parse(line: bytes) -> Row | None:
    """The row in a line; None for one that was cut short or is no row."""
    if not line.endswith(b"\n"):
        return None
    try:
        row: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    values = cast("Row", row)
    is_result = type(values.get("line")) is int and isinstance(values.get("query", 0), str | None)
    return values if is_result or "error" in values else None
