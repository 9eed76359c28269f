"""`tersely compress --batch`: bad rows, an output file, and going on with it after a kill."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sdk.cli_runner import COMMAND, NOTE, QUERY, check_failure, run_tersely, write_json_lines


def make_request(number: int) -> dict[str, Any]:
    return {"query": f"{QUERY} ({number})", "documents": [NOTE], "id": number}


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    return write_json_lines(tmp_path / "batch.jsonl", [make_request(number) for number in range(1, 5)])


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def test_a_batch_answers_every_line_in_order(tmp_path: Path) -> None:
    rows = [
        {"query": QUERY, "documents": [NOTE], "id": "first \ud800"},
        {"query": "Who is away?", "documents": [{"text": NOTE, "title": "House notes"}]},
        {"documents": [NOTE]},
    ]
    path = write_json_lines(tmp_path / "batch.jsonl", rows)
    result = run_tersely("compress", "--batch", path, "--rate", "0.4")
    assert (result.exit_code, result.stderr) == (0, "")
    first, second, third = map(json.loads, result.stdout.splitlines())
    single = run_tersely("compress", "-q", QUERY, "--rate", "0.4", "--json", stdin=NOTE).read_json()
    head = {"line": 1, "id": "first \ud800", "query": QUERY}
    assert {**first, "timings": 0} == {**head, **single, "timings": 0}
    assert (second["line"], second["query"]) == (2, "Who is away?")
    assert "id" not in second
    assert "The neighbours are away" in second["text"]
    assert (third["query"], third["model"]) == (None, "coverage")


def test_a_batch_on_a_pipe_answers_before_the_input_ends() -> None:
    line = json.dumps({"query": QUERY, "documents": [NOTE]}) + "\n"
    with subprocess.Popen(
        [*COMMAND, "compress", "--batch", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(2):
            process.stdin.write(line)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["query"] == QUERY
        process.stdin.close()
        assert process.wait(timeout=60) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")
def test_a_batch_on_a_terminal_shows_its_progress(batch: Path, out: Path) -> None:
    reader, terminal = os.openpty()
    command = [*COMMAND, "compress", "--batch", str(batch), "--rate", "0.5", "--out", str(out)]
    with subprocess.Popen(command, stderr=terminal, stdout=subprocess.PIPE) as process:
        os.close(terminal)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while part := os.read(reader, 1000):
                shown += part
    os.close(reader)
    assert process.returncode == 0
    assert b"100%" in shown
    assert len(read_rows(out)) == 4


@pytest.mark.parametrize("piped", [False, True])
def test_a_batch_goes_on_after_bad_rows(tmp_path: Path, piped: bool) -> None:
    good = json.dumps(make_request(1))
    bad = {
        '{"query": "x"}': "line 2: expected",
        "{": "line 3: not valid JSON",
        '{"query": "x", "documents": [5]}': "line 4, document 1: is an int",
        '{"query": " ", "documents": ["One."]}': "line 5: The query is empty",
        '{"query": 7, "documents": ["One."], "id": "a"}': "line 6: expected",
        '{"documents": ["One."]}': "line 7: There is no query",
        "[1]": "line 8: expected",
    }
    path = tmp_path / "batch.jsonl"
    path.write_text("\n".join([good, *bad, good, ""]), encoding="utf-8")
    content = path.read_text(encoding="utf-8")
    result = run_tersely("compress", "--batch", "-" if piped else path, stdin=content if piped else "")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 2
    assert [row["line"] for row in rows] == list(range(1, 10))
    assert ["error" in row for row in rows] == [False, *[True] * 7, False]
    assert [row.get("id") for row in rows] == [1, *[None] * 4, "a", None, None, 1]
    for line, message in zip(result.stderr.splitlines(), bad.values(), strict=True):
        assert message in line


def test_an_existing_file_is_not_overwritten(batch: Path, out: Path) -> None:
    out.write_text("mine\n")
    check_failure(run_tersely("compress", "--batch", batch, "--out", out), 2, "exists. Pass --resume")
    assert out.read_text() == "mine\n"


@pytest.mark.parametrize(
    "arguments", [["-q", "a", "--out", "x"], ["-q", "a", "--resume"], ["--batch", "-", "--resume"]]
)
def test_resume_needs_a_batch_and_its_file(arguments: list[str]) -> None:
    check_failure(run_tersely("compress", *arguments, stdin=NOTE), 2)


@pytest.mark.parametrize("cut", [0, 1, 30, 10**6])
def test_resuming_does_every_request_once(batch: Path, tmp_path: Path, out: Path, cut: int) -> None:
    whole = tmp_path / "whole.jsonl"
    result = run_tersely("compress", "--batch", batch, "--out", whole)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    lines = whole.read_bytes().splitlines(keepends=True)
    out.write_bytes(lines[0] + lines[1][: min(cut, len(lines[1]) - 1)])
    assert run_tersely("compress", "--batch", batch, "--out", out, "--resume").exit_code == 0
    assert [row["line"] for row in read_rows(out)] == [1, 2, 3, 4]
    assert out.read_bytes().splitlines(keepends=True)[0] == lines[0], "the first was done again"
    before = out.read_bytes()
    assert run_tersely("compress", "--batch", batch, "--out", out, "--resume").exit_code == 0
    assert out.read_bytes() == before


def test_resuming_after_a_kill_repeats_and_loses_nothing(tmp_path: Path, out: Path) -> None:
    requests = [make_request(number) for number in range(1, 61)]
    batch = write_json_lines(tmp_path / "batch.jsonl", requests)
    with subprocess.Popen([*COMMAND, "compress", "--batch", batch, "--out", out]) as process:
        while not out.exists() or out.read_bytes().count(b"\n") < 3:
            assert process.poll() is None
        process.kill()
    assert out.read_bytes().count(b"\n") < 60
    assert run_tersely("compress", "--batch", batch, "--out", out, "--resume").exit_code == 0
    assert [row["line"] for row in read_rows(out)] == list(range(1, 61))


def test_a_repaired_row_is_done_again(tmp_path: Path, out: Path) -> None:
    batch = tmp_path / "batch.jsonl"
    write_json_lines(batch, [make_request(1), {"query": "x"}, make_request(3)])
    assert run_tersely("compress", "--batch", batch, "--out", out).exit_code == 2
    write_json_lines(batch, [make_request(1), make_request(2), make_request(3)])
    assert run_tersely("compress", "--batch", batch, "--out", out, "--resume").exit_code == 0
    assert [row["line"] for row in read_rows(out)] == [1, 3, 2]
    assert all("error" not in row for row in read_rows(out))


@pytest.mark.parametrize("content", ["mine\nand mine\n", '{"a": 1}\n{"b": 2}\n'])
def test_a_file_with_other_content_is_not_continued(batch: Path, out: Path, content: str) -> None:
    out.write_text(content)
    result = run_tersely("compress", "--batch", batch, "--out", out, "--resume")
    check_failure(result, 2, "does not hold the results of a batch")
    assert out.read_text() == content


def test_the_results_of_another_batch_are_not_continued(batch: Path, tmp_path: Path, out: Path) -> None:
    run_tersely("compress", "--batch", batch, "--out", out)
    before = out.read_bytes()
    other = write_json_lines(tmp_path / "other.jsonl", [make_request(number) for number in range(7, 11)])
    result = run_tersely("compress", "--batch", other, "--out", out, "--resume")
    check_failure(result, 2, "the result of another question for line 1")
    assert out.read_bytes() == before
