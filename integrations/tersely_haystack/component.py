"""A pipeline component that keeps the sentences of retrieved documents that the query needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

from haystack import Document, component, default_from_dict, default_to_dict

import tersely
from tersely import CompressionArguments, Compressor, InvalidInputError
from tersely.adapters import add_note, check_title_key, make_note, name_options, to_documents
from tersely.inputs import check_count, check_flag, check_list, check_text
from tersely.options import make_options
from tersely.runtime.cancellation import run_cancellable
from tersely_ledger import RecordingCompressor, default_path


@component
class TerselyDocumentCompressor:
    """A compressor of retrieved documents. `budget` and `rate` limit all documents together.

    The output documents are copies with the id, the score and the meta of their originals. The meta key
    "tersely" holds `relevance` and `spans`, the place of each piece of the content in the original. Documents
    that the query does not need are left out. Documents without text, such as images, stay, and come last. If
    the model fails, the documents come back unchanged, or under a limit, exact matches choose the sentences.
    Both are logged.

    Args:
        model: None for the bundled model, a folder, or a hub name.
        title_key: meta key of a document's title.
        threads: the largest number of threads for one call; None for every core that this process may use.
        ledger: file of the ledger that records each run; None records nothing.
        shadow: True to return the documents unchanged, and only record what would have been left out; without
            `ledger`, in the default file.
        options: every option of `Compressor.compress`, such as `budget=800`.

    Raises:
        InvalidInputError: an option cannot be used.
    """

    # Haystack refuses to load classes into parameters that a signature does not name.
    @name_options
    def __init__(
        self,
        model: str | None = None,
        *,
        title_key: str | None = "title",
        threads: int | None = None,
        ledger: str | None = None,
        shadow: bool = False,
        **options: Unpack[CompressionArguments],
    ) -> None:
        self.model = check_model_name(model)
        self.title_key = check_title_key(title_key)
        self.threads = None if threads is None else check_count(threads, "threads", "threads")
        self.ledger = None if ledger is None else check_text(ledger, "ledger", "Pass the name of a file.")
        self.shadow = check_flag(shadow, "shadow")
        self.options = make_options(options)
        self._compressor: Compressor | None = None

    def warm_up(self) -> None:
        """Load the model, and open the ledger, once."""
        if self._compressor is None:
            compressor = Compressor(self.model, threads=self.threads)
            if self.ledger is not None or self.shadow:
                file = self.ledger or default_path()
                compressor = RecordingCompressor(compressor, file, shadow=self.shadow, source="haystack")
            self._compressor = compressor

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments of `__init__`, for YAML."""
        names = ("model", "title_key", "threads", "ledger", "shadow")
        own = {name: getattr(self, name) for name in names}
        return default_to_dict(self, **own, **self.options.arguments())

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TerselyDocumentCompressor:
        """Make the component that `to_dict` has described."""
        return default_from_dict(cls, data)

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document], query: str | None = None) -> dict[str, list[Document]]:
        """Compress the documents. Without a query, keep the most informative sentences, which needs a limit.

        Raises InvalidInputError if the query is empty, if two different texts have the same id, and unless
        given a list of documents.
        """
        self.warm_up()
        assert self._compressor is not None
        documents = check_list(documents, Document, "documents", "Pass a list of Haystack's documents.")
        originals = [document for document in documents if document.content is not None]
        rows = ((document.id, document.content or "", document.meta) for document in originals)
        sources = to_documents(rows, self.title_key)
        result = self._compressor.compress(query, sources, **self.options.arguments())
        if self.shadow or result.status == "failed_open":
            return {"documents": documents}
        kept = [_shorten(originals[document.source], document, result) for document in result.documents]
        return {"documents": kept + [document for document in documents if document.content is None]}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, documents: list[Document], query: str | None = None
    ) -> dict[str, list[Document]]:
        """Call `run` without blocking the event loop."""
        return await run_cancellable(self.run, documents, query)


def check_model_name(value: object) -> str | None:
    """Return a folder, a hub name, or None for the bundled model. Raises InvalidInputError for anything
    else."""
    if value is None:
        return None
    name = check_text(value, "model", "Pass text, or None.")
    if not name.strip():
        raise InvalidInputError("model is empty. Pass a folder or a hub name, or None for the bundled model.")
    return name


def _shorten(
    original: Document, compressed: tersely.CompressedDocument, result: tersely.Compression
) -> Document:
    meta = add_note(original.meta, make_note(result, compressed))
    # The embeddings are those of the whole text.
    return replace(original, content=compressed.text, meta=meta, embedding=None, sparse_embedding=None)
