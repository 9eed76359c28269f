"""The component in Haystack's pipelines."""

from __future__ import annotations

import pytest

pytest.importorskip("haystack")
from haystack import Document, Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.core.errors import DeserializationError
from haystack.dataclasses import ByteStream

from tersely import CompressionOptions
from tersely_haystack import TerselyDocumentCompressor
from tests.integrations.samples import ANSWER, EXAMPLES, HARBOUR, MUSEUM, OPTION_NAMES, QUESTION

ALLOWED_MODULES = ["tersely_haystack.component"]
"""Haystack reads components from YAML only from modules that it knows or is told."""
DOCUMENTS = [
    Document(id="h", content=HARBOUR, meta={"page": 3}, score=0.5),
    Document(id="m", content=MUSEUM, meta={"title": "Museum", "page": 7}, score=0.9, embedding=[0.1, 0.2]),
    Document(id="image", blob=ByteStream(b"png")),
]


def test_a_pipeline_from_yaml_gives_the_same() -> None:
    made = Pipeline()
    made.add_component("join", DocumentJoiner(sort_by_score=False))
    made.add_component("compress", TerselyDocumentCompressor(budget=12))
    made.connect("join.documents", "compress.documents")
    for pipeline in (made, Pipeline.loads(made.dumps(), allowed_modules=ALLOWED_MODULES)):
        result = pipeline.run({"join": {"documents": DOCUMENTS}, "compress": {"query": QUESTION}})
        document, image = result["compress"]["documents"]
        assert (document.content, document.id, document.score) == (ANSWER, "m", 0.9)
        assert (document.meta["page"], document.embedding) == (7, None)
        assert image == DOCUMENTS[2]


@pytest.mark.parametrize("name", OPTION_NAMES)
def test_every_option_survives_yaml(name: str) -> None:
    pipeline = Pipeline()
    pipeline.add_component("compress", TerselyDocumentCompressor(**{name: EXAMPLES[name]}, threads=1))
    component = Pipeline.loads(pipeline.dumps(), allowed_modules=ALLOWED_MODULES).get_component("compress")
    assert isinstance(component, TerselyDocumentCompressor)
    assert component.options == CompressionOptions(**{name: EXAMPLES[name]})
    assert component.threads == 1


def test_a_class_under_an_unknown_name_is_not_loaded() -> None:
    data = TerselyDocumentCompressor(budget=12).to_dict()
    data["init_parameters"]["helper"] = {"type": "os.path.join"}
    with pytest.raises(DeserializationError, match="unknown parameter 'helper'"):
        TerselyDocumentCompressor.from_dict(data)
