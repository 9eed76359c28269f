"""The LangChain adapter inside LangChain."""

from __future__ import annotations

import asyncio
import logging
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

from tersely import Compressor, InvalidInputError
from tersely_langchain import TerselyCompressor, TerselyReranker
from tests.sdk.fakes import BrokenScorer, FakeScorer

QUESTION = "On which day is the museum free?"
DOCUMENTS = [
    Document(
        page_content="The harbour was dug in 1871. Its crane still works.",
        metadata={"title": "Harbour", "page": 3},
        id="h",
    ),
    Document(
        page_content="The museum is in Hill Street. Entry is free on Thursdays. It opened in 1904.",
        metadata={"title": "Museum", "page": 7},
        id="m",
    ),
    Document(page_content="", metadata={"page": 9}, id="empty"),
]


class Fixed(BaseRetriever):
    found: list[Document]

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return self.found


@pytest.fixture(scope="module")
def bundled() -> Compressor:
    return Compressor()


def test_in_a_retriever(bundled: Compressor) -> None:
    retriever = ContextualCompressionRetriever(
        base_retriever=Fixed(found=DOCUMENTS),
        base_compressor=TerselyCompressor(compressor=bundled, budget=12),
    )
    (found,) = retriever.invoke(QUESTION)
    assert found.page_content == "Entry is free on Thursdays."
    assert (found.id, found.metadata["page"], found.metadata["title"]) == ("m", 7, "Museum")
    assert asyncio.run(retriever.ainvoke(QUESTION)) == [found]
    assert "tersely" not in DOCUMENTS[1].metadata, "the originals stay as they are"


def test_in_a_chain_and_behind_a_reranker(bundled: Compressor) -> None:
    pipeline = DocumentCompressorPipeline(
        transformers=[
            CrossEncoderReranker(model=TerselyReranker(), top_n=1),
            TerselyCompressor(compressor=bundled, rate=0.5),
        ]
    )
    retriever = ContextualCompressionRetriever(
        base_retriever=Fixed(found=DOCUMENTS), base_compressor=pipeline
    )
    joined = RunnableLambda(lambda documents: "\n".join(d.page_content for d in documents))
    chain = {"context": retriever | joined, "question": RunnablePassthrough()} | RunnableLambda(dict)
    told = chain.invoke(QUESTION)
    assert told["question"] == QUESTION
    assert "free on Thursdays" in told["context"]
    assert "crane" not in told["context"]


def test_every_character_leads_back_to_its_source() -> None:
    r = random.Random(11)
    words = ["tower", "lamp.", "Ada", "灯塔。", "sea!", "e\u0301", "😀", "\n\n", "1904"]
    compressor = Compressor(FakeScorer())
    for _ in range(1000):
        given = [
            Document(
                page_content=" ".join(r.choices(words, k=r.randint(0, 30))),
                metadata={"title": r.choice([None, "Towers", 7]), "number": number},
                id=r.choice([None, f"d{number}"]),
            )
            for number in range(r.randint(0, 4))
        ]
        options: dict[str, Any] = r.choice([{}, {"rate": 0.5}, {"budget": 9}, {"max_docs": 1}, {"level": 1}])
        adapter = TerselyCompressor(compressor=compressor, order=r.choice(["source", "rerank"]), **options)
        for found in adapter.compress_documents(given, "tower lamp"):
            source = given[found.metadata["number"]]
            note = found.metadata.pop("tersely")
            assert (found.metadata, found.id) == (source.metadata, source.id)
            covered = 0
            for span in note["spans"]:
                size = span["end"] - span["start"]
                piece = found.page_content[span["at"] : span["at"] + size]
                assert piece == source.page_content[span["start"] : span["end"]]
                covered += size
            outside = set(range(len(found.page_content)))
            for span in note["spans"]:
                outside -= set(range(span["at"], span["at"] + span["end"] - span["start"]))
            assert all(found.page_content[i].isspace() for i in outside)
            assert covered


def test_a_failing_model_gives_the_documents_back(caplog: pytest.LogCaptureFixture) -> None:
    broken = TerselyCompressor(compressor=Compressor(BrokenScorer(RuntimeError("no model"))), budget=5)
    with caplog.at_level(logging.WARNING):
        assert broken.compress_documents(DOCUMENTS, QUESTION) == DOCUMENTS
    assert "no model" in caplog.text


@pytest.mark.parametrize(
    ("options", "query", "message"),
    [({}, " ", "The query is empty"), ({"budget": 0}, "x", "1 or more"), ({"rate": 2.0}, "x", "rate")],
)
def test_bad_input(options: dict[str, Any], query: str, message: str) -> None:
    adapter = TerselyCompressor(compressor=Compressor(FakeScorer()), **options)
    with pytest.raises(InvalidInputError, match=message):
        adapter.compress_documents(DOCUMENTS, query)
    with pytest.raises(ValueError, match="Extra inputs"):
        TerselyCompressor(compressor=Compressor(FakeScorer()), ratio=0.3)


def test_scores_keep_the_order_of_their_pairs() -> None:
    texts = [d.page_content for d in DOCUMENTS]
    pairs = [(q, text) for text in texts for q in (QUESTION, "When was the harbour dug?")]
    scores = TerselyReranker().score(pairs)
    assert scores[2] > scores[0]
    assert scores[1] > scores[3]
    assert scores[4:] == [0.0, 0.0]


def test_one_id_for_two_texts_is_refused(bundled: Compressor) -> None:
    adapter = TerselyCompressor(compressor=bundled, rate=0.5)
    one = Document(page_content="The crane still works. It is old.", id="a")
    with pytest.raises(InvalidInputError, match="id 'a' and different texts"):
        adapter.compress_documents([one, Document(page_content="Another text.", id="a")], "What works?")
    assert adapter.compress_documents([one, one, Document(page_content="No id.")], "What still works?")
