"""Every client of the package is known, asks the one place that decides, and is refused offline."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.shared.readers import open_reader
from tersely import Document, OfflineError
from tersely.rerank import DecisionEndpoint, RerankEndpoint
from tersely.runtime.artifacts import load_artifact
from tersely_agents.chat import OpenAIChat

ROOT = Path(__file__).parents[2]
NETWORK = {
    "aiohttp", "asyncio.streams", "ftplib", "http.client", "httpcore", "httpcore2", "httpx", "httpx2",
    "huggingface_hub", "imaplib", "openai", "poplib", "requests", "smtplib", "socket", "socketserver", "ssl",
    "telnetlib", "urllib.request", "urllib3", "websockets", "xmlrpc",
}  # fmt: skip
CALLS = {"create_connection", "open_connection", "urlopen", "getaddrinfo", "snapshot_download"}
"""Functions that open connections, imported from any module."""

USERS = {
    "integrations/tersely_hook/daemon.py",  # a socket of the file system, for its own user alone
    "integrations/tersely_http/serving.py",  # listens; connects to nothing
    "integrations/tersely_proxy/forwarding.py",  # forwards to the server that the caller names
    "integrations/tersely_proxy/opening.py",  # names the type of an answer
    "sdk/tersely/runtime/http.py",  # every other request
    "sdk/tersely/runtime/hub.py",  # load_artifact, for hub names
    "sdk/tersely_agents/chat/openai.py",  # names the type of a client
}
"""Files of the package and of the benchmarks' shared part that import something of the network."""


def list_network_uses(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "__import__", "find_spec"):
                names = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            elif called in CALLS:
                yield called
        for name in map(str, names):
            if any(name == module or name.startswith(f"{module}.") for module in NETWORK):
                yield name


def test_all_files_that_use_the_network_are_known() -> None:
    files = [
        *ROOT.glob("sdk/**/*.py"),
        *ROOT.glob("integrations/**/*.py"),
        *ROOT.glob("benchmarks/shared/**/*.py"),
    ]
    users = {
        path.relative_to(ROOT).as_posix() for path in files if any(list_network_uses(path.read_text("utf-8")))
    }
    assert users == USERS


def test_the_scan_finds_each_way_to_import() -> None:
    for source in (
        "import socket",
        "def f():\n    import huggingface_hub as h",
        "from urllib import request",
        "from http.client import HTTPConnection",
        "import importlib\nimportlib.import_module('openai')",
        "__import__('requests')",
        "asyncio.open_connection('h', 80)",
    ):
        assert list(list_network_uses(source)), source
    assert not list(list_network_uses("import urllib.parse\nfrom tersely_agents.chat import openai"))


CLIENTS: dict[str, Callable[[], object]] = {
    "chat": lambda: OpenAIChat("small", base_url="https://api.example.org/v1"),
    "default chat": lambda: OpenAIChat("small"),
    "reader": lambda: open_reader("openai:https://api.example.org/v1#small"),
    "reranker": lambda: RerankEndpoint("https://api.example.org/rerank").rank("q", [Document("d")]),
    "decisions": lambda: DecisionEndpoint("https://api.example.org/v1/systemone").rank("q", [Document("d")]),
    "hub": lambda: load_artifact("someone/some-model"),
}


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_every_client_is_refused_offline(
    client: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(OfflineError, match="TERSELY_OFFLINE"):
        client()
