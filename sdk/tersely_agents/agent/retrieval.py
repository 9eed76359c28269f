"""Where an agent searches: one protocol, and BM25 over a folder of one's own files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.inputs import check_compressor, check_count, check_members, is_list_of
from tersely.runtime.paths import check_path
from tersely.score.bm25 import BM25
from tersely.split.sentences import split_units
from tersely.types import Document

SUFFIXES = (".md", ".markdown", ".rst", ".txt", ".text")
PASSAGE = 900
"""Characters of the passages that are searched."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that matches a query, and its best passage."""

    docid: str
    title: str
    passage: str
    score: float
    url: str | None = None
    """Its address, where it has one; the model sees it, and may open the document by it."""


class Retriever(Protocol):
    def search(self, query: str, k: int) -> Sequence[Hit]:
        """The k best documents, best first; fewer where fewer match."""
        ...

    def open(self, docid: str) -> Document:
        """A whole document, by its docid or its url. Raises KeyError for one that is not known."""
        ...


def check_retriever(value: object) -> None:
    """Raises InvalidInputError unless `value` can search and open."""
    check_members(value, ("search", "open"), "The retriever", "Pass one with search() and open().")


class DocumentIndex:
    """BM25 over the passages of documents, by their ids.

    Raises InvalidInputError where there is no document.
    """

    def __init__(self, documents: Mapping[str, Document]) -> None:
        remedy = "Pass {id: Document(text)}."
        check_members(documents, ("items", "values"), "The collection of documents", remedy)
        if not is_list_of(list(documents.values()), Document):
            raise InvalidInputError(f"The documents are not all Documents. {remedy}")
        if not documents:
            raise InvalidInputError("There is no document to search.")
        self._documents = dict(documents)
        self._passages: list[tuple[str, str]] = [
            (docid, passage)
            for docid, document in self._documents.items()
            for passage in split_passages(document.text)
        ]
        self._index = BM25([f"{self._documents[docid].title} {text}" for docid, text in self._passages])

    def __len__(self) -> int:
        return len(self._documents)

    def search(self, query: str, k: int) -> list[Hit]:
        """The k best documents, best first, each ranked by its best passage."""
        scores = self._index.scores(query)
        hits: dict[str, Hit] = {}
        order: list[int] = np.argsort(-scores, kind="stable").tolist()
        for place in order:
            if scores[place] <= 0 or len(hits) == k:
                break
            docid, text = self._passages[place]
            title = self._documents[docid].title or docid
            hits.setdefault(docid, Hit(docid, title, text, float(scores[place])))
        return list(hits.values())

    def open(self, docid: str) -> Document:
        """A whole document. Raises KeyError for an id that is not known."""
        return self._documents[docid]


class FolderIndex(DocumentIndex):
    """A `DocumentIndex` of all text files under `folder`; a document's id is its path in there.

    Raises InvalidInputError where the folder is missing or holds no text.
    """

    def __init__(self, folder: str | Path, suffixes: Sequence[str] = SUFFIXES) -> None:
        documents = read_folder(folder, suffixes)
        if not documents:
            raise InvalidInputError(
                f"{str(folder)!r} holds no text in files that end in {', '.join(suffixes)}."
            )
        super().__init__(documents)


class SelectedHits:
    """Another retriever, whose hits have only the sentences that the query needs: within `budget` tokens, all
    hits together. A hit of which nothing is needed is left out."""

    def __init__(self, retriever: Retriever, compressor: Compressor, budget: int) -> None:
        check_retriever(retriever)
        check_compressor(compressor)
        self._retriever = retriever
        self._compressor = compressor
        self._budget = check_count(budget, "budget", "tokens")

    def search(self, query: str, k: int) -> list[Hit]:
        """What is left of the k best documents, best first."""
        hits = self._retriever.search(query, k)
        documents = [Document(hit.passage, title=hit.title) for hit in hits]
        kept = self._compressor.compress(query, documents, budget=self._budget).documents if hits else ()
        return [replace(hits[document.source], passage=document.text) for document in kept]

    def open(self, docid: str) -> Document:
        """A whole document. Raises KeyError for one that is not known."""
        return self._retriever.open(docid)


def read_folder(folder: str | Path, suffixes: Sequence[str] = SUFFIXES) -> dict[str, Document]:
    """The text files under `folder` by their paths in there. Raises InvalidInputError where it is missing."""
    root = check_path(folder, "The folder")
    if not is_list_of(suffixes, str):
        raise InvalidInputError(f"suffixes is {suffixes!r}. Pass a tuple of ends of names, such as ('.md',).")
    if not root.is_dir():
        raise InvalidInputError(f"There is no folder {str(root)!r}.")
    documents: dict[str, Document] = {}
    for file in sorted(root.rglob("*")):
        if file.suffix.lower() in suffixes and file.is_file():
            docid = file.relative_to(root).as_posix()
            text = file.read_text(encoding="utf-8", errors="replace")
            if text.strip():
                documents[docid] = Document(text, title=_title(text, file), id=docid)
    return documents


def split_passages(text: str) -> list[str]:
    """Neighbouring units, joined up to the size of a passage."""
    passages: list[str] = []
    start = end = -1
    for unit in split_units(text):
        if start >= 0 and unit.end - start > PASSAGE:
            passages.append(text[start:end])
            start = -1
        if start < 0:
            start = unit.start
        end = unit.end
    return [*passages, text[start:end]] if start >= 0 else passages


def _title(text: str, file: Path) -> str:
    """The first heading, or the file's name."""
    first = text.lstrip().split("\n", 1)[0].strip()
    return (
        first.lstrip("#").strip() if first.startswith("#") else file.stem.replace("_", " ").replace("-", " ")
    )
