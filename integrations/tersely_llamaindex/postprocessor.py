"""Compress retrieved nodes, and prepare nodes before they are stored."""

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
    TransformComponent,
)
from llama_index_instrumentation import get_dispatcher
from pydantic.json_schema import SkipJsonSchema

from tersely import Compression, CompressionArguments, CompressionOptions, Compressor
from tersely.adapters import (
    NOTE_KEY,
    PREPARED_KEY,
    add_note,
    gather_options,
    make_note,
    make_receipt,
    prepare_documents,
    to_documents,
)
from tersely.inputs import check_list
from tersely.runtime.cancellation import run_cancellable

_DISPATCHER = get_dispatcher(__name__)


class TerselyCompressionEvent(BaseEvent):
    """A compression was made. The receipt is `tersely.Compression.to_dict()` without texts."""

    receipt: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serializes the event."""
        return "TerselyCompressionEvent"


class PostprocessorArguments(CompressionArguments, total=False):
    """Arguments of a `TerselyPostprocessor`: its fields, and every option of `Compressor.compress`."""

    compressor: Compressor
    options: CompressionOptions
    keep_top: bool
    title_key: str | None
    callback_manager: CallbackManager


class TerselyPostprocessor(BaseNodePostprocessor):
    """A compressor of retrieved nodes. `budget` and `rate` limit all nodes together.

    `TerselyPostprocessor(budget=800)` takes every option of `Compressor.compress`; they are in `options`.
    Without a query, the most informative sentences are kept, which needs a limit. With `order="rerank"` the
    nodes are sorted by relevance, which becomes their score.

    The output nodes are copies with the same ids and relationships. The metadata key "tersely", hidden from
    models and embeddings, holds `relevance` and `spans`, the place of each piece of the text in the original.
    `start_char_idx` and `end_char_idx` reach from the first piece to the last. Nodes that the query does not
    need are left out. Nodes without text stay, and so do nodes that also hold an image, a sound or a video,
    with the text that is needed. If the model fails, the nodes come back unchanged, or under a limit, exact
    matches choose the sentences. Both are logged. A `TerselyCompressionEvent` with the receipt is dispatched.

    Nodes that a `TerselyPreparer` has prepared take less time; the output does not hold that data.

    Raises:
        InvalidInputError: an option does not exist or cannot be used; later, the query is empty, or two
            different texts have the same id.
    """

    compressor: SkipJsonSchema[Compressor] = Field(default_factory=Compressor, exclude=True)
    options: CompressionOptions = CompressionOptions()
    keep_top: bool = Field(
        default=False, description="whether the first node comes back whole if nothing is needed"
    )
    title_key: str | None = Field(default="title", description="key of the metadata that holds a title")

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    def __init__(self, **arguments: Unpack[PostprocessorArguments]) -> None:
        values = gather_options(arguments)
        values.pop("class_name", None)  # LlamaIndex writes it into the result of model_dump()
        super().__init__(**values)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serializes the class."""
        return "TerselyPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        nodes = check_list(nodes, NodeWithScore, "nodes", "Pass a list of LlamaIndex's NodeWithScore.")
        originals = [node for node in nodes if _has_text(node)]
        inner = (scored.node for scored in originals)
        rows = ((node.node_id, node.get_content(MetadataMode.NONE), node.metadata) for node in inner)
        sources = to_documents(rows, self.title_key)
        query = query_bundle and query_bundle.query_str
        result = self.compressor.compress(query, sources, **self.options.arguments())
        _DISPATCHER.event(TerselyCompressionEvent(receipt=make_receipt(result)))
        return self._shorten(result, originals, nodes)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return await run_cancellable(self._postprocess_nodes, nodes, query_bundle)

    def _shorten(
        self, result: Compression, originals: Sequence[NodeWithScore], nodes: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        """Return the compressed `originals`, and those of all `nodes` that have no text."""
        if result.status == "failed_open":
            return nodes
        if not result.documents and self.keep_top and nodes and result.status != "abstained":
            return [nodes[0]]
        ranked = self.options.order == "rerank"
        kept: list[tuple[NodeWithScore, NodeWithScore]] = []
        for compressed in result.documents:
            original = originals[compressed.source]
            node = _replace_text(original.node, compressed.text, make_note(result, compressed))
            score = compressed.relevance if ranked else original.score
            kept.append((original, NodeWithScore(node=node, score=score)))
        with_text = {id(node) for node, _ in kept}
        for node in nodes:
            if not _has_text(node):
                kept.append((node, node))
            elif id(node) not in with_text and _has_media(node.node):
                bare = _replace_text(node.node, "", {"relevance": 0.0, "spans": []})
                kept.append((node, NodeWithScore(node=bare, score=node.score)))
        if not ranked:
            places = {id(node): place for place, node in enumerate(nodes)}
            kept.sort(key=lambda pair: places[id(pair[0])])
        return [node for _, node in kept]


def _has_text(node: NodeWithScore) -> bool:
    if isinstance(node.node, Node):
        return node.node.text_resource is not None and bool(node.node.text_resource.text)
    return isinstance(node.node, TextNode) and not (isinstance(node.node, ImageNode) and not node.node.text)


def _has_media(node: BaseNode) -> bool:
    if isinstance(node, Node):
        return any((node.image_resource, node.audio_resource, node.video_resource))
    return isinstance(node, ImageNode)


def _replace_text(node: BaseNode, text: str, note: dict[str, Any]) -> BaseNode:
    """Return a copy of the node with another text and the note."""
    changes = {
        **_hide(node, NOTE_KEY),
        "embedding": None,  # it was that of the whole text
        "metadata": add_note(node.metadata, note),
    }
    if isinstance(node, Node) and node.text_resource is not None:
        resource = node.text_resource.model_copy(update={"text": text, "embeddings": None})
        changes["text_resource"] = resource
    else:
        changes["text"] = text
    spans = note["spans"]
    if isinstance(node, TextNode) and node.start_char_idx is not None and spans:
        changes["start_char_idx"] = node.start_char_idx + min(span["start"] for span in spans)
        changes["end_char_idx"] = node.start_char_idx + max(span["end"] for span in spans)
    return node.model_copy(update=changes)


def _hide(node: BaseNode, key: str) -> dict[str, Any]:
    """Return the changes that hide a metadata key from models and embeddings."""
    return {
        field: sorted({*getattr(node, field), key})
        for field in ("excluded_llm_metadata_keys", "excluded_embed_metadata_keys")
    }


class TerselyPreparer(TransformComponent):
    """A transformation that prepares nodes before they are stored, so that a `TerselyPostprocessor` later
    takes less time.

    The prepared data goes into the metadata under "tersely_prepared", hidden from models and embeddings, as
    text about twice as long as the node's. Put it after the splitter of a pipeline.

    Raises:
        InvalidInputError: the compressor's model cannot prepare documents.
    """

    compressor: SkipJsonSchema[Compressor] = Field(default_factory=Compressor, exclude=True)
    title_key: str | None = Field(default="title", description="that of the TerselyPostprocessor")

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serializes the class."""
        return "TerselyPreparer"

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """Return copies of the nodes with their prepared data."""
        nodes = list(nodes)
        rows = ((node.get_content(MetadataMode.NONE), node.metadata) for node in nodes)
        prepared = prepare_documents(self.compressor, rows, self.title_key)
        return [
            node.model_copy(
                update={"metadata": {**node.metadata, PREPARED_KEY: data}, **_hide(node, PREPARED_KEY)}
            )
            for node, data in zip(nodes, prepared, strict=True)
        ]
