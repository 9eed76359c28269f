"""Documents on their way into an index -> the same, prepared for later questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import BaseDocumentTransformer, Document

from tersely import Compressor, adapters


class TerselyPreparer(BaseDocumentTransformer):
    """Prepares documents before they are stored, so that a `TerselyCompressor` later takes less time.

    What is prepared goes into the metadata under "tersely_prepared", as text of about twice the length
    of the document's. Split documents before, not after.

    Args:
        compressor: one with the model of the `TerselyCompressor`; None for the bundled model.
        title_key: that of the `TerselyCompressor`.

    Raises:
        InvalidInputError: the compressor is none; later, its model cannot prepare documents.
    """

    def __init__(self, compressor: Compressor | None = None, *, title_key: str | None = "title") -> None:
        self.compressor = adapters.check_compressor(compressor)
        self.title_key = adapters.check_text(title_key, "title_key")

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Copies of the documents, each with what was prepared of it."""
        documents = list(documents)  # a generator can be read only once
        sources = ((document.page_content, document.metadata) for document in documents)
        prepared = adapters.prepare_documents(self.compressor, sources, self.title_key)
        return [
            document.model_copy(update={"metadata": {**document.metadata, adapters.PREPARED_KEY: own}})
            for document, own in zip(documents, prepared, strict=True)
        ]
