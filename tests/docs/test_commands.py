"""The commands exist, and those that need no server and no training run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tersely.cli import arguments
from tests.docs.pages import PAGES, ROOT, blocks, commands, pages_with

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are for a Unix shell")

NOT_RUN = ("tersely agent ", "tersely mcp ", "tersely serve", "tersely proxy ")
"""Commands that need a chat model or do not end."""

TERSELY = [(name, command) for name in PAGES for command in commands(name, "tersely")]
RUN = [(name, command) for name, command in TERSELY if not command.startswith(NOT_RUN)]
MODULES = sorted({command for name in PAGES for command in commands(name, "python")})


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell that finds the `tersely` of this environment first."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def without_scores(output: str) -> set[str]:
    """The lines of a receipt without scores and times, which differ between processors."""
    lines = (re.sub(r"^\s*0\.\d\d|, [\d,]+ ms$", "", line) for line in output.splitlines())
    return {" ".join(line.split()) for line in lines}


@pytest.mark.parametrize("name", sorted({name for name, _ in RUN}))
def test_commands_run(name: str, working_folder: Path) -> None:
    for command in commands(name, "tersely"):
        if not command.startswith(NOT_RUN):
            done = run(command, working_folder)
            assert (done.returncode, done.stderr) == (0, ""), command


@pytest.mark.parametrize(("name", "command"), TERSELY)
def test_commands_have_known_options(name: str, command: str) -> None:
    words = shlex.split(re.split(r" [<>|&] ?", command)[0])[1:]
    if words not in (["--help"], ["--version"]) and words[-1] != "--help":
        arguments.parser().parse_args(words)


def test_a_batch_keeps_the_question(working_folder: Path) -> None:
    (command,) = [c for _, c in RUN if "--batch" in c and ">" in c]
    assert run(command, working_folder).returncode == 0
    compressed = json.loads((working_folder / "compressed.jsonl").read_text(encoding="utf-8"))
    assert compressed["query"] == "Who holds the spare key?"


def test_the_demo_prints_what_the_readme_shows(working_folder: Path) -> None:
    shown = without_scores(blocks("README.md", "text")[0]) - {"", "..."}
    assert len(shown) >= 6
    assert shown <= without_scores(run("tersely demo", working_folder).stdout)


@cache
def help_of(module: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("command", MODULES)
def test_programs_have_the_options_that_the_pages_name(command: str) -> None:
    words = shlex.split(command)
    assert words[:2] == ["python", "-m"]
    module = words[2]
    if module != "build":
        missing = [word for word in words[3:] if word.startswith("--") and word not in help_of(module)]
        assert missing == []


def test_the_configuration_for_mcp_starts_the_server(working_folder: Path) -> None:
    mcp = pytest.importorskip("mcp")
    (block,) = [block for name in pages_with("json") for block in blocks(name, "json")]
    configured = json.loads(block)["mcpServers"]["tersely"]
    server = mcp.StdioServerParameters(
        command=str(Path(sys.executable).parent / configured["command"]),
        args=configured["args"],
        cwd=working_folder,
        env=dict(os.environ),
    )

    async def call() -> str:
        async with mcp.Client(server) as client:
            request = {"query": "Who holds the spare key?", "paths": ["*.md"], "budget": 12}
            return (await client.call_tool("compress", request)).structured_content["text"]

    assert asyncio.run(call()) == "house.md\nAda holds the spare key."


@pytest.mark.parametrize(
    "script",
    [
        "scripts/test",
        "scripts/check",
        "scripts/venv",
        "scripts/oldest",
        "scripts/ray",
        "scripts/browser",
        ".ci/run",
        "training/runs/phase2_vllm.sh",
    ],
)
def test_scripts_can_be_run(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    subprocess.run(["bash", "-n", ROOT / script], check=True)
