"""The passages of a corpus, in SQLite."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

ROWS = 10_000
"""Number of passages that are written at once."""


@dataclass(frozen=True, slots=True)
class Passage:
    docid: str
    title: str
    text: str
    url: str | None


def read_corpus(file: Path) -> Iterator[Passage]:
    """Read passages from JSON lines with `text` and, if there are any, `id`, `title` and `url`; or with
    `contents`, whose first line is the title (the form of Search-R1's Wikipedia).

    Raises ValueError that names a line without text.
    """
    with open(file, encoding="utf-8") as stream:
        for number, line in enumerate(stream):
            try:
                row: dict[str, Any] = json.loads(line)
                title, text = row.get("title") or "", row.get("text")
                if text is None:
                    title, _, text = row["contents"].partition("\n")
                yield Passage(str(row.get("id", number)), title.strip('"'), text, row.get("url"))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(
                    f'{file}, line {number + 1}: expected {{"text": string, "title": string}}: {error!r}'
                ) from error


class Store:
    """The passages in a file, numbered from 0. Threads share a store."""

    def __init__(self, path: Path) -> None:
        self._path, self._local = path, threading.local()

    def __len__(self) -> int:
        (count,) = self._connect().execute("SELECT coalesce(max(number) + 1, 0) FROM passages").fetchone()
        return count

    def write(self, passages: Iterable[Passage]) -> int:
        """Write the passages of a new file. Returns their number."""
        connection = self._connect()
        connection.executescript(
            """
            PRAGMA journal_mode = off; PRAGMA synchronous = off;
            CREATE TABLE passages (number INTEGER PRIMARY KEY, id TEXT, title TEXT, text TEXT, url TEXT);
            """
        )
        numbered = ((number, p.docid, p.title, p.text, p.url) for number, p in enumerate(passages))
        while rows := list(islice(numbered, ROWS)):
            connection.executemany("INSERT INTO passages VALUES (?, ?, ?, ?, ?)", rows)
        connection.executescript(
            """
            CREATE INDEX by_id ON passages (id);
            CREATE INDEX by_url ON passages (url) WHERE url IS NOT NULL;
            """
        )
        connection.commit()
        return len(self)

    def texts(self, start: int, count: int) -> list[str]:
        """Return titles and texts of the passages from `start` on, as they are indexed."""
        query = "SELECT title, text FROM passages WHERE number >= ? ORDER BY number LIMIT ?"
        return [f"{title}\n{text}".strip() for title, text in self._connect().execute(query, (start, count))]

    def read_texts(self) -> Iterator[str]:
        """Return `texts` of all passages."""
        at = 0
        while part := self.texts(at, ROWS):
            yield from part
            at += len(part)

    def find(self, numbers: Sequence[int]) -> list[Passage]:
        """Return the passages with these numbers."""
        query = "SELECT id, title, text, url FROM passages WHERE number = ?"
        return [Passage(*self._connect().execute(query, (number,)).fetchone()) for number in numbers]

    def open(self, key: str) -> Passage | None:
        """Return the passage with this id, or those with this url as one; None if no passage has it."""
        query = "SELECT id, title, text, url FROM passages WHERE {} = ? ORDER BY number"
        for column in ("id", "url"):
            if rows := self._connect().execute(query.format(column), (key,)).fetchall():
                docid, title, _, url = rows[0]
                return Passage(docid, title, "\n".join(row[2] for row in rows), url)
        return None

    def _connect(self) -> sqlite3.Connection:
        if not hasattr(self._local, "connection"):
            self._local.connection = sqlite3.connect(self._path)
        return self._local.connection
