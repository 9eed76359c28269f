"""Retrieved documents -> the sentences of them that the query needs."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, Field

from tersely import Compression, Compressor, adapters
from tersely import Document as Source
from tersely.options import Detail, Order


class TerselyCompressor(BaseDocumentCompressor):
    """Compresses what a retriever found; `budget` and `rate` hold for all documents together.

    The documents that come out are new. Each has the id and the metadata of the one it was taken from, and
    under the key "tersely" its `relevance` and where every piece of its text stands in the original:
    `page_content[at:at + end - start] == original.page_content[start:end]` for each of `spans`. Documents of
    which nothing is needed are left out. If the model fails, the documents come back as they were, with a
    logged warning.
    """

    compressor: Compressor = Field(default_factory=Compressor, exclude=True)
    budget: int | None = None
    rate: float | None = None
    recall: float | None = None
    level: Detail | None = None
    max_docs: int | None = None
    order: Order = "source"
    title_key: str | None = "title"
    """Key of the metadata that holds a document's title. It helps to choose, and is not put into the text."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """See `BaseDocumentCompressor`. Raises InvalidInputError for an empty query, options that cannot
        be used, and an id that stands for two texts."""
        found = self.compressor.compress(query, self._sources(documents), **adapters.options(self))
        return _back(documents, found)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """`compress_documents` without blocking the event loop."""
        found = await self.compressor.acompress(query, self._sources(documents), **adapters.options(self))
        return _back(documents, found)

    def _sources(self, documents: Sequence[Document]) -> list[Source]:
        adapters.check_ids((d.id, d.page_content) for d in documents)
        return [adapters.source(d.page_content, d.metadata, self.title_key) for d in documents]


def _back(documents: Sequence[Document], found: Compression) -> list[Document]:
    if found.status == "failed_open":
        return list(documents)
    kept: list[Document] = []
    for part in found.documents:
        source = documents[part.source]
        metadata = {**source.metadata, adapters.KEY: adapters.note(found, part)}
        kept.append(Document(page_content=part.text, metadata=metadata, id=source.id))
    return kept
