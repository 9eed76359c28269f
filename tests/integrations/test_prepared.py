"""Documents that were prepared before they were stored, in LangChain and LlamaIndex."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from tersely import Compression, Compressor, PreparedDocument
from tersely.adapters import PREPARED_KEY
from tests.integrations.frameworks import Haystack, LangChain, LlamaIndex, Passage
from tests.integrations.samples import ANSWER, HARBOUR, MUSEUM, QUESTION

PASSAGES = [
    Passage("h", HARBOUR, {"title": "Harbour", "page": 3}),
    Passage("m", MUSEUM, {"title": "Museum", "page": 7}),
]


class Watching(Compressor):
    """A scorer that remembers which of its documents were prepared."""

    def compress(self, query: str | None, docs: Any, **options: Any) -> Compression:
        self.prepared = [isinstance(document, PreparedDocument) for document in docs]
        return super().compress(query, docs, **options)


@pytest.fixture(scope="module")
def watching() -> Watching:
    return Watching()


def prepare(
    framework: LangChain | LlamaIndex, compressor: Compressor, passages: Sequence[Passage] = PASSAGES
) -> list[Any]:
    documents = [framework.wrap(passage) for passage in passages]
    if isinstance(framework, LangChain):
        preparer = pytest.importorskip("tersely_langchain").TerselyPreparer(compressor)
        return preparer.transform_documents(documents)
    preparer = pytest.importorskip("tersely_llamaindex").TerselyPreparer(compressor=compressor)
    nodes = preparer([document.node for document in documents])
    return [framework.schema.NodeWithScore(node=node) for node in nodes]


@pytest.mark.parametrize("kind", [LangChain, LlamaIndex])
def test_prepared_documents_give_the_same(kind: type[LangChain | LlamaIndex], watching: Watching) -> None:
    framework = kind()
    adapter = framework.make(watching, budget=12)
    stored = prepare(framework, watching)
    (kept,) = framework.run(adapter, stored, QUESTION)
    assert watching.prepared == [True, True]
    assert framework.read(kept).text == ANSWER
    assert json.loads(json.dumps(framework.read(stored[0]).metadata)) == framework.read(stored[0]).metadata
    (same,) = framework.run(adapter, [framework.wrap(passage) for passage in PASSAGES], QUESTION)
    assert watching.prepared == [False, False]
    own, other = (framework.read(document).metadata for document in (kept, same))
    # Prepared vectors are rounded, so the scores differ a little.
    for name in ("relevance", "answerable"):
        assert own["tersely"].pop(name) == pytest.approx(other["tersely"].pop(name), abs=0.05)
    assert own == other, "prepared data is left out"


def test_prepared_data_is_hidden_from_models_and_embeddings(watching: Watching) -> None:
    framework = LlamaIndex()
    for stored in prepare(framework, watching):
        assert PREPARED_KEY in stored.node.metadata
        for mode in (framework.schema.MetadataMode.LLM, framework.schema.MetadataMode.EMBED):
            assert PREPARED_KEY not in stored.node.get_content(mode)


def test_a_preparer_works_in_an_ingestion_pipeline(watching: Watching) -> None:
    framework = LlamaIndex()
    ingestion = pytest.importorskip("llama_index.core.ingestion")
    splitter = pytest.importorskip("llama_index.core.node_parser").SentenceSplitter()
    preparer = pytest.importorskip("tersely_llamaindex").TerselyPreparer(compressor=watching)
    documents = [framework.schema.Document(text=passage.text) for passage in PASSAGES]
    nodes = ingestion.IngestionPipeline(transformations=[splitter, preparer]).run(documents=documents)
    assert len(nodes) == len(PASSAGES)
    assert all(PREPARED_KEY in node.metadata for node in nodes)


@pytest.mark.parametrize("change", ["text", "title", "bytes", "type"])
def test_data_of_another_document_is_not_used(
    change: str, watching: Watching, caplog: pytest.LogCaptureFixture
) -> None:
    framework = LangChain()
    first, changed = prepare(framework, watching)
    if change == "text":
        changed.page_content += " It is red."
    elif change == "title":
        changed.metadata["title"] = "Another"
    elif change == "bytes":
        changed.metadata[PREPARED_KEY] = changed.metadata[PREPARED_KEY][:-8]
    else:
        changed.metadata[PREPARED_KEY] = 7
    with caplog.at_level(logging.WARNING, "tersely"):
        (kept,) = framework.run(framework.make(watching, budget=12), [first, changed], QUESTION)
    assert watching.prepared == [True, False]
    assert ANSWER in kept.page_content
    assert "1 of 2 documents are read as if they were not prepared" in caplog.text


def test_one_warning_counts_the_documents_of_another_preparer(
    watching: Watching, caplog: pytest.LogCaptureFixture
) -> None:
    framework = LangChain()
    stored = prepare(framework, watching)
    for document in stored:
        document.metadata["title"] = "Another"
    with caplog.at_level(logging.WARNING, "tersely"):
        framework.run(framework.make(watching, budget=12), stored, QUESTION)
    (record,) = caplog.records
    assert record.getMessage().startswith("2 of 2 documents")


@pytest.mark.parametrize("kind", [LangChain, LlamaIndex, Haystack])
def test_the_note_says_whether_the_best_unit_fits(kind: type[Any], watching: Watching) -> None:
    framework = kind()
    passages = [framework.wrap(Passage("m", f"{MUSEUM} It is red. It is old.", {}))]
    model = {} if kind is Haystack else {"compressor": watching}
    for budget, fits in ((4, False), (8, True)):
        kept = framework.run(framework.make(**model, budget=budget), passages, QUESTION)
        notes = [framework.read(one).metadata["tersely"] for one in kept]
        assert {note["best_fits"] for note in notes} == {fits}
        assert all(0 <= note["answerable"] <= 1 for note in notes)


def test_prepared_data_takes_little_room(watching: Watching) -> None:
    """Less than base64 of the bytes would, in the JSON of a store."""
    framework = LangChain()
    text = " ".join(f"{MUSEUM} {HARBOUR} Lamp {number} is lit." for number in range(20))
    (document,) = prepare(framework, watching, [Passage("m", text, {})])
    plain = base64.b64encode(watching.prepare([text])[0].to_bytes())
    assert len(json.dumps(document.metadata[PREPARED_KEY])) < 0.95 * len(plain)
