"""In shadow, a compressor or adapter delivers what it was given and only records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tersely import Compressor
from tersely.cli import main
from tersely_ledger import Ledger, RecordingCompressor
from tersely_ledger.store import SHADOW, SHORTENED
from tests.integrations.samples import HARBOUR, KEY_ANSWER, MUSEUM, QUESTION
from tests.integrations.samples import make_page as make_text
from tests.sdk.fakes import FakeScorer


def check_entry(file: Path, source: str) -> None:
    (entry,) = Ledger(file).read()
    assert (entry.arm, entry.source, entry.status) == (SHADOW, source, "compressed")
    (count, before, after) = entry.tools["documents"]
    assert count == 2
    assert after < before


def test_haystack_gets_its_documents_back(file: Path) -> None:
    pytest.importorskip("haystack")
    from haystack import Document

    from tersely_haystack import TerselyDocumentCompressor

    documents = [Document(content=text, embedding=[0.5]) for text in (MUSEUM, HARBOUR)]
    made = TerselyDocumentCompressor(budget=20, threads=1, ledger=str(file), shadow=True)
    component = TerselyDocumentCompressor.from_dict(made.to_dict())
    assert component.run(documents=documents, query=QUESTION) == {"documents": documents}
    check_entry(file, "haystack")


def test_mcp_delivers_whole_texts(file: Path) -> None:
    pytest.importorskip("mcp")
    from tests.integrations.mcp_client import call, read_details

    shadow = RecordingCompressor(Compressor(FakeScorer()), file, shadow=True, source="mcp")
    arguments = {"query": QUESTION, "documents": [MUSEUM, HARBOUR], "budget": 20}
    reply = call("compress", arguments, shadow)
    assert reply.content[0].text == f"{MUSEUM.strip()}\n\n{HARBOUR.strip()}"
    assert read_details(reply)["status"] == "unchanged"
    check_entry(file, "mcp")


def test_the_reason_of_a_whole_result_is_the_shadow(file: Path) -> None:
    shadow = RecordingCompressor(Compressor(FakeScorer()), file, shadow=True)
    result = shadow.compress(QUESTION, [MUSEUM, HARBOUR], budget=20)
    assert (result.status, result.reason) == ("unchanged", "shadow: what was left out is only recorded")
    within = shadow.compress(QUESTION, [MUSEUM, HARBOUR], budget=2000)
    assert within.reason == "the documents fit into the limit"


def test_the_mcp_command_takes_a_shadow(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mcp")
    import tersely_mcp.server

    served: list[Compressor] = []
    monkeypatch.setattr(tersely_mcp.server, "serve", lambda compressor, **_: served.append(compressor))

    def run(*options: Any) -> Compressor:
        assert main(["mcp", *options]) == 0
        return served.pop()

    assert not isinstance(run(), RecordingCompressor)
    compressor = run("--ledger-file", str(file), "--shadow")
    compressor.compress(QUESTION, [MUSEUM, HARBOUR], budget=20)
    check_entry(file, "mcp")


@pytest.mark.parametrize(
    ("query", "options"), [("When is the museum free?", {"budget": 20}), (None, {"rate": 0.3})]
)
def test_a_shadow_returns_what_it_was_given(file: Path, query: str | None, options: dict[str, Any]) -> None:
    plain = Compressor(FakeScorer())
    shadow = RecordingCompressor(plain, file, shadow=True)
    result = shadow.compress(query, [MUSEUM, HARBOUR], **options)
    assert [document.text for document in result.documents] == [MUSEUM.strip(), HARBOUR.strip()]
    expected = plain.compress(query, [MUSEUM, HARBOUR], **options)
    recorded = RecordingCompressor(plain, file).compress(query, [MUSEUM, HARBOUR], **options)
    assert recorded.text == expected.text
    entries = Ledger(file).read()
    assert [entry.arm for entry in entries] == [SHADOW, SHORTENED]
    for entry in entries:
        assert entry.tools == {"documents": (2, expected.tokens_before, expected.tokens_after)}


def test_adapters_take_a_shadow(file: Path) -> None:
    pytest.importorskip("langchain")
    pytest.importorskip("llama_index.core")
    from langchain_core.documents import Document
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from llama_index.core.schema import NodeWithScore, TextNode

    from tersely_langchain import TerselyCompressor, TerselyContextEdit
    from tersely_llamaindex import TerselyPostprocessor

    shadow = RecordingCompressor(Compressor(FakeScorer()), file, shadow=True)
    question = "When is the museum free?"
    (document,) = TerselyCompressor(compressor=shadow, budget=20).compress_documents(
        [Document(page_content=MUSEUM)], question
    )
    nodes = [NodeWithScore(node=TextNode(text=MUSEUM), score=1.0)]
    (node,) = TerselyPostprocessor(compressor=shadow, budget=20).postprocess_nodes(nodes, query_str=question)
    assert document.page_content == node.node.get_content() == MUSEUM.strip()
    call = {"name": "search", "args": {}, "id": "c1"}
    page = make_text("room", KEY_ANSWER)
    result = ToolMessage(page, tool_call_id="c1")
    messages = [HumanMessage(question), AIMessage("", tool_calls=[call]), result]
    TerselyContextEdit(trigger=1, over=80, compressor=shadow, keep=0).apply(messages, count_tokens=len)
    assert messages[2].content == page
    assert [entry.arm for entry in Ledger(file).read()] == [SHADOW] * 3
