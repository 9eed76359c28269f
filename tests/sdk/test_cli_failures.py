"""Errors of the command: an exit code for each kind, one line, never a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tersely import Compressor
from tersely.runtime.session import EncoderSession
from tests.sdk.cli_runner import (
    ANSWER,
    COMMAND,
    NOTE,
    QUERY,
    check_failure,
    copy_damaged_model,
    run_tersely,
    write_json_lines,
)

ROW = {"query": QUERY, "documents": [NOTE], "answers": [ANSWER]}
on_unix = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes as on Unix")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["explode"],
        ["compress"],
        ["compress", "-q", "a", "--frobnicate"],
        ["compress", "-q", "a", "--batch", os.devnull],
        ["compress", "-q", "a", "--budget", "5", "--rate", "0.5"],
        ["compress", "-q", "a", "--budget", "many"],
        ["compress", "-q", "a", "--rate", "a quarter"],
        ["compress", "-q", "a", "--rate", "150%"],
        ["compress", "-q", "a", "--level", "6"],
        ["compress", "-q", "a", "--threads", "-1"],
        ["compress", "-q", "a", "--tokenizer", "no/such/tokenizer.json"],
        ["compress", "-q", " "],
        ["compress", "-q", "a", "absent.txt"],
        ["compress", "-q", "a", "absent/*.md"],
        ["summarize", "-q", "a", "--local", "x", "--base-url", "http://127.0.0.1:9/v1"],
        ["summarize", "-q", "a", "--chat-model", "b"],
        ["summarize", "-q", "a", "--base", "b.gguf"],
        ["agent", "--docs", ".", "-q", "a", "--local", "--base", "b.gguf"],
        ["compress", "-q", "a", "-", "-"],
        ["compress", "-q", "a", "--json", "--show"],
        ["compress", "--batch", "absent.jsonl"],
        ["compress", "--batch", "-", os.devnull],
        ["compress", "--batch", "-", "--show"],
        ["agent", "--docs", "absent", "-q", "a", "--base-url", "http://127.0.0.1:9/v1"],
        ["agent", "--docs", ".", "-q", "a", "--base-url", "http://127.0.0.1:9/v1", "--local"],
        ["agent", "--docs", ".", "-q", "a", "--local", "--chat-model", "b"],
        ["proxy", "--upstream", "http://127.0.0.1:9", "--over", "few"],
        ["proxy", "--upstream", "http://127.0.0.1:9", "--tool", "5"],
        ["trace", "absent"],
        ["inspect", "a", "b"],
        ["doctor", "--threads", "0"],
    ],
    ids=" ".join,
)
def test_bad_usage_and_bad_input_exit_with_2(arguments: list[str]) -> None:
    check_failure(run_tersely(*arguments, stdin=NOTE), 2)


def test_an_agent_without_its_chat_model_exits_with_3(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Ada holds the key.")
    result = run_tersely("agent", "--docs", tmp_path, "-q", QUERY, "--base-url", "http://127.0.0.1:9/v1")
    check_failure(result, 3, "cannot be reached")


def test_a_missing_package_exits_with_3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tersely.cli.app", raising=False)
    monkeypatch.setitem(sys.modules, "click", None)
    check_failure(run_tersely("demo"), 3, "pip install click")


@pytest.mark.parametrize("command", ["compress -q a --model", "inspect", "demo --model"])
def test_a_missing_or_damaged_model_exits_with_3(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    empty = tmp_path / "empty"
    empty.mkdir()
    for model, message in [
        (copy_damaged_model(tmp_path / "damaged"), "checksum"),
        (empty, "manifest.json"),
        (tmp_path / "absent", "no model folder"),
        ("someone/some-model", "TERSELY_OFFLINE"),
    ]:
        result = run_tersely(*command.split(), model, stdin=NOTE)
        assert (result.exit_code, result.stderr.count("\n")) == (3, 1)
        assert message in result.stderr


@pytest.fixture
def failing_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the encoder by one that runs once, while the model is loaded, and then fails."""
    run = EncoderSession.run
    loaded: list[EncoderSession] = []

    def run_once(session: EncoderSession, *arguments: Any) -> Any:
        if session in loaded:
            raise RuntimeError("the graph fell over")
        loaded.append(session)
        return run(session, *arguments)

    monkeypatch.setattr(EncoderSession, "run", run_once)


@pytest.mark.usefixtures("failing_encoder")
def test_a_failing_model_passes_text_through_and_exits_with_4(tmp_path: Path) -> None:
    result = run_tersely("compress", "-q", QUERY, stdin=NOTE)
    assert result.exit_code == 4
    assert all(line in result.stdout for line in NOTE.strip().splitlines())
    assert result.stderr.startswith("tersely: not compressed, passed through unchanged: ")
    assert "the graph fell over" in result.stderr
    assert result.stderr.count("\n") == 1

    result = run_tersely("compress", "--batch", write_json_lines(tmp_path / "batch.jsonl", [ROW] * 2))
    assert result.exit_code == 4
    assert [json.loads(line)["status"] for line in result.stdout.splitlines()] == ["failed_open"] * 2
    assert [line.split(": ")[1] for line in result.stderr.splitlines()] == ["line 1", "line 2"]


@pytest.mark.usefixtures("failing_encoder")
def test_a_failing_model_within_a_limit_exits_with_4() -> None:
    result = run_tersely("compress", "-q", QUERY, "--rate", "0.5", stdin=NOTE)
    assert result.exit_code == 4
    assert 0 < len(result.stdout) < len(NOTE)
    assert result.stderr.startswith("tersely: degraded: the model failed: ")


@pytest.mark.usefixtures("failing_encoder")
def test_a_failing_model_is_not_calibrated(tmp_path: Path) -> None:
    data = write_json_lines(tmp_path / "cases.jsonl", [ROW])
    result = run_tersely("calibrate", "--data", data, "--out", tmp_path / "model")
    check_failure(result, 3, "cannot be calibrated")
    assert not (tmp_path / "model").exists()


def test_a_timeout_that_is_too_short_exits_with_4() -> None:
    result = run_tersely("compress", "-q", QUERY, "--rate", "0.5", "--timeout", "1e-6", stdin=NOTE)
    assert result.exit_code == 4
    assert result.stdout.startswith(ANSWER)
    reason = "the time limit of 1e-06 s was up before the model had any scores"
    assert result.stderr == f"tersely: degraded: {reason}\n"


def test_a_bug_exits_with_1_and_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(Compressor, "compress", fail)
    result = run_tersely("compress", "-q", QUERY, stdin=NOTE)
    check_failure(result, 1, "ZeroDivisionError: division by zero")


@on_unix
def test_an_interrupt_exits_with_130_and_without_a_traceback() -> None:
    with subprocess.Popen(
        [*COMMAND, "compress", "--batch", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Started in the background by a shell, the tests would ignore the signal, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(ROW).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()  # it is at work now
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (130, b"tersely: interrupted\n")


@on_unix
def test_output_without_a_reader_exits_with_141_in_silence(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "batch.jsonl", [{"query": QUERY, "documents": [NOTE] * 20}] * 100)
    with subprocess.Popen(
        [*COMMAND, "compress", "--batch", path, "--rate", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_exits_with_1_and_without_a_traceback() -> None:
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            [*COMMAND, "demo"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert process.returncode == 1
    assert "No space left on device" in process.stderr
    assert "Traceback" not in process.stderr


@on_unix
@pytest.mark.parametrize("redirection", ["<&-", ">&-"])
def test_a_closed_stream_exits_with_1(redirection: str) -> None:
    shell = ["bash", "-c", f'"$@" {redirection}', "bash", *COMMAND, "compress", "-q", QUERY]
    process = subprocess.run(shell, input=NOTE, capture_output=True, text=True, check=False)
    assert process.returncode == 1
    assert process.stderr == "tersely: standard input or standard output is closed\n"
