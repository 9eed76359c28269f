"""Nodes on their way into an index -> the same, prepared for later questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.bridge.pydantic import ConfigDict, Field
from llama_index.core.schema import BaseNode, MetadataMode, TransformComponent
from pydantic.json_schema import SkipJsonSchema

from tersely import Compressor, adapters


class TerselyPreparer(TransformComponent):
    """Prepares nodes before they are stored, so that a `TerselyPostprocessor` later takes less time.

    What is prepared goes into the metadata under "tersely_prepared", hidden from models and embeddings, as
    text of about twice the length of the node's. Put it behind the splitter of a pipeline.

    Raises:
        InvalidInputError: the compressor's model cannot prepare documents.
    """

    compressor: SkipJsonSchema[Compressor] = Field(default_factory=Compressor, exclude=True)
    title_key: str | None = Field(default="title", description="that of the TerselyPostprocessor")

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex serializes the class."""
        return "TerselyPreparer"

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """Copies of the nodes, each with what was prepared of it."""
        nodes = list(nodes)
        sources = ((node.get_content(MetadataMode.NONE), node.metadata) for node in nodes)
        prepared = adapters.prepare_documents(self.compressor, sources, self.title_key)
        return [_add(node, own) for node, own in zip(nodes, prepared, strict=True)]


def _add(node: BaseNode, prepared: str) -> BaseNode:
    key = adapters.PREPARED_KEY
    return node.model_copy(
        update={
            "metadata": {**node.metadata, key: prepared},
            "excluded_llm_metadata_keys": sorted({*node.excluded_llm_metadata_keys, key}),
            "excluded_embed_metadata_keys": sorted({*node.excluded_embed_metadata_keys, key}),
        }
    )
