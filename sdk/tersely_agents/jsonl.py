"""Read files of JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def read_numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers from 1."""
    # splitlines() would also split at U+2028 and similar characters, which a JSON string may contain.
    with path.open(encoding="utf-8", newline="\n") as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                yield number, line
