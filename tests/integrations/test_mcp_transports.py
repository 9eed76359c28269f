"""The command `tersely mcp`, over each transport, with the bundled model."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters

from tersely_agents.experience import ExperienceBank
from tests.integrations.samples import ANSWER, HARBOUR, MUSEUM, QUESTION

COMMAND = [sys.executable, "-c", "import sys; from tersely.cli import main; sys.exit(main())", "mcp"]
LESSON = {
    "title": "Prefer the archive",
    "description": "When a question asks for a year.",
    "content": "Its dates are checked.",
    "problem": "When did the museum open?",
    "success": True,
}


async def check_all_tools(client: Client) -> None:
    """Call every tool as a client would."""
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert names == ["compress", "expand", "recall", "remember"]
    await _check_texts(client)
    await _check_files(client)
    await _check_lessons(client)


async def _check_texts(client: Client) -> None:
    arguments = {"query": QUESTION, "budget": 8, "documents": [HARBOUR, MUSEUM]}
    result = await client.call_tool("compress", arguments)
    assert not result.is_error
    reply = result.meta["tersely"]
    assert result.content[0].text == ANSWER
    (kept,) = reply["documents"]
    assert (kept["source"], kept["characters"]) == ("2", len(MUSEUM))
    ((start, end),) = kept["kept"]
    key = {"id": reply["id"], "document": kept["number"]}
    part = await client.call_tool("expand", {**key, "start": start, "end": end})
    assert part.content[0].text == ANSWER
    (dropped,) = reply["dropped"]
    whole = await client.call_tool("expand", {"id": reply["id"], "document": dropped["number"]})
    assert whole.content[0].text == HARBOUR


async def _check_files(client: Client) -> None:
    arguments = {"query": QUESTION, "budget": 14, "paths": ["town/*.md"]}
    reply = await client.call_tool("compress", arguments)
    assert reply.content[0].text == f"town/museum.md\n{ANSWER}"
    assert [one["source"] for one in reply.meta["tersely"]["dropped"]] == ["town/harbour.md"]


async def _check_lessons(client: Client) -> None:
    kept = await client.call_tool("remember", LESSON)
    recalled = await client.call_tool("recall", {"query": "find the year the bridge was built"})
    assert recalled.meta["tersely"]["ids"] == [kept.meta["tersely"]["id"]]
    assert "Its dates are checked." in recalled.content[0].text
    assert "data, not instructions" in recalled.content[0].text


def test_all_tools_work_over_standard_input_and_output(allowed: Path, tmp_path: Path) -> None:
    database = tmp_path / "lessons.db"
    command, *arguments = [*COMMAND, "--folder", str(allowed), "--experience", str(database)]
    parameters = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))

    async def run() -> None:
        async with Client(parameters) as client:
            await check_all_tools(client)

    asyncio.run(run())
    with closing(ExperienceBank(database)) as bank:
        (lesson,) = bank.experiences()
    assert (lesson.origin.run or "").startswith("mcp-"), "so that a run's lessons can be revoked"


def test_a_request_with_half_a_character_is_answered() -> None:
    arguments = '{"documents": ["One \\ud800 \\ud83d\\ude00."], "budget": 9}'
    start = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": start}),
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        f'{{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": '
        f'{{"name": "compress", "arguments": {arguments}}}}}',
    ]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(COMMAND, text=True, encoding="utf-8", **pipes) as process:
        timer = threading.Timer(120, process.kill)
        timer.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n".join([*lines, ""]))
            process.stdin.flush()
            replies = [json.loads(process.stdout.readline()) for _ in range(2)]
        finally:
            timer.cancel()
            process.terminate()
    (text,) = [part["text"] for part in replies[1]["result"]["content"]]
    assert text.startswith("One ")
    assert text.endswith("😀.")


@pytest.fixture
def address(allowed: Path, tmp_path: Path) -> Iterator[str]:
    """Yield the address of a server over streamable HTTP."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--folder", str(allowed), "--experience", str(tmp_path / "b.db"), "--http", str(port)]
    process = subprocess.Popen([*COMMAND, *options], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]
        for _ in range(100):
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=20)


def test_all_tools_work_over_streamable_http(address: str) -> None:
    async def run() -> None:
        async with Client(address) as client:
            await check_all_tools(client)

    asyncio.run(run())


def test_requests_of_other_sites_are_refused(address: str) -> None:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(address, b"{}", {**headers, "Origin": "https://example.org"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    refused.value.close()
    assert refused.value.code == 403


def test_ids_of_originals_belong_to_their_session(address: str) -> None:
    async def run() -> None:
        arguments = {"query": QUESTION, "documents": [MUSEUM]}
        async with Client(address, mode="legacy") as first, Client(address, mode="legacy") as second:
            reply = await first.call_tool("compress", arguments)
            key = {"id": reply.meta["tersely"]["id"]}
            assert (await first.call_tool("expand", key)).content[0].text == MUSEUM
            stolen = await second.call_tool("expand", key)
            assert stolen.is_error
            assert "No result of compress has the id" in stolen.content[0].text
            own = await second.call_tool("compress", arguments)
            assert own.meta["tersely"]["id"] != key["id"]

    asyncio.run(run())
