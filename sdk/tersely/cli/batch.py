"""Batches of requests: one JSON line in, one JSON line out. A file of results can be continued.

A result has the number of its request's line, `line`. A request that cannot be used gets `error` instead of a
result.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from tersely.cli import OK, USAGE, print_message
from tersely.cli.read import Request, is_stdin, read_requests
from tersely.cli.show import print_warnings, show_progress, to_json
from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.options import CompressionOptions

Row = dict[str, Any]


def compress_batch(
    compressor: Compressor, options: CompressionOptions, file: BinaryIO, out: Path | None, *, resume: bool
) -> int:
    """Compress the requests in a file and return the exit code.

    The results go to the new file `out`, or to standard output. With `resume` the file may exist. Then its
    results stay. Lines that were cut short or hold an error are removed, and their requests are repeated.

    Raises InvalidInputError if `out` exists and `resume` is false, or if it does not hold results of this
    batch.
    """
    requests: Iterable[Request] = read_requests(file)
    if not is_stdin(file):
        requests = list(requests)  # the progress bar needs to know the end
    done = _keep_results(out) if out and resume and out.exists() else {}
    has_errors, code = False, OK
    with _open_results(out, resume=resume) as stream, show_progress(requests) as progress:
        for request in progress:
            if request.error is None and request.line in done:
                if done[request.line] != request.query:
                    raise InvalidInputError(
                        f"{out} has the result of another question for line {request.line}. Name the file of "
                        "this batch, or leave out --resume and name a new one."
                    )
                continue
            row: Row = {"line": request.line}
            if request.id is not None:
                row["id"] = request.id
            try:
                if request.error is not None:
                    raise request.error
                row["query"] = request.query
                result = compressor.compress(request.query, request.documents, **options.arguments())
                row |= result.to_dict()
                code = print_warnings(result, f"line {request.line}: ") or code
            except InvalidInputError as error:
                has_errors = True
                row["error"] = str(error)
                print_message(error if error is request.error else f"line {request.line}: {error}", USAGE)
            print(to_json(row), file=stream, flush=True)  # the line stays even if the process is killed
    return USAGE if has_errors else code


def _open_results(file: Path | None, *, resume: bool) -> AbstractContextManager[TextIO]:
    if file is None:
        return nullcontext(sys.stdout)
    try:
        return file.open("a" if resume else "x", encoding="utf-8", errors="backslashreplace", newline="")
    except FileExistsError as error:
        raise InvalidInputError(
            f"{file} exists. Pass --resume to go on with it, or name another file."
        ) from error


def _keep_results(file: Path) -> dict[int, str | None]:
    """Return the query of each result in a file by its line, and remove everything else from the file."""
    lines = file.read_bytes().splitlines(keepends=True)
    rows = [(line, _parse_row(line)) for line in lines]
    kept = [(line, row) for line, row in rows if row is not None and "error" not in row]
    if any(line.endswith(b"\n") for line in lines) and not any(row is not None for _, row in rows):
        raise InvalidInputError(f"{file} does not hold the results of a batch. Name another file.")
    if len(kept) < len(rows):
        # Write a second file and replace the first, so that a kill in between loses nothing.
        fresh = file.with_name(f"{file.name}.resumed")
        fresh.write_bytes(b"".join(line for line, _ in kept))
        os.replace(fresh, file)
    return {row["line"]: row["query"] for _, row in kept}


def _parse_row(line: bytes) -> Row | None:
    """Return the row in a line, or None if the line was cut short or holds something else."""
    try:
        row: object = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    values = cast("Row", row)
    is_result = type(values.get("line")) is int and isinstance(values.get("query", 0), str | None)
    return values if is_result or "error" in values else None
