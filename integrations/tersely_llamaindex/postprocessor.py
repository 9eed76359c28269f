"""Retrieved nodes -> the sentences of them that the query needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from llama_index.core.bridge.pydantic import ConfigDict, Field
from llama_index.core.callbacks import CallbackManager
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import (
    BaseNode,
    ImageNode,
    MetadataMode,
    Node,
    NodeWithScore,
    QueryBundle,
    TextNode,
)
from llama_index_instrumentation import get_dispatcher
from pydantic.json_schema import SkipJsonSchema

from tersely import (
    Compression,
    CompressionArguments,
    CompressionOptions,
    Compressor,
    Document,
    adapters,
)

_DISPATCHER = get_dispatcher(__name__)


class TerselyCompressionEvent(BaseEvent):
    """A compression was made. The receipt is that of `tersely.Compression.to_dict()`, without texts."""

    receipt: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex serializes the event."""
        return "TerselyCompressionEvent"


class PostprocessorArguments(CompressionArguments, total=False):
    """Arguments of a `TerselyPostprocessor`: its fields, and every option of `Compressor.compress`."""

    compressor: Compressor
    options: CompressionOptions
    keep_top: bool
    title_key: str | None
    callback_manager: CallbackManager


class TerselyPostprocessor(BaseNodePostprocessor):
    """Compresses retrieved nodes. `budget` and `rate` hold for all nodes together.

    `TerselyPostprocessor(budget=800)` takes every option of `Compressor.compress`; they are in `options`.
    Without a query, what tells most about the nodes is kept, which needs a limit.
    With `order="rerank"` the nodes are sorted by their relevance, which becomes their score.

    The nodes that come out are copies with the same ids and relationships. Under the key "tersely", hidden
    from models and embeddings, their metadata has their `relevance` and `spans`, which say where every piece
    of the text stands in the original node. `start_char_idx` and `end_char_idx` reach from the first piece to
    the last. Nodes of which nothing is needed are left out. Nodes without text stay, and so do nodes that
    also hold an image, a sound or a video, with the text that is needed. If the model fails without a
    limit, the nodes come back as they were; under one, exact matches choose. Both are logged. A
    `TerselyCompressionEvent` with the receipt is dispatched.

    What `TerselyPreparer` has put into the metadata is used, and left out of what comes out.

    Raises:
        InvalidInputError: an option does not exist or cannot be used; later, an empty query, or an id that
            stands for two texts.
    """

    compressor: SkipJsonSchema[Compressor] = Field(default_factory=Compressor, exclude=True)
    options: CompressionOptions = CompressionOptions()
    keep_top: bool = Field(
        default=False, description="where nothing is needed: whether the first node comes back whole"
    )
    title_key: str | None = Field(default="title", description="key of the metadata that holds a title")

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    def __init__(self, **arguments: Unpack[PostprocessorArguments]) -> None:
        values = adapters.gather_options(arguments)
        values.pop("class_name", None)  # LlamaIndex writes it into what model_dump() gives
        super().__init__(**values)

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex serializes the class."""
        return "TerselyPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        nodes = _read(nodes)
        originals = [node for node in nodes if _has_text(node)]
        query, sources = query_bundle and query_bundle.query_str, self._to_sources(originals)
        result = self.compressor.compress(query, sources, **self.options.arguments())
        return self._to_nodes(result, originals, nodes)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        nodes = _read(nodes)
        originals = [node for node in nodes if _has_text(node)]
        query, sources = query_bundle and query_bundle.query_str, self._to_sources(originals)
        result = await self.compressor.acompress(query, sources, **self.options.arguments())
        return self._to_nodes(result, originals, nodes)

    def _to_sources(self, nodes: Sequence[NodeWithScore]) -> list[Document]:
        texts = [node.node.get_content(MetadataMode.NONE) for node in nodes]
        adapters.check_ids((node.node.node_id, text) for node, text in zip(nodes, texts, strict=True))
        return [
            adapters.to_document(text, node.node.metadata, self.title_key)
            for node, text in zip(nodes, texts, strict=True)
        ]

    def _to_nodes(
        self, result: Compression, originals: Sequence[NodeWithScore], nodes: Sequence[NodeWithScore]
    ) -> list[NodeWithScore]:
        """The compressed `originals`, and those of all `nodes` that have no text."""
        _DISPATCHER.event(TerselyCompressionEvent(receipt=adapters.make_receipt(result)))
        if result.status == "failed_open":
            return list(nodes)
        if not result.documents and self.keep_top and nodes:
            return [nodes[0]]
        ranked = self.options.order == "rerank"
        kept: list[tuple[NodeWithScore, NodeWithScore]] = []
        for compressed in result.documents:
            original = originals[compressed.source]
            note = adapters.make_note(result, compressed)
            node = _replace_text(original.node, compressed.text, note)
            score = compressed.relevance if ranked else original.score
            kept.append((original, NodeWithScore(node=node, score=score)))
        with_text = {id(node) for node, _ in kept}
        for node in nodes:
            if not _has_text(node):
                kept.append((node, node))
            elif id(node) not in with_text and _has_media(node.node):
                bare = _replace_text(node.node, "", {"relevance": 0.0, "spans": []})
                kept.append((node, NodeWithScore(node=bare, score=node.score)))
        if ranked:
            return [node for _, node in kept]
        places = {id(node): place for place, node in enumerate(nodes)}
        return [node for _, node in sorted(kept, key=lambda pair: places[id(pair[0])])]


def _read(nodes: object) -> list[NodeWithScore]:
    """As a list: a generator can be read only once."""
    return adapters.check_list(nodes, NodeWithScore, "nodes", "Pass a list of LlamaIndex's NodeWithScore.")


def _has_text(node: NodeWithScore) -> bool:
    if isinstance(node.node, Node):
        return node.node.text_resource is not None and bool(node.node.text_resource.text)
    return isinstance(node.node, TextNode) and not (isinstance(node.node, ImageNode) and not node.node.text)


def _has_media(node: BaseNode) -> bool:
    """Whether the node holds more than text."""
    if isinstance(node, Node):
        return any((node.image_resource, node.audio_resource, node.video_resource))
    return isinstance(node, ImageNode)


def _replace_text(node: BaseNode, text: str, note: dict[str, Any]) -> BaseNode:
    """A copy of the node with another text and the note."""
    spans, key = note["spans"], adapters.NOTE_KEY
    changes: dict[str, Any] = {
        "embedding": None,  # it was that of the whole text
        "metadata": adapters.add_note(node.metadata, note),
        "excluded_llm_metadata_keys": [*node.excluded_llm_metadata_keys, key],
        "excluded_embed_metadata_keys": [*node.excluded_embed_metadata_keys, key],
    }
    if isinstance(node, Node) and node.text_resource is not None:
        resource = node.text_resource.model_copy(update={"text": text, "embeddings": None})
        changes["text_resource"] = resource
    else:
        changes["text"] = text
    if isinstance(node, TextNode) and node.start_char_idx is not None and spans:
        changes["start_char_idx"] = node.start_char_idx + min(span["start"] for span in spans)
        changes["end_char_idx"] = node.start_char_idx + max(span["end"] for span in spans)
    return node.model_copy(update=changes)
