"""Retrieved nodes -> the sentences of them that the query needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import ImageNode, MetadataMode, NodeWithScore, QueryBundle, TextNode

from tersely import Compression, Compressor, Document, InvalidInputError, adapters
from tersely.adapters import KEY
from tersely.options import Detail, Order
from tersely.types import CompressedDocument


class TerselyPostprocessor(BaseNodePostprocessor):
    """Compresses what a retriever found; `budget` and `rate` hold for all nodes together.

    The nodes that come out are copies with the same ids and relationships. Their metadata has, under the key
    "tersely" and hidden from model and embedding, their `relevance` and where every piece of the text stands
    in the node that it was taken from; `start_char_idx` and `end_char_idx` reach from the first piece to the
    last. Nodes of which nothing is needed are left out; nodes without text, such as images, stay. If the
    model fails, the nodes come back as they were, with a logged warning.

    Raises InvalidInputError for a missing or empty query, and for an id that stands for two texts.
    """

    compressor: Compressor = Field(default_factory=Compressor, exclude=True)
    budget: int | None = None
    rate: float | None = None
    recall: float | None = None
    level: Detail | None = None
    max_docs: int | None = None
    order: Order = Field(default="source", description="'rerank' sorts by relevance, which becomes the score")
    keep_top: bool = Field(
        default=False, description="where nothing is needed: whether the first node comes back whole"
    )
    title_key: str | None = Field(default="title", description="key of the metadata that holds a title")

    @classmethod
    def class_name(cls) -> str:
        """See `BaseComponent`."""
        return "TerselyPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        read = [n for n in nodes if _has_text(n)]
        found = self.compressor.compress(_query(query_bundle), self._sources(read), **adapters.options(self))
        return self._back(nodes, read, found)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        read = [n for n in nodes if _has_text(n)]
        found = await self.compressor.acompress(
            _query(query_bundle), self._sources(read), **adapters.options(self)
        )
        return self._back(nodes, read, found)

    def _sources(self, nodes: Sequence[NodeWithScore]) -> list[Document]:
        texts = [n.node.get_content(MetadataMode.NONE) for n in nodes]
        adapters.check_ids((n.node.node_id, text) for n, text in zip(nodes, texts, strict=True))
        return [
            adapters.source(text, n.node.metadata, self.title_key)
            for text, n in zip(texts, nodes, strict=True)
        ]

    def _back(
        self, nodes: Sequence[NodeWithScore], read: Sequence[NodeWithScore], found: Compression
    ) -> list[NodeWithScore]:
        if found.status == "failed_open":
            return list(nodes)
        kept = [
            (part.source, _shortened(read[part.source], part, adapters.note(found, part), self.order))
            for part in found.documents
        ]
        if not kept and self.keep_top and nodes:
            return [nodes[0]]
        if self.order == "rerank":
            return [node for _, node in kept] + [n for n in nodes if not _has_text(n)]
        places = {id(n): place for place, n in enumerate(nodes)}
        placed = [(places[id(read[source])], node) for source, node in kept]
        placed += [(place, n) for place, n in enumerate(nodes) if not _has_text(n)]
        return [node for _, node in sorted(placed, key=lambda pair: pair[0])]


def _query(bundle: QueryBundle | None) -> str:
    if bundle is None:
        raise InvalidInputError("There is no query. Pass query_bundle or query_str.")
    return bundle.query_str


def _has_text(node: NodeWithScore) -> bool:
    return isinstance(node.node, TextNode) and not isinstance(node.node, ImageNode)


def _shortened(
    given: NodeWithScore, part: CompressedDocument, note: dict[str, Any], order: Order
) -> NodeWithScore:
    node, spans = given.node, note["spans"]
    assert isinstance(node, TextNode)
    changes: dict[str, Any] = {
        "text": part.text,
        "embedding": None,
        "metadata": {**node.metadata, KEY: note},
        "excluded_llm_metadata_keys": [*node.excluded_llm_metadata_keys, KEY],
        "excluded_embed_metadata_keys": [*node.excluded_embed_metadata_keys, KEY],
    }
    if node.start_char_idx is not None and spans:
        changes["start_char_idx"] = node.start_char_idx + min(span["start"] for span in spans)
        changes["end_char_idx"] = node.start_char_idx + max(span["end"] for span in spans)
    score = part.relevance if order == "rerank" else given.score
    return NodeWithScore(node=node.model_copy(update=changes), score=score)
