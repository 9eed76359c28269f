"""The files of a run: contexts and answers while it grows, and the rows without texts that are published."""

from __future__ import annotations

import json
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path

from benchmarks.reading.contexts import Context, Key
from benchmarks.rows import Line, read_lines

ROWS = Path(__file__).parent / "rows"
"""The folder of the rows: a file for the contexts, and one for each reader."""
CONTEXTS = "contexts.jsonl"
get_key = itemgetter("set", "id", "system", "size")
"""Returns the values that identify the context of a line, which holds a context or a reader's answer."""


def append(path: Path, rows: Iterable[Line]) -> None:
    """Add rows to a file of JSON lines, in one write, after removing a last line that was cut off."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    with path.open("ab+") as stream:
        stream.seek(0)
        whole = stream.read().rfind(b"\n") + 1
        stream.truncate(whole)
        stream.write(text.encode("utf-8"))


def read_contexts(folder: Path) -> list[Context]:
    """Return the contexts of a work folder."""
    contexts: dict[Key, Context] = {}
    for row in read_lines(folder / CONTEXTS):
        row["answers"] = tuple(row["answers"])
        row["kept"] = _to_spans(row["kept"])
        context = Context(**row)
        contexts[context.key] = context
    return list(contexts.values())


def _to_spans(kept: list[list[int]] | None) -> tuple[tuple[int, int, int], ...] | None:
    return None if kept is None else tuple((doc, start, end) for doc, start, end in kept)
