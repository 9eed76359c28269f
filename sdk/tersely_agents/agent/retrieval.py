"""Search for documents, and choose the parts of them that an agent reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.inputs import check_compressor, check_count, check_list, check_members
from tersely.runtime.paths import check_path
from tersely.score.bm25 import BM25
from tersely.split.sentences import split_units
from tersely.types import Document
from tersely_agents.summaries import Summarizer

SUFFIXES = (".md", ".markdown", ".rst", ".txt", ".text")
PASSAGE_CHARACTERS = 900
"""Largest number of characters of a passage, unless a single unit is longer."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that matches a query, and its best passage."""

    docid: str
    title: str
    passage: str
    score: float
    url: str | None = None
    """The document's address, if it has one. The model sees it, and may open the document by it."""


class Retriever(Protocol):
    """An index that an agent can search."""

    def search(self, query: str, k: int) -> Sequence[Hit]:
        """Return the k best documents, best first; fewer if fewer match."""
        ...

    def open(self, docid: str) -> Document:
        """Return a whole document, by its docid or its url. Raises KeyError for an unknown one."""
        ...


def check_retriever(value: object) -> None:
    """Raise InvalidInputError unless `value` can search and open."""
    check_members(value, ("search", "open"), "The retriever", "Pass one with search() and open().")


class DocumentIndex:
    """BM25 over the passages of documents, by their ids.

    Raises InvalidInputError if there is no document.
    """

    def __init__(self, documents: Mapping[str, Document]) -> None:
        remedy = "Pass {id: Document(text)}."
        check_members(documents, ("items", "values"), "The collection of documents", remedy)
        check_list(documents.values(), Document, "The collection of documents", remedy)
        if not documents:
            raise InvalidInputError("There is no document to search.")
        self._documents = dict(documents)
        self._passages = [
            (docid, passage)
            for docid, document in self._documents.items()
            for passage in split_passages(document.text)
        ]
        self._index = BM25([f"{self._documents[docid].title} {text}" for docid, text in self._passages])

    def __len__(self) -> int:
        return len(self._documents)

    def search(self, query: str, k: int) -> list[Hit]:
        """Return the k best documents, best first, each ranked by its best passage."""
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
        """Return a whole document. Raises KeyError for an unknown id."""
        return self._documents[docid]


class FolderIndex(DocumentIndex):
    """A `DocumentIndex` of all text files under `folder`; a document's id is its path inside the folder.

    Raises InvalidInputError if the folder is missing or holds no text.
    """

    def __init__(self, folder: str | Path) -> None:
        documents = read_folder(folder)
        if not documents:
            raise InvalidInputError(
                f"{str(folder)!r} holds no text in files that end in {', '.join(SUFFIXES)}."
            )
        super().__init__(documents)


def read_folder(folder: str | Path) -> dict[str, Document]:
    """Return the text files under `folder` by their paths inside it. Raises InvalidInputError if it is
    missing."""
    root = check_path(folder, "The folder")
    if not root.is_dir():
        raise InvalidInputError(f"There is no folder {str(root)!r}.")
    documents: dict[str, Document] = {}
    for file in sorted(root.rglob("*")):
        if file.suffix.lower() in SUFFIXES and file.is_file():
            docid = file.relative_to(root).as_posix()
            text = file.read_text(encoding="utf-8", errors="replace")
            if text.strip():
                documents[docid] = Document(text, title=_find_title(text, file), id=docid)
    return documents


def _find_title(text: str, file: Path) -> str:
    """Return the heading that the text begins with, or the file's name."""
    first = text.lstrip().split("\n", 1)[0].strip()
    if first.startswith("#"):
        return first.lstrip("#").strip()
    return file.stem.replace("_", " ").replace("-", " ")


def split_passages(text: str) -> list[str]:
    """Split a text into passages: neighbouring units, joined up to `PASSAGE_CHARACTERS`."""
    passages: list[str] = []
    start = end = -1
    for unit in split_units(text):
        if start >= 0 and unit.end - start > PASSAGE_CHARACTERS:
            passages.append(text[start:end])
            start = -1
        if start < 0:
            start = unit.start
        end = unit.end
    return [*passages, text[start:end]] if start >= 0 else passages


class SelectedHits:
    """A retriever that shortens the hits of another one to the sentences that the query needs. All hits
    together have at most `budget` tokens. Hits without such a sentence are left out."""

    def __init__(self, retriever: Retriever, compressor: Compressor, budget: int) -> None:
        check_retriever(retriever)
        self._retriever = retriever
        self._compressor = check_compressor(compressor)
        self._budget = check_count(budget, "budget", "tokens")

    def search(self, query: str, k: int) -> list[Hit]:
        """Return the k best documents, shortened, best first."""
        hits = self._retriever.search(query, k)
        documents = [Document(hit.passage, title=hit.title) for hit in hits]
        kept = self._compressor.compress(query, documents, budget=self._budget).documents if hits else ()
        return [replace(hits[document.source], passage=document.text) for document in kept]

    def open(self, docid: str) -> Document:
        """Return a whole document. Raises KeyError for an unknown id."""
        return self._retriever.open(docid)


Reading = Callable[[str, str, Sequence[Hit]], str]
"""A function that builds the text that an agent reads, from its question, its search query and the hits."""


def read_passages(question: str, query: str, hits: Sequence[Hit]) -> str:
    """Return the passages as they are, best first."""
    return "\n".join(f"({number}) {hit.title}: {hit.passage}" for number, hit in enumerate(hits, 1))


@dataclass(frozen=True, slots=True)
class SelectedSentences:
    """A `Reading` that shows the sentences that the compressor keeps, in at most `budget` tokens."""

    compressor: Compressor
    budget: int | None = None

    def __post_init__(self) -> None:
        check_compressor(self.compressor)
        _check_budget(self.budget)

    def __call__(self, question: str, query: str, hits: Sequence[Hit]) -> str:
        wanted = query if query == question else f"{question} {query}"
        return self.compressor.compress(wanted, _to_documents(hits), budget=self.budget).text


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A `Reading` that shows a summary for the question and the query, in at most `budget` tokens
    (RECON)."""

    summarizer: Summarizer
    budget: int | None = None

    def __post_init__(self) -> None:
        check_members(self.summarizer, ("summarize",), "The summarizer", "Pass a Summarizer.")
        _check_budget(self.budget)

    def __call__(self, question: str, query: str, hits: Sequence[Hit]) -> str:
        documents = _to_documents(hits)
        return self.summarizer.summarize(query, documents, question=question, budget=self.budget).text


def _check_budget(budget: int | None) -> None:
    if budget is not None:
        check_count(budget, "budget", "tokens")


def _to_documents(hits: Sequence[Hit]) -> list[Document]:
    return [Document(hit.passage, title=hit.title, id=hit.docid) for hit in hits]
