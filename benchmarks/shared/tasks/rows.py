"""Reader of the data folder: gzipped JSON lines, one question a row.

A row holds `question`, `answers` and `docs`, each doc with `title`, `text`, `gold`, `sentences`, `support`
(indices into `sentences`) and `spans` (answer ranges of `text`); null or absent means unlabelled. Sets of
long documents store them once in `<set>.docs.jsonl.gz` and refer to them by `docs_ref`, with `gold_docs`,
`support` as [doc, sentence] and `spans` as [doc, start, end] at row level.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from tersely.errors import InvalidInputError
from tersely.metrics import Range

Row = dict[str, Any]


def find_data_folder(data: str | Path | None) -> Path:
    """Return `data`, else the environment's TERSELY_DATA. Raises InvalidInputError without a folder."""
    chosen = data or os.environ.get("TERSELY_DATA")
    if not chosen:
        raise InvalidInputError("no data folder: pass --data DIR or set TERSELY_DATA")
    folder = Path(chosen)
    if not folder.is_dir():
        raise InvalidInputError(
            f"the data folder {folder} does not exist: pass --data DIR or set TERSELY_DATA"
        )
    return folder


def read_rows(folder: Path, split: str, source: str) -> list[Row]:
    """Return every row of `<folder>/<split>/<source>.jsonl.gz`, its documents inline."""
    path = folder / split / f"{source}.jsonl.gz"
    if not path.is_file():
        raise InvalidInputError(f"{path} does not exist: {source} is not in this data folder's {split} split")
    shared_path = path.with_name(f"{source}.docs.jsonl.gz")
    shared = {d["docs_ref"]: d["docs"] for d in read_lines(shared_path)} if shared_path.is_file() else {}
    return [_inline(row, shared) for row in read_lines(path)]


def locate(text: str, sentences: Sequence[str]) -> list[Range | None]:
    """Find the range of each sentence in `text`, from left to right. White space may differ.

    None for a sentence that is absent or has no visible character.
    """
    ranges: list[Range | None] = []
    cursor = 0
    for sentence in sentences:
        match = _find(text, sentence, cursor)
        if match:
            cursor = match[1]
        ranges.append(match)
    return ranges


def _find(text: str, sentence: str, cursor: int) -> Range | None:
    stripped = sentence.strip()
    if not stripped:
        return None
    start = text.find(stripped, cursor)
    if start >= 0:
        return start, start + len(stripped)
    pattern = r"\s*".join(re.escape(word) for word in stripped.split())
    match = re.compile(pattern).search(text, cursor)
    return match.span() if match else None


def open_lines(path: Path) -> TextIO:
    """Open a text file, which may be compressed with gzip."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return open(path, encoding="utf-8")


def read_lines(path: Path) -> Iterator[Row]:
    """Yield every JSON line of a file, which may be compressed with gzip."""
    with open_lines(path) as lines:
        for line in lines:
            yield json.loads(line)


def _inline(row: Row, shared: dict[str, list[Row]]) -> Row:
    if row.get("docs") is not None or "docs_ref" not in row:
        return row
    gold, support, spans = row.get("gold_docs"), row.get("support"), row.get("spans")
    docs: list[Row] = []
    for index, document in enumerate(shared[row["docs_ref"]]):
        doc = dict(document)
        if gold:
            doc["gold"] = index in gold
        if support is not None:
            labelled = doc.get("sentences") is not None
            doc["support"] = [sentence for at, sentence in support if at == index] if labelled else None
        if spans is not None:
            doc["spans"] = [[start, end] for at, start, end in spans if at == index]
        docs.append(doc)
    return {**row, "docs": docs}
