"""Compress, prepare and rerank retrieved documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from langchain_core.callbacks import Callbacks
from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.runnables.config import (
    RunnableConfig,
    ensure_config,
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
)
from pydantic import ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

import tersely
from tersely import CompressionArguments, CompressionOptions, Compressor, InvalidInputError
from tersely.adapters import (
    PREPARED_KEY,
    add_note,
    check_title_key,
    gather_options,
    make_note,
    make_receipt,
    prepare_documents,
    resolve_compressor,
    to_documents,
)
from tersely.inputs import check_list, check_members
from tersely.rerank import Relevance, Reranker

EVENT_NAME = "tersely.compression"
"""Name of the callback event that carries the receipt of a compression."""
_PAIRS = "Pass a list of pairs: a query and a text."


class CompressorArguments(CompressionArguments, total=False):
    """Arguments of a `TerselyCompressor`: its fields, and every option of `Compressor.compress`."""

    compressor: Compressor
    options: CompressionOptions
    title_key: str | None


class TerselyCompressor(BaseDocumentCompressor):
    """A compressor of retrieved documents. `budget` and `rate` limit all documents together.

    Every option of `Compressor.compress` is an argument, as in `TerselyCompressor(budget=800)`. The field
    `options` holds them.

    The output documents are new, with the id and the metadata of their originals. The metadata key "tersely"
    holds `relevance` and `spans`, the place of each piece of the text in the original (`page_content[at:at +
    end - start] == original.page_content[start:end]`). Documents that the query does not need are left out.
    If the model fails, the documents come back unchanged, or under a limit, exact matches choose the
    sentences. Both are logged.

    Documents that a `TerselyPreparer` has prepared take less time; the output does not hold that data.
    Callbacks get the receipt, without texts, as the custom event "tersely.compression".

    Raises:
        InvalidInputError: an option does not exist or cannot be used.
    """

    compressor: SkipJsonSchema[Compressor] = Field(default_factory=Compressor, exclude=True)
    options: CompressionOptions = CompressionOptions()
    title_key: str | None = "title"
    """Metadata key of a document's title, which helps to choose and is not put into the text."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    def __init__(self, **arguments: Unpack[CompressorArguments]) -> None:
        super().__init__(**gather_options(arguments))

    def compress_documents(
        self, documents: Sequence[Document], query: str | None, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Compress the documents. Without a query, keep the most informative sentences, which needs a limit.

        Raises InvalidInputError if `documents` is not a list of documents, if two of them have one id and two
        texts, or if the query is empty.
        """
        originals, sources = self._read(documents)
        result = self.compressor.compress(query, sources, **self.options.arguments())
        manager = get_callback_manager_for_config(_configure(callbacks))
        manager.on_custom_event(EVENT_NAME, make_receipt(result), manager.parent_run_id)
        return _shorten(originals, result)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Call `compress_documents` without blocking the event loop."""
        originals, sources = self._read(documents)
        result = await self.compressor.acompress(query, sources, **self.options.arguments())
        manager = get_async_callback_manager_for_config(_configure(callbacks))
        await manager.on_custom_event(EVENT_NAME, make_receipt(result), manager.parent_run_id)
        return _shorten(originals, result)

    def _read(self, documents: object) -> tuple[list[Document], list[tersely.Document]]:
        """Return the documents as a list, because a generator can be read only once, and as tersely's."""
        originals = check_list(documents, Document, "documents", "Pass a list of LangChain's documents.")
        return originals, to_documents(
            ((d.id, d.page_content, d.metadata) for d in originals), self.title_key
        )


def _configure(callbacks: Callbacks | None) -> RunnableConfig:
    """Return the given callbacks, or else those of the chain around this call."""
    return ensure_config(None if callbacks is None else {"callbacks": callbacks})


def _shorten(originals: list[Document], result: tersely.Compression) -> list[Document]:
    if result.status == "failed_open":
        return originals
    documents: list[Document] = []
    for compressed in result.documents:
        original = originals[compressed.source]
        metadata = add_note(original.metadata, make_note(result, compressed))
        documents.append(Document(page_content=compressed.text, metadata=metadata, id=original.id))
    return documents


class TerselyPreparer(BaseDocumentTransformer):
    """A transformer that prepares documents before they are stored, so that a `TerselyCompressor` later takes
    less time.

    The prepared data goes into the metadata under "tersely_prepared", as text that is about twice as long as
    the document's. Split documents before you prepare them.

    Args:
        compressor: one with the model of the `TerselyCompressor`; None for the bundled model.
        title_key: that of the `TerselyCompressor`.

    Raises:
        InvalidInputError: an argument cannot be used. `transform_documents` raises it if the model cannot
            prepare documents.
    """

    def __init__(self, compressor: Compressor | None = None, *, title_key: str | None = "title") -> None:
        self.compressor = resolve_compressor(compressor)
        self.title_key = check_title_key(title_key)

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Return copies of the documents with their prepared data."""
        documents = list(documents)  # a generator can be read only once
        rows = ((document.page_content, document.metadata) for document in documents)
        prepared = prepare_documents(self.compressor, rows, self.title_key)
        return [
            document.model_copy(update={"metadata": {**document.metadata, PREPARED_KEY: data}})
            for document, data in zip(documents, prepared, strict=True)
        ]


class TerselyReranker(BaseCrossEncoder):
    """A cross-encoder that ranks texts by relevance: `CrossEncoderReranker(model=TerselyReranker(),
    top_n=3)`.

    Args:
        reranker: any of `tersely.rerank`; None for the relevance that the bundled model computes.

    Raises:
        InvalidInputError: the reranker has no method `rank`.
    """

    def __init__(self, reranker: Reranker | None = None) -> None:
        if reranker is not None:
            remedy = "Pass an object with rank(), such as those of tersely.rerank."
            check_members(reranker, ("rank",), "reranker", remedy)
        self._reranker = reranker or Relevance()

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        """Return the relevance of each text to its query, for pairs of (query, text).

        Pairs with the same query are read together. Raises InvalidInputError unless given pairs of texts.
        """
        text_pairs = check_list(text_pairs, tuple | list, "text_pairs", _PAIRS)
        if any([type(text) for text in pair] != [str, str] for pair in text_pairs):
            raise InvalidInputError(f"text_pairs has an item that is not a pair of texts. {_PAIRS}")
        places_of: dict[str, list[int]] = {}
        for place, (query, _) in enumerate(text_pairs):
            places_of.setdefault(query, []).append(place)
        scores = [0.0] * len(text_pairs)
        for query, places in places_of.items():
            documents = [tersely.Document(text_pairs[place][1]) for place in places]
            for place, score in zip(places, self._reranker.rank(query, documents), strict=True):
                scores[place] = score
        return scores
