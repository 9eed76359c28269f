"""The examples and the cheap commands of the pages run, and give what the pages show."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import pytest

from tests.docs.conftest import COMPRESSION_SERVER, SERVER
from tests.docs.pages import ROOT, blocks, commands, pages_with, run_examples

on_unix = pytest.mark.skipif(sys.platform == "win32", reason="the commands are for a Unix shell")

NOT_RUN = (
    "tersely agent ",
    "tersely hook ",
    "tersely mcp ",
    "tersely serve",
    "tersely proxy ",
    "tersely wrap ",
    "tersely report",
)
"""Commands that need a chat model or a ledger, do not end, or change settings of the user."""
RUN = [command for command in commands("tersely") if not command[1].startswith(NOT_RUN)]
SERVED = [command for _, command in commands("tersely") if command.startswith(NOT_RUN)]
MODULES = sorted({command for _, command in commands("python") if " build" not in command})


@pytest.mark.parametrize("name", pages_with("python"))
def test_examples_give_what_they_show(
    name: str, working_folder: Path, chat_url: str, request: pytest.FixtureRequest
) -> None:
    replacements = {SERVER: chat_url}
    if any(COMPRESSION_SERVER in block for block in blocks(name, "python")):
        pytest.importorskip("fastapi")
        replacements[COMPRESSION_SERVER] = request.getfixturevalue("compression_url")
    try:
        compared = run_examples(name, replacements)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("tersely"):
            raise
        pytest.skip(f"{error.name} is not installed")
    assert compared == sum(block.count("# -> ") for block in blocks(name, "python"))


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


UNLIKE = "tersely: the request is unlike those of the calibration, so nothing is promised\n"


@on_unix
@pytest.mark.parametrize("page", sorted({page for page, _ in RUN}))
def test_commands_run(page: str, working_folder: Path) -> None:
    for name, command in RUN:
        if name == page:
            done = run(command, working_folder)
            assert done.returncode == 0, command
            assert done.stderr in ("", UNLIKE if "--recall" in command else ""), command


@on_unix
def test_a_batch_keeps_the_question(working_folder: Path) -> None:
    (command,) = [command for _, command in RUN if "--batch" in command and ">" in command]
    assert run(command, working_folder).returncode == 0
    compressed = json.loads((working_folder / "compressed.jsonl").read_text(encoding="utf-8"))
    assert compressed["query"] == "Who holds the spare key?"


@on_unix
def test_the_demo_prints_what_the_readme_shows(working_folder: Path) -> None:
    def without_scores(output: str) -> set[str]:
        """Return the lines without scores, times and how much is kept, which differ between processors."""
        differing = re.compile(r"^\s*0\.\d\d|(?<=^compressed: 1,349 -> )\d.*")
        lines = (differing.sub("", line) for line in output.splitlines())
        return {" ".join(line.split()) for line in lines}

    shown = without_scores(blocks("README.md", "text")[0]) - {"", "..."}
    assert len(shown) >= 6
    assert shown <= without_scores(run("tersely demo", working_folder).stdout)


@cache
def read_help(command: str) -> str:
    """Return the help of a command. Its imports serve the other tests of this process."""
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as printed:
        patch.setattr(sys, "argv", [*command.split(), "--help"])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*found in sys.modules")
            with pytest.raises(SystemExit) as end:
                runpy.run_module(sys.argv[0], run_name="__main__")
    assert not end.value.code, command
    return printed.getvalue()


def unknown_options(words: list[str], command: str) -> list[str]:
    """Return the options among `words` that the help of a command does not name."""
    return [word for word in words if word.startswith("--") and word not in read_help(command)]


@pytest.mark.parametrize("command", SERVED)
def test_commands_that_are_not_run_have_known_options(command: str) -> None:
    words = shlex.split(command)
    assert unknown_options(words, f"tersely.cli {words[1]}") == []


@pytest.mark.slow
@pytest.mark.parametrize("command", MODULES)
def test_programs_have_the_options_that_the_pages_name(command: str) -> None:
    words = shlex.split(command)
    assert words[:2] == ["python", "-m"]
    assert unknown_options(words, words[2]) == []


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
            return (await client.call_tool("compress", request)).content[0].text

    assert asyncio.run(call()) == "house.md\nAda holds the spare key."


CONTAINER = ROOT / "scripts/container"


def test_the_image_starts_a_server_without_root() -> None:
    lines = (CONTAINER / "Containerfile").read_text("utf-8").splitlines()
    last = {line.split(" ", 1)[0]: line.split(" ", 1)[1] for line in lines if re.match(r"[A-Z]+ ", line)}
    program, subcommand, *words = json.loads(last["ENTRYPOINT"]) + json.loads(last["CMD"])
    assert (program, words[:2]) == ("tersely", ["--host", "0.0.0.0"])
    assert unknown_options(words, f"tersely.cli {subcommand}") == []
    assert int(last["USER"]) > 0
    copied = [path for line in lines if re.match("COPY (?!--)", line) for path in line.split()[1:-1]]
    assert copied
    assert all((ROOT / path).exists() for path in copied)


def test_compose_example_puts_the_proxy_before_the_model() -> None:
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load((CONTAINER / "compose.yaml").read_text("utf-8"))["services"]
    subcommand, *words = services["proxy"]["command"]
    assert (subcommand, words[:2]) == ("proxy", ["--upstream", "http://model:8000"])
    assert unknown_options(words, f"tersely.cli {subcommand}") == []
    assert "ports" not in services["model"]
    assert all(port.startswith("127.0.0.1:") for port in services["proxy"]["ports"])
    for service in services.values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
    build = services["proxy"]["build"]
    assert (CONTAINER / build["context"] / build["dockerfile"]).exists()
