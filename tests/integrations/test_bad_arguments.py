"""The servers, the proxy and the adapters refuse bad arguments with a clear error when they are made."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from tersely import Compressor, InvalidInputError
from tersely.rerank import Relevance
from tersely_agents.summaries import Summarizer
from tests.sdk.fakes import FakeScorer

COMPRESSOR = Compressor(FakeScorer())
UPSTREAM = "http://127.0.0.1:9"
FRAMEWORKS = {
    "tersely_haystack": "haystack",
    "tersely_langchain": "langchain",
    "tersely_llamaindex": "llama_index.core",
    "tersely_mcp": "mcp",
    "tersely_proxy": "prometheus_client",
    "tersely_server": "fastapi",
}

NO_FLAG: list[Any] = [None, 0, 1, "false", "true", [], object()]
NO_KEY: list[Any] = ["", "  ", "a\nb", "ä", 5, True, b"key"]
NO_COUNT: list[Any] = [0, -1, 1.5, float("nan"), "5", True, []]
NO_COMPRESSOR: list[Any] = [5, "tersely-mini", [], object(), Compressor, FakeScorer()]
NO_SETTINGS: list[Any] = [0, 5, "", "x", [], {}, {"key": "k"}, object()]
NO_SECONDS: list[Any] = [None, 0, -1, "5", float("inf")]
NO_MODEL: list[Any] = [5, "", " ", b"x", []]
NO_TOOLS: list[Any] = [5, "search", ["search"], {"search": 0}, {"search": True}, {3: 50}]


def settings(**options: Any) -> Callable[[Any, Any], object]:
    """Return a call that makes the settings of a server or a proxy with one more option."""
    (name,) = options
    values = {"tersely_server": {}, "tersely_proxy": {"upstream": UPSTREAM}}

    def call(module: Any, value: Any) -> object:
        kind = getattr(module, "ServerSettings", None) or module.ProxySettings
        return kind(**{**values[module.__name__], name: value})

    return call


def make(kind: str, name: str, **given: Any) -> Callable[[Any, Any], object]:
    """Return a call that makes an object with a value for one argument."""
    return lambda module, value: getattr(module, kind)(**{**given, name: value})


CASES: dict[tuple[str, str], tuple[Callable[[Any, Any], object], list[Any]]] = {
    **{
        (package, name): (settings(**{name: None}), values)
        for package in ("tersely_server", "tersely_proxy")
        for name, values in {
            "key": NO_KEY,
            "local_only": NO_FLAG,
            "slots": NO_COUNT,
            "queue": [None, *NO_COUNT],
            "timeout_s": NO_SECONDS,
            "max_bytes": [None, *NO_COUNT],
        }.items()
    },
    ("tersely_server", "log_text"): (settings(log_text=None), NO_FLAG),
    ("tersely_server", "max_documents"): (settings(max_documents=None), [None, *NO_COUNT]),
    ("tersely_server", "compressor"): (lambda m, v: m.build_app(v), NO_COMPRESSOR),
    ("tersely_server", "settings"): (lambda m, v: m.build_app(COMPRESSOR, v), NO_SETTINGS),
    ("tersely_proxy", "limits"): (settings(limits=None), [None, 5, {"a": 5}, []]),
    ("tersely_proxy", "upstream"): (
        lambda m, v: m.build_app(COMPRESSOR, m.ProxySettings(upstream=v)),
        [None, 5, "", "x", "ftp://127.0.0.1", b"http://127.0.0.1", []],
    ),
    ("tersely_proxy", "compressor"): (
        lambda m, v: m.build_app(v, m.ProxySettings(upstream=UPSTREAM)),
        NO_COMPRESSOR,
    ),
    ("tersely_proxy", "settings"): (lambda m, v: m.build_app(COMPRESSOR, v), [None, *NO_SETTINGS]),
    ("tersely_mcp", "folders"): (
        make("build_server", "folders", compressor=COMPRESSOR),
        [None, 5, ".", "", b".", [5], [None], {".": 5}, ["missing"], [""], ["a\0b"]],
    ),
    ("tersely_mcp", "experience"): (
        make("build_server", "experience", compressor=COMPRESSOR),
        [5, "lessons.db", [], object()],
    ),
    ("tersely_mcp", "compressor"): (make("build_server", "compressor"), NO_COMPRESSOR),
    ("tersely_haystack", "model"): (make("TerselyDocumentCompressor", "model"), NO_MODEL),
    ("tersely_haystack", "threads"): (make("TerselyDocumentCompressor", "threads"), NO_COUNT),
    ("tersely_haystack", "model of the compactor"): (make("TerselyCompactor", "model"), NO_MODEL),
    ("tersely_haystack", "keep"): (make("TerselyCompactor", "keep"), [-1, 1.5, "1", True, None]),
    ("tersely_haystack", "over"): (make("TerselyCompactor", "over"), NO_COUNT),
    ("tersely_haystack", "tools"): (make("TerselyCompactor", "tools"), NO_TOOLS),
    ("tersely_langchain", "reranker"): (
        make("TerselyReranker", "reranker"),
        [5, "minilm", Relevance, object()],
    ),
    ("tersely_langchain", "pairs"): (
        lambda m, v: m.TerselyReranker().score(v),
        [None, 5, "x", ["xy"], [("q", 5)], [(5, "t")], [("q",)]],
    ),
    ("tersely_langchain", "summarizer"): (
        make("TerselySummary", "summarizer"),
        [5, "gpt", Summarizer, object()],
    ),
    ("tersely_langchain", "budget"): (make("TerselySummary", "budget"), NO_COUNT),
    ("tersely_langchain", "title_key"): (make("TerselyPreparer", "title_key"), [3, b"title", []]),
    ("tersely_langchain", "keep"): (make("TerselyContextEdit", "keep"), [-1, 1.5, "1", True, None]),
    ("tersely_langchain", "trigger"): (make("TerselyContextEdit", "trigger"), NO_COUNT),
    **{
        ("tersely_langchain", f"{name} of {kind}"): (make(kind, name, **given), values)
        for kind, given in {
            "TerselyMiddleware": {},
            "TerselyContextEdit": {},
            "TerselyMemory": {"limit": 600},
        }.items()
        for name, values in {"over": NO_COUNT, "tools": NO_TOOLS, "compressor": NO_COMPRESSOR}.items()
    },
    ("tersely_langchain", "limit"): (make("TerselyMemory", "limit"), [100, *NO_COUNT]),
    ("tersely_langchain", "model"): (make("TerselyMemory", "model", limit=600), [5, "gpt", object()]),
    ("tersely_langchain", "pins"): (
        make("TerselyMemory", "pins", limit=600),
        [5, ["plan"], {"plan": 3}, {3: "plan"}, {"plan": "word " * 600}],
    ),
    **{
        ("tersely_llamaindex", name): (make("TerselyMemoryBlock", name), values)
        for name, values in {
            "budget": NO_COUNT,
            "limit": [100, *NO_COUNT],
            "compressor": [None, *NO_COMPRESSOR],
            "store": [5, "chat.db"],
            "experience": [5, "lessons.db"],
        }.items()
    },
}


@pytest.mark.parametrize(("package", "name"), CASES)
def test_a_bad_argument_is_refused_when_the_object_is_made(package: str, name: str) -> None:
    pytest.importorskip(FRAMEWORKS[package])
    module = importlib.import_module(package)
    call, values = CASES[package, name]
    for value in values:
        with pytest.raises(InvalidInputError if package != "tersely_llamaindex" else ValueError) as refusal:
            call(module, value)
        assert 20 < len(str(refusal.value)) < 400, value


def test_a_key_is_never_shown_when_it_is_refused() -> None:
    pytest.importorskip("fastapi")
    server = importlib.import_module("tersely_server")
    with pytest.raises(InvalidInputError) as refusal:
        server.ServerSettings(key="my secret\nkey")
    assert "secret" not in str(refusal.value)
