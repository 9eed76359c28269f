"""Files of JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that hold something, with their numbers.

    Not splitlines(): JSON strings may hold U+2028 and its like, which do not end a line of JSON.
    """
    with path.open(encoding="utf-8", newline="\n") as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                yield number, line
