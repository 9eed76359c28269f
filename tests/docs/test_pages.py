"""What the pages say is true: examples run, commands exist, links and paths lead somewhere."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tersely

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    return [body for kind, body in BLOCK.findall(page(name)) if kind == language]


def test_readme_examples_run_and_give_what_they_show() -> None:
    names: dict[str, Any] = {}
    shown = 0
    for block in blocks("README.md", "python"):
        lines = block.splitlines()
        for statement in ast.parse(block).body:
            _, arrow, expected = lines[(statement.end_lineno or 0) - 1].partition("# -> ")
            source = ast.unparse(statement)
            if arrow:
                assert repr(eval(source, names)) == repr(ast.literal_eval(expected)), source
                shown += 1
            else:
                exec(source, names)
    assert shown >= 3


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """The files that the README's commands name."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/house.md").write_text("Ada holds the spare key. The roof is new.\n", encoding="utf-8")
    (tmp_path / "notes/garden.md").write_text(
        "# Garden\n\nThe pears are ripe in September.\n", encoding="utf-8"
    )
    rows = [{"text": "Ada holds the spare key.", "title": "Keys"}, {"text": "The roof is new.", "id": "r"}]
    (tmp_path / "retrieved.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    request = {"query": "Who holds the spare key?", "documents": rows}
    (tmp_path / "questions.jsonl").write_text(json.dumps(request) + "\n", encoding="utf-8")
    answered = {**request, "answers": ["Ada"]}
    (tmp_path / "answered.jsonl").write_text(json.dumps(answered) + "\n", encoding="utf-8")
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are written for a Unix shell")
def test_readme_commands_run(workplace: Path) -> None:
    commands = [
        line
        for block in blocks("README.md", "sh")
        for line in block.splitlines()
        if line.startswith("tersely ")
    ]
    assert len(commands) >= 5
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=workplace,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), command
    compressed = json.loads((workplace / "compressed.jsonl").read_text(encoding="utf-8"))
    assert compressed["query"] == "Who holds the spare key?"


def test_readme_configuration_starts_the_server(workplace: Path) -> None:
    mcp = pytest.importorskip("mcp")
    (block,) = blocks("README.md", "json")
    told = json.loads(block)["mcpServers"]["tersely"]
    command = str(Path(sys.executable).parent / told["command"])
    server = mcp.StdioServerParameters(
        command=command, args=told["args"], cwd=workplace, env=dict(os.environ)
    )

    async def ask() -> str:
        async with mcp.Client(server) as client:
            query = {"query": "Who holds the spare key?", "paths": ["*.md"], "budget": 12}
            return (await client.call_tool("compress", query)).structured_content["text"]

    assert asyncio.run(ask()) == "house.md\nAda holds the spare key."


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page(name)):
        assert target.startswith("https://") or (ROOT / target).exists(), target


@pytest.mark.parametrize("name", PAGES)
def test_paths_exist(name: str) -> None:
    text = BLOCK.sub("", page(name))
    paths = re.findall(r"`((?:sdk|training|benchmarks|models|tests|scripts|\.ci)/[\w./-]+)`", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    "script",
    [
        "scripts/test",
        "scripts/check",
        "scripts/venv",
        "scripts/oldest",
        ".ci/run",
        "training/runs/phase2_vllm.sh",
    ],
)
def test_scripts_can_be_run(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    subprocess.run(["bash", "-n", ROOT / script], check=True)


def test_changelog_has_the_current_version() -> None:
    assert re.search(rf"^## {re.escape(tersely.__version__)}\b", page("CHANGELOG.md"), re.MULTILINE)
