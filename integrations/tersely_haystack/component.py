"""Retrieved documents -> the sentences of them that the query needs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Unpack

from haystack import Document, component, default_from_dict, default_to_dict

import tersely
from tersely import CompressionArguments, Compressor, adapters


@component
class TerselyDocumentCompressor:
    """Compresses retrieved documents. `budget` and `rate` hold for all documents together.

    The documents that come out are new. Each has the id, the score and the meta of its original. Under the
    key "tersely" the meta has its `relevance` and `spans`, which say where every piece of its content stands
    in the original. Documents of which nothing is needed are left out; documents without text, such as
    images, stay, at the end. If the model fails without a limit, the documents come back as they were;
    under one, exact matches choose. Both are logged.

    Args:
        model: None for the bundled model, a folder, or a hub name.
        title_key: key of the meta that holds a document's title.
        threads: most threads that one call uses; None for every core that this process may use.
        options: every option of `Compressor.compress`, such as `budget=800`.

    Raises:
        InvalidInputError: an option cannot be used.
    """

    # Haystack refuses to load classes into parameters that a signature does not name.
    @adapters.name_options
    def __init__(
        self,
        model: str | None = None,
        *,
        title_key: str | None = "title",
        threads: int | None = None,
        **options: Unpack[CompressionArguments],
    ) -> None:
        self.model = adapters.check_model_name(model)
        self.title_key = adapters.check_text(title_key, "title_key")
        self.threads = None if threads is None else adapters.check_count(threads, "threads", "threads")
        self.options = adapters.make_options(options)
        self._compressor: Compressor | None = None

    def warm_up(self) -> None:
        """Load the model, once."""
        if self._compressor is None:
            self._compressor = Compressor(self.model, threads=self.threads)

    def to_dict(self) -> dict[str, Any]:
        """The arguments of `__init__`, for YAML."""
        return default_to_dict(
            self,
            model=self.model,
            title_key=self.title_key,
            threads=self.threads,
            **self.options.arguments(),
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TerselyDocumentCompressor:
        """The component of a dictionary that `to_dict` has made."""
        return default_from_dict(cls, data)

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document], query: str | None = None) -> dict[str, list[Document]]:
        """The compressed documents. Without a query, what tells most about them, up to a limit.

        Raises InvalidInputError for an empty query, for an id that stands for two texts, and for what is no
        list of documents.
        """
        self.warm_up()
        assert self._compressor is not None
        documents = _read(documents)
        originals = [document for document in documents if document.content is not None]
        sources = self._to_sources(originals)
        result = self._compressor.compress(query, sources, **self.options.arguments())
        return {"documents": _to_haystack(result, originals, documents)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, documents: list[Document], query: str | None = None
    ) -> dict[str, list[Document]]:
        """`run` without blocking the event loop."""
        await asyncio.to_thread(self.warm_up)
        assert self._compressor is not None
        documents = _read(documents)
        originals = [document for document in documents if document.content is not None]
        sources = self._to_sources(originals)
        result = await self._compressor.acompress(query, sources, **self.options.arguments())
        return {"documents": _to_haystack(result, originals, documents)}

    def _to_sources(self, documents: list[Document]) -> list[tersely.Document]:
        adapters.check_ids((document.id, document.content or "") for document in documents)
        return [adapters.to_document(d.content or "", d.meta, self.title_key) for d in documents]


def _read(documents: object) -> list[Document]:
    """As a list: a generator can be read only once."""
    return adapters.check_list(documents, Document, "documents", "Pass a list of Haystack's documents.")


def _to_haystack(
    result: tersely.Compression, originals: list[Document], documents: list[Document]
) -> list[Document]:
    """The compressed `originals`, and those of all `documents` that have no text."""
    if result.status == "failed_open":
        return list(documents)
    kept: list[Document] = []
    for compressed in result.documents:
        original = originals[compressed.source]
        meta = adapters.add_note(original.meta, adapters.make_note(result, compressed))
        # The embeddings are those of the whole text.
        kept.append(
            replace(original, content=compressed.text, meta=meta, embedding=None, sparse_embedding=None)
        )
    return kept + [document for document in documents if document.content is None]
