"""The rows of a benchmark: lines of JSON, without texts, in a compressed file. The benchmark's tables are
computed from these lines."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.shared.tasks.rows import open_lines

Line: TypeAlias = dict[str, Any]
"""A row, which is a line of its file: the measurements of one question or case, as JSON."""
Lines: TypeAlias = Sequence[Line]


def group_lines(lines: Lines, *names: str) -> dict[Any, list[Line]]:
    """Group the lines that have the same values for `names`. The lines of a group keep their order.

    The key of a group is the value of the name. With several names, it is the tuple of their values.
    """
    groups: dict[Any, list[Line]] = {}
    for line in lines:
        groups.setdefault(itemgetter(*names)(line), []).append(line)
    return groups


def find_rows(record: Path) -> Path:
    """Return the path of the rows that belong to a record. `record` is the path of the record."""
    return record.parent / "rows" / f"{record.stem}.jsonl.gz"


def write_lines(path: Path, rows: Iterable[Line]) -> None:
    """Write rows as compressed JSON lines. The same rows give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    path.write_bytes(gzip.compress(lines.encode("utf-8"), compresslevel=9, mtime=0))


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the rows of a file of JSON lines, compressed or not. A last line that was cut off is left out."""
    if not path.is_file():
        return
    with open_lines(path) as stream:
        for line in stream:
            if line.endswith("\n"):
                yield json.loads(line)
