"""Retrieved documents -> the sentences of them that the query needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables.config import (
    RunnableConfig,
    ensure_config,
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
)
from pydantic import ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

import tersely
from tersely import CompressionArguments, CompressionOptions, Compressor, adapters


class CompressorArguments(CompressionArguments, total=False):
    """Arguments of a `TerselyCompressor`: its fields, and every option of `Compressor.compress`."""

    compressor: Compressor
    options: CompressionOptions
    title_key: str | None


class TerselyCompressor(BaseDocumentCompressor):
    """Compresses retrieved documents. `budget` and `rate` hold for all documents together.

    `TerselyCompressor(budget=800)` takes every option of `Compressor.compress`; they are in `options`.

    The documents that come out are new. Each has the id and the metadata of its original. Under the key
    "tersely" the metadata has its `relevance` and `spans`, which say where every piece of its text stands in
    the original: `page_content[at:at + end - start] == original.page_content[start:end]`. Documents of which
    nothing is needed are left out. If the model fails without a limit, the documents come back as they were;
    under one, exact matches choose. Both are logged.

    What `TerselyPreparer` has put into the metadata is used, and left out of what comes out.

    Callbacks get the receipt, without texts, as the custom event "tersely.compression".

    Raises:
        InvalidInputError: an option does not exist or cannot be used.
    """

    compressor: SkipJsonSchema[Compressor] = Field(default_factory=Compressor, exclude=True)
    options: CompressionOptions = CompressionOptions()
    title_key: str | None = "title"
    """Key of the metadata that holds a document's title. It helps to choose, and is not put into the text."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    def __init__(self, **arguments: Unpack[CompressorArguments]) -> None:
        super().__init__(**adapters.gather_options(arguments))

    def compress_documents(
        self, documents: Sequence[Document], query: str | None, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The compressed documents. Without a query, what tells most about them, up to a limit.

        Raises InvalidInputError for an empty query, for an id that stands for two texts, and for what is no
        list of documents.
        """
        documents = _read(documents)
        sources = self._to_sources(documents)
        result = self.compressor.compress(query, sources, **self.options.arguments())
        manager = get_callback_manager_for_config(_configure(callbacks))
        manager.on_custom_event(adapters.EVENT_NAME, adapters.make_receipt(result), manager.parent_run_id)
        return _to_langchain(result, documents)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """`compress_documents` without blocking the event loop."""
        documents = _read(documents)
        sources = self._to_sources(documents)
        result = await self.compressor.acompress(query, sources, **self.options.arguments())
        manager = get_async_callback_manager_for_config(_configure(callbacks))
        receipt = adapters.make_receipt(result)
        await manager.on_custom_event(adapters.EVENT_NAME, receipt, manager.parent_run_id)
        return _to_langchain(result, documents)

    def _to_sources(self, documents: Sequence[Document]) -> list[tersely.Document]:
        adapters.check_ids((document.id, document.page_content) for document in documents)
        return [adapters.to_document(d.page_content, d.metadata, self.title_key) for d in documents]


def _read(documents: object) -> list[Document]:
    """As a list: a generator can be read only once."""
    return adapters.check_list(documents, Document, "documents", "Pass a list of LangChain's documents.")


def _configure(callbacks: Callbacks | None) -> RunnableConfig:
    """The callbacks that were passed, or else those of the chain around this call."""
    return ensure_config(None if callbacks is None else {"callbacks": callbacks})


def _to_langchain(result: tersely.Compression, originals: Sequence[Document]) -> list[Document]:
    if result.status == "failed_open":
        return list(originals)
    documents: list[Document] = []
    for compressed in result.documents:
        original = originals[compressed.source]
        metadata = adapters.add_note(original.metadata, adapters.make_note(result, compressed))
        documents.append(Document(page_content=compressed.text, metadata=metadata, id=original.id))
    return documents
