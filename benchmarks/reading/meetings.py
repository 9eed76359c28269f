"""Questions with short answers about meetings of QMSum.

The repository holds the questions and the places of their answers: (start, end, CRC-32 of the text there).
The meetings are in the data folder.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

from benchmarks.shared.tasks.example import Example, SourceDocument
from benchmarks.shared.tasks.rows import find_data_folder, read_lines
from tersely.errors import InvalidInputError

FILE = Path(__file__).parent / "meetings.jsonl"


def load_meetings(data: str | None, limit: int) -> list[Example]:
    """Return the first `limit` questions, each with its whole meeting as the only document."""
    shared = read_lines(find_data_folder(data) / "eval" / "qmsum.docs.jsonl.gz")
    texts = {row["docs_ref"]: row["docs"][0]["text"] for row in shared}
    return [_read_question(line, texts) for line in FILE.read_text(encoding="utf-8").splitlines()[:limit]]


def _read_question(line: str, texts: dict[str, str]) -> Example:
    row = json.loads(line)
    text = texts[row["meeting"]]
    start, end, checksum = row["answer"]
    answer = text[start:end]
    if zlib.crc32(answer.encode()) != checksum:
        raise InvalidInputError(f"the meeting {row['meeting']} differs from that of the question {row['id']}")
    return Example(
        id=row["id"],
        question=row["question"],
        answers=(answer, *row["also"]),
        documents=(SourceDocument(None, text, gold=True),),
        support=None,
        answer_spans=((0, start, end),),
        findable=True,
    )
