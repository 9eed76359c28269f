"""An abstention through every adapter: nothing comes back, and the receipt says why."""

from __future__ import annotations

import json

import pytest

from tersely import Compressor, Document
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


def test_the_server_gives_the_whole_receipt(bundled: Compressor) -> None:
    pytest.importorskip("starlette")
    import httpx2

    from tersely_server import build_app
    from tests.servers import serve_app

    body = {"query": UNANSWERED, "documents": [MUSEUM], "abstain": 0.9}
    with serve_app(build_app(bundled)) as url:
        reply = httpx2.post(f"{url}/v1/compress", json=body, timeout=60).json()
    expected = bundled.compress(UNANSWERED, [Document(MUSEUM)], abstain=0.9).to_dict()
    names = ("status", "reason", "answerable", "refused", "distance", "calibrated")
    assert {name: reply[name] for name in names} == json.loads(
        json.dumps({name: expected[name] for name in names})
    )


def test_the_command_prints_nothing_but_the_reason(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = tmp_path_factory.mktemp("documents") / "museum.txt"
    text.write_text(MUSEUM, encoding="utf-8")
    result = run_tersely("compress", "-q", UNANSWERED, text, "--abstain", "0.9")
    assert (result.exit_code, result.stdout.strip()) == (0, "")
    assert "abstained: the documents answer with a probability of" in result.stderr
