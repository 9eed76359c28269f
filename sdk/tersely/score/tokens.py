"""Token ids of a request: those that were prepared, and the tokenizer's for the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tersely.score.layout import EncodedDocument, Ids, Layout
from tersely.score.protocol import ScoredInput


class RequestIds(NamedTuple):
    """Token ids of the query, of each title, and of each sentence."""

    query: Ids
    titles: list[Ids]
    sentences: list[Ids]

    def group_by_document(self, documents: Sequence[ScoredInput]) -> list[EncodedDocument]:
        """The same as the layout takes them."""
        out: list[EncodedDocument] = []
        start = 0
        for title, document in zip(self.titles, documents, strict=True):
            end = start + len(document.units)
            out.append(EncodedDocument(title, self.sentences[start:end]))
            start = end
        return out


def tokenise(layout: Layout, query: str, documents: Sequence[ScoredInput]) -> RequestIds:
    """Stops like `Layout.tokenize`."""
    texts = [query, *(d.title or "" for d in documents)]
    texts += [d.text[u.start : u.end] for d in documents for u in d.units]
    known: list[Ids | None] = [None, *map(_find_title, documents)]
    known += [ids for d in documents for ids in _find_units(d)]
    missing = iter(layout.tokenize([text for text, ids in zip(texts, known, strict=True) if ids is None]))
    ids = [next(missing) if own is None else own for own in known]
    count = len(documents)
    return RequestIds(ids[0], ids[1 : count + 1], ids[count + 1 :])


def _find_title(document: ScoredInput) -> Ids | None:
    return None if document.preparation is None else list(document.preparation.title_ids)


def _find_units(document: ScoredInput) -> list[Ids | None]:
    if document.preparation is None:
        return [None] * len(document.units)
    ids = document.preparation.ids
    return [None if at is None else list(ids[at]) for at in document.preparation.locate(document.units)]
