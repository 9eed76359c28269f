"""Retrieved documents -> the sentences of them that the query needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict

from tersely import Compression, Compressor, adapters
from tersely import Document as Source
from tersely.options import Detail, Order


@component
class TerselyDocumentCompressor:
    """Compresses what a retriever found; `budget` and `rate` hold for all documents together.

    The documents that come out are new. Each has the id, the score and the meta of the one it was taken from,
    and under the key "tersely" its `relevance` and where every piece of its content stands in the original.
    Documents of which nothing is needed are left out; documents without text, such as images, stay, at the
    end. If the model fails, the documents come back as they were, with a logged warning.

    Args:
        model: None for the bundled model, a folder, or a hub name.
        title_key: key of the meta that holds a document's title.

    The others are those of `tersely.Compressor.compress`.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        budget: int | None = None,
        rate: float | None = None,
        recall: float | None = None,
        level: Detail | None = None,
        max_docs: int | None = None,
        order: Order = "source",
        title_key: str | None = "title",
        threads: int | None = None,
    ) -> None:
        self.model, self.title_key, self.threads = model, title_key, threads
        self.options: dict[str, Any] = {
            "budget": budget,
            "rate": rate,
            "recall": recall,
            "level": level,
            "max_docs": max_docs,
            "order": order,
        }
        self._compressor: Compressor | None = None

    def warm_up(self) -> None:
        """Load the model, once."""
        if self._compressor is None:
            self._compressor = Compressor(self.model, threads=self.threads)

    def to_dict(self) -> dict[str, Any]:
        """See `Component`."""
        own = {"model": self.model, "title_key": self.title_key, "threads": self.threads}
        return default_to_dict(self, **own, **self.options)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TerselyDocumentCompressor:
        """See `Component`."""
        return default_from_dict(cls, data)

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document]) -> dict[str, list[Document]]:
        """Compress `documents` for `query`. Raises InvalidInputError for an empty query, options that
        cannot be used, and an id that stands for two texts."""
        self.warm_up()
        assert self._compressor is not None
        read = [d for d in documents if d.content is not None]
        found = self._compressor.compress(query, self._sources(read), **self.options)
        return {"documents": _back(documents, read, found)}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, documents: list[Document]) -> dict[str, list[Document]]:
        """`run` without blocking the event loop."""
        import asyncio

        await asyncio.to_thread(self.warm_up)
        assert self._compressor is not None
        read = [d for d in documents if d.content is not None]
        found = await self._compressor.acompress(query, self._sources(read), **self.options)
        return {"documents": _back(documents, read, found)}

    def _sources(self, documents: list[Document]) -> list[Source]:
        adapters.check_ids((d.id, d.content or "") for d in documents)
        return [adapters.source(d.content or "", d.meta, self.title_key) for d in documents]


def _back(documents: list[Document], read: list[Document], found: Compression) -> list[Document]:
    if found.status == "failed_open":
        return list(documents)
    kept: list[Document] = []
    for part in found.documents:
        source = read[part.source]
        meta = {**source.meta, adapters.KEY: adapters.note(found, part)}
        # The embedding was that of the whole text.
        kept.append(replace(source, content=part.text, meta=meta, embedding=None, sparse_embedding=None))
    return kept + [d for d in documents if d.content is None]
