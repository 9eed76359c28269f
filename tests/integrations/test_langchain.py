"""The document compressor and the reranker inside LangChain."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import random
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import (
    CrossEncoderReranker,
    DocumentCompressorPipeline,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from pydantic import ValidationError

from tersely import CompressionOptions, Compressor, InvalidInputError
from tersely_langchain import TerselyCompressor, TerselyReranker
from tests.integrations import provenance
from tests.integrations.options import EXAMPLES, OPTION_NAMES, RecordingCompressor, all_arguments
from tests.integrations.town import ANSWER, HARBOUR, MUSEUM, QUESTION
from tests.sdk.fakes import BrokenScorer, FakeScorer

DOCUMENTS = [
    Document(page_content=HARBOUR, metadata={"title": "Harbour", "page": 3}, id="h"),
    Document(page_content=MUSEUM, metadata={"title": "Museum", "page": 7}, id="m"),
    Document(page_content="", metadata={"page": 9}, id="empty"),
]


class FixedRetriever(BaseRetriever):
    documents: list[Document]

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return self.documents


def test_a_retriever_gives_the_sentence_that_answers_with_its_metadata(bundled: Compressor) -> None:
    retriever = ContextualCompressionRetriever(
        base_retriever=FixedRetriever(documents=DOCUMENTS),
        base_compressor=TerselyCompressor(compressor=bundled, budget=12),
    )
    (document,) = retriever.invoke(QUESTION)
    assert document.page_content == ANSWER
    assert (document.id, document.metadata["page"], document.metadata["title"]) == ("m", 7, "Museum")
    assert asyncio.run(retriever.ainvoke(QUESTION)) == [document]
    assert "tersely" not in DOCUMENTS[1].metadata, "the originals stay as they are"


def test_it_works_in_a_chain_behind_a_reranker(bundled: Compressor) -> None:
    pipeline = DocumentCompressorPipeline(
        transformers=[
            CrossEncoderReranker(model=TerselyReranker(), top_n=1),
            TerselyCompressor(compressor=bundled, rate=0.5),
        ]
    )
    retriever = ContextualCompressionRetriever(
        base_retriever=FixedRetriever(documents=DOCUMENTS), base_compressor=pipeline
    )
    joined = RunnableLambda(lambda documents: "\n".join(d.page_content for d in documents))
    chain = {"context": retriever | joined, "question": RunnablePassthrough()} | RunnableLambda(dict)
    result = chain.invoke(QUESTION)
    assert result["question"] == QUESTION
    assert "free on Thursdays" in result["context"]
    assert "crane" not in result["context"]


def test_every_character_leads_back_to_its_source() -> None:
    rng = random.Random(11)
    compressor = Compressor(FakeScorer())
    for _ in range(1000):
        originals = [
            Document(
                page_content=provenance.random_text(rng),
                metadata={"title": rng.choice([None, "Towers", 7]), "number": number},
                id=rng.choice([None, f"d{number}"]),
            )
            for number in range(rng.randint(0, 4))
        ]
        adapter = TerselyCompressor(compressor=compressor, **provenance.random_options(rng))
        for document in adapter.compress_documents(originals, provenance.QUERY):
            original = originals[document.metadata["number"]]
            note = document.metadata.pop("tersely")
            assert (document.metadata, document.id) == (original.metadata, original.id)
            provenance.check_spans(document.page_content, original.page_content, note["spans"])


def test_a_model_that_fails_without_a_limit_gives_the_documents_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = TerselyCompressor(compressor=Compressor(BrokenScorer(RuntimeError("no model"))))
    with caplog.at_level(logging.WARNING):
        assert broken.compress_documents(DOCUMENTS, QUESTION) == DOCUMENTS
    assert "no model" in caplog.text


@pytest.mark.parametrize("name", OPTION_NAMES)
def test_every_option_reaches_the_compressor(name: str) -> None:
    compressor = RecordingCompressor()
    adapter = TerselyCompressor(compressor=compressor, **{name: EXAMPLES[name]})
    adapter.compress_documents(DOCUMENTS, QUESTION)
    asyncio.run(adapter.acompress_documents(DOCUMENTS, QUESTION))
    assert compressor.received == 2 * [all_arguments(**{name: EXAMPLES[name]})]
    assert getattr(adapter.options, name) == EXAMPLES[name]


def test_the_options_may_be_passed_as_one_value() -> None:
    options = CompressionOptions(budget=12, max_docs=3)
    assert TerselyCompressor(options=options).options == options
    assert TerselyCompressor(options=options, max_docs=4).options == CompressionOptions(budget=12, max_docs=4)


@pytest.mark.parametrize("values", [{"budget": 12, "level": "auto"}, {"rate": 0.5, "order": "rerank"}])
def test_options_and_fields_survive_serialization(values: dict[str, Any]) -> None:
    adapter = TerselyCompressor(**values, title_key=None)
    copies = [
        TerselyCompressor(**adapter.model_dump()),
        TerselyCompressor.model_validate(adapter.model_dump()),
        TerselyCompressor.model_validate_json(adapter.model_dump_json()),
        pickle.loads(pickle.dumps(adapter)),
        adapter.model_copy(deep=True),
    ]
    for copied in copies:
        assert copied.options == CompressionOptions(**values)
        assert copied.title_key is None


def test_the_json_schema_shows_every_option() -> None:
    schema = json.dumps(TerselyCompressor.model_json_schema())
    assert all(f'"{name}"' in schema for name in OPTION_NAMES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "budget is 0. Pass a whole number of tokens, 1 or more"),
        ({"rate": 2.0}, "rate is 2.0"),
        ({"budget": 5, "rate": 0.5}, "Both budget and rate are given"),
        ({"options": {"ratio": 0.3}}, "There is no option 'ratio'"),
        ({"options": 7}, "options is an int"),
    ],
)
def test_bad_options_are_refused_when_the_adapter_is_made(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        TerselyCompressor(**options)
    with pytest.raises(ValidationError, match=message):
        TerselyCompressor.model_validate(options)


def test_unknown_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"ratio\s+Extra inputs"):
        TerselyCompressor(compressor=Compressor(FakeScorer()), ratio=0.3)


def test_without_a_query_the_documents_are_compressed_to_a_limit(bundled: Compressor) -> None:
    documents = TerselyCompressor(compressor=bundled, budget=12).compress_documents(DOCUMENTS, None)
    assert documents
    assert sum(bundled.count_tokens(document.page_content) for document in documents) <= 12


def test_an_empty_query_is_refused() -> None:
    adapter = TerselyCompressor(compressor=Compressor(FakeScorer()))
    with pytest.raises(InvalidInputError, match="The query is empty"):
        adapter.compress_documents(DOCUMENTS, " ")


def test_one_id_for_two_texts_is_refused(bundled: Compressor) -> None:
    adapter = TerselyCompressor(compressor=bundled, rate=0.5)
    document = Document(page_content="The crane still works. It is old.", id="a")
    with pytest.raises(InvalidInputError, match="id 'a' and different texts"):
        adapter.compress_documents([document, Document(page_content="Another text.", id="a")], "What works?")
    without_id = Document(page_content="No id.")
    assert adapter.compress_documents([document, document, without_id], "What still works?")


def test_scores_keep_the_order_of_their_pairs() -> None:
    texts = [d.page_content for d in DOCUMENTS]
    pairs = [(query, text) for text in texts for query in (QUESTION, "When was the harbour dug?")]
    scores = TerselyReranker().score(pairs)
    assert scores[2] > scores[0]
    assert scores[1] > scores[3]
    assert scores[4:] == [0.0, 0.0]
