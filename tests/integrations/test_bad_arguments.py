"""What servers, the proxy and adapters cannot use, they refuse with a clear error when they are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("langchain")
pytest.importorskip("llama_index.core")
pytest.importorskip("haystack")
pytest.importorskip("mcp")
from langchain_core.documents import Document
from llama_index.core import QueryBundle

import tersely_mcp
import tersely_proxy
import tersely_server
from tersely import Compressor, InvalidInputError
from tersely.rerank import Relevance
from tersely_agents.summaries import Summarizer
from tersely_haystack import TerselyDocumentCompressor
from tersely_langchain import TerselyCompressor, TerselyReranker, TerselySummary
from tersely_llamaindex import TerselyPostprocessor
from tersely_proxy import ProxySettings
from tersely_server import ServerSettings
from tests.sdk.fakes import FakeScorer

COMPRESSOR = Compressor(FakeScorer())
UPSTREAM = "http://127.0.0.1:9"

NO_FLAG: list[Any] = [None, 0, 1, "false", "true", [], object()]
NO_KEY: list[Any] = ["", "  ", "a\nb", "ä", 5, True, b"key"]
NO_COUNT: list[Any] = [0, -1, 1.5, float("nan"), "5", True, []]
NO_COMPRESSOR: list[Any] = [5, "tersely-mini", [], object(), Compressor, FakeScorer()]
NO_SETTINGS: list[Any] = [0, 5, "", "x", [], {}, {"key": "k"}, object()]
NO_DOCUMENTS: list[Any] = [None, 5, "text", b"text", ["text"], [None], {"text": "x"}]
NO_QUERY: list[Any] = [5, "", " ", b"x", ["x"]]


def compress(documents: Any = (), query: Any = "bridge") -> None:
    TerselyCompressor(compressor=COMPRESSOR).compress_documents(documents, query)


def postprocess(nodes: Any = (), query: Any = "bridge") -> None:
    bundle = None if query is None else QueryBundle(query)
    TerselyPostprocessor(compressor=COMPRESSOR)._postprocess_nodes(nodes, bundle)


def run(documents: Any = (), query: Any = "bridge", **options: Any) -> None:
    TerselyDocumentCompressor(**options).run(documents, query)


CALLS: dict[str, tuple[Callable[[Any], object], list[Any]]] = {
    "server: key": (lambda v: ServerSettings(key=v), NO_KEY),
    "server: local_only": (lambda v: ServerSettings(local_only=v), NO_FLAG),
    "server: log_text": (lambda v: ServerSettings(log_text=v), NO_FLAG),
    "server: slots": (lambda v: ServerSettings(slots=v), NO_COUNT),
    "server: queue": (lambda v: ServerSettings(queue=v), [None, *NO_COUNT]),
    "server: timeout_s": (lambda v: ServerSettings(timeout_s=v), [None, 0, -1, "5", float("inf")]),
    "server: max_bytes": (lambda v: ServerSettings(max_bytes=v), [None, *NO_COUNT]),
    "server: max_documents": (lambda v: ServerSettings(max_documents=v), [None, *NO_COUNT]),
    "server: compressor": (tersely_server.build_app, NO_COMPRESSOR),
    "server: settings": (lambda v: tersely_server.build_app(COMPRESSOR, v), NO_SETTINGS),
    "proxy: upstream": (
        lambda v: tersely_proxy.build_app(COMPRESSOR, ProxySettings(upstream=v)),
        [None, 5, "", "x", "ftp://127.0.0.1", b"http://127.0.0.1", []],
    ),
    "proxy: limits": (lambda v: ProxySettings(upstream=UPSTREAM, limits=v), [None, 5, {"a": 5}, []]),
    "proxy: key": (lambda v: ProxySettings(upstream=UPSTREAM, key=v), NO_KEY),
    "proxy: local_only": (lambda v: ProxySettings(upstream=UPSTREAM, local_only=v), NO_FLAG),
    "proxy: queue": (lambda v: ProxySettings(upstream=UPSTREAM, queue=v), [None, *NO_COUNT]),
    "proxy: max_bytes": (lambda v: ProxySettings(upstream=UPSTREAM, max_bytes=v), [None, *NO_COUNT]),
    "proxy: compressor": (
        lambda v: tersely_proxy.build_app(v, ProxySettings(upstream=UPSTREAM)),
        NO_COMPRESSOR,
    ),
    "proxy: settings": (lambda v: tersely_proxy.build_app(COMPRESSOR, v), [None, *NO_SETTINGS]),
    "mcp: folders": (
        lambda v: tersely_mcp.build_server(folders=v, compressor=COMPRESSOR),
        [None, 5, ".", "", b".", [5], [None], {".": 5}, ["missing"], [""], ["a\0b"]],
    ),
    "mcp: experience": (
        lambda v: tersely_mcp.build_server(experience=v, compressor=COMPRESSOR),
        [5, "lessons.db", [], object()],
    ),
    "mcp: compressor": (lambda v: tersely_mcp.build_server(compressor=v), NO_COMPRESSOR),
    "langchain: reranker": (TerselyReranker, [5, "minilm", Relevance, object()]),
    "langchain: summarizer": (lambda v: TerselySummary(summarizer=v), [5, "gpt", Summarizer, object()]),
    "langchain: documents": (lambda v: compress(documents=v), NO_DOCUMENTS),
    "langchain: query": (lambda v: compress([Document("One.")], query=v), NO_QUERY),
    "langchain: pairs": (TerselyReranker().score, [None, 5, "x", ["xy"], [("q", 5)], [(5, "t")], [("q",)]]),
    "llamaindex: nodes": (lambda v: postprocess(nodes=v), NO_DOCUMENTS),
    "haystack: documents": (lambda v: run(documents=v), NO_DOCUMENTS),
    "haystack: query": (lambda v: run(query=v), NO_QUERY),
    "haystack: an option": (lambda v: TerselyDocumentCompressor(**{v: 5}), ["budgt", "top_k"]),
    "haystack: model": (TerselyDocumentCompressor, [5, "", " ", b"x", []]),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_cannot_be_used_is_refused_with_a_clear_error(name: str) -> None:
    call, values = CALLS[name]
    for value in values:
        with pytest.raises(InvalidInputError) as refusal:
            call(value)
        assert 20 < len(str(refusal.value)) < 400, value


def test_a_key_is_never_shown_when_it_is_refused() -> None:
    with pytest.raises(InvalidInputError) as refusal:
        ServerSettings(key="my secret\nkey")
    assert "secret" not in str(refusal.value)
