"""An abstention through every adapter: nothing comes back, and the receipt says why."""

from __future__ import annotations

import pytest

from tersely import Compressor
from tests.integrations.samples import HARBOUR, MUSEUM
from tests.sdk.cli_runner import run_tersely

UNANSWERED = "Who painted the ceiling of the chapel?"


def test_llamaindex_returns_no_node_even_to_keep_the_top(bundled: Compressor) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.schema import NodeWithScore, TextNode

    from tersely_llamaindex import TerselyPostprocessor

    nodes = [NodeWithScore(node=TextNode(text=MUSEUM), score=0.5)]
    adapter = TerselyPostprocessor(compressor=bundled, abstain=0.9, keep_top=True)
    assert adapter.postprocess_nodes(nodes, query_str=UNANSWERED) == []


def test_mcp_says_that_the_text_holds_no_answer(bundled: Compressor) -> None:
    pytest.importorskip("mcp")
    from tests.integrations.mcp_client import call, read_details

    arguments = {"query": UNANSWERED, "documents": [MUSEUM, HARBOUR], "abstain": 0.9}
    reply = read_details(call("compress", arguments, bundled))
    assert (reply["status"], len(reply["dropped"])) == ("abstained", 2)
    assert reply["answerable"] < 0.5
    assert isinstance(reply["calibrated"], bool)


def test_the_command_prints_nothing_but_the_reason(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = tmp_path_factory.mktemp("documents") / "museum.txt"
    text.write_text(MUSEUM, encoding="utf-8")
    result = run_tersely("compress", "-q", UNANSWERED, text, "--abstain", "0.9")
    assert (result.exit_code, result.stdout.strip()) == (0, "")
    assert "abstained: the documents answer with a probability of" in result.stderr
