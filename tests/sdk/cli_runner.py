"""Run the `tersely` command as a shell sees it: output, errors, exit code."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tersely.cli import main
from tersely.runtime.artifacts import load_artifact

COMMAND = [sys.executable, "-m", "tersely.cli"]
"""Command for tests that need a process of their own."""

QUERY = "Where is the spare key?"
NOTE = """\
The shed was painted in May. The spare key hangs behind the third flower pot. Rain is expected on Sunday.

The neighbours are away until the end of the month. Their cat is fed twice a day.
"""
ANSWER = "The spare key hangs behind the third flower pot."


@dataclass(frozen=True)
class CommandResult:
    exit_code: int
    stdout: str
    stderr: str

    def read_json(self) -> Any:
        """Return the one line of JSON that the command has printed."""
        assert self.stdout.count("\n") == 1
        return json.loads(self.stdout)


def run_tersely(*arguments: str | Path, stdin: str = "") -> CommandResult:
    """Call the command in this process. None of its streams is a terminal."""
    source = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", source)
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        exit_code = main([str(argument) for argument in arguments])
    return CommandResult(exit_code, _read_written(out), _read_written(err))


def _read_written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode()


def check_failure(result: CommandResult, exit_code: int, message: str = "") -> None:
    """Assert that the command printed nothing but one line of complaint."""
    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert result.stderr.startswith("tersely: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def write_json_lines(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def copy_damaged_model(folder: Path) -> Path:
    """Copy the bundled model into the new `folder` and flip one byte of its graph."""
    artifact = load_artifact()
    shutil.copytree(artifact.path, folder)
    graph = folder / artifact.model_path.relative_to(artifact.path)
    content = bytearray(graph.read_bytes())
    content[len(content) // 2] ^= 0xFF
    graph.write_bytes(content)
    return folder
