"""`tersely compress --batch`: bad rows, an output file, and going on with it after a kill."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sdk.cli_runner import COMMAND, NOTE, QUERY, check_failure, run_tersely, write_json_lines


def request(number: int) -> dict[str, Any]:
    return {"query": f"{QUERY} ({number})", "documents": [NOTE], "id": number}


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    return write_json_lines(tmp_path / "batch.jsonl", [request(number) for number in range(1, 5)])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (b'{"query": "x"}', "line 2: expected"),
        (b"{", "line 2: not valid JSON"),
        (b"\xff", "line 2: not UTF-8 text"),
        (b'{"query": "x", "documents": [5]}', "line 2, document 1: is an int"),
        (b'{"query": " ", "documents": ["One."]}', "line 2: The query is empty"),
        (b'{"query": 7, "documents": ["One."]}', "line 2: expected"),
        (b'{"documents": ["One."]}', "line 2: There is no query"),
    ],
)
@pytest.mark.parametrize("piped", [False, True])
def test_a_batch_goes_on_after_a_bad_row_and_the_exit_code_says_so(
    tmp_path: Path, bad: bytes, message: str, piped: bool
) -> None:
    good = json.dumps(request(1)).encode()
    path = tmp_path / "batch.jsonl"
    path.write_bytes(b"\n".join([good, bad, good, b""]))
    if piped:
        process = subprocess.run(
            [*COMMAND, "compress", "--batch", "-"], input=path.read_bytes(), capture_output=True, check=False
        )
        code, out, err = process.returncode, process.stdout.decode(), process.stderr.decode()
    else:
        result = run_tersely("compress", "--batch", path)
        code, out, err = result.exit_code, result.stdout, result.stderr
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 2
    assert [row["line"] for row in rows] == [1, 2, 3]
    assert ["error" in row for row in rows] == [False, True, False]
    assert err.count("\n") == 1
    assert message in err


def test_an_error_keeps_the_id_of_its_request(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "batch.jsonl", [{"id": "a", "query": 5}])
    (row,) = map(json.loads, run_tersely("compress", "--batch", path).stdout.splitlines())
    assert (row["id"], row["line"]) == ("a", 1)


def test_results_in_a_file_are_those_of_standard_output(batch: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    result = run_tersely("compress", "--batch", batch, "--rate", "0.5", "--out", out)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    printed = run_tersely("compress", "--batch", batch, "--rate", "0.5").stdout.splitlines()
    assert [{**row, "timings": 0} for row in read(out)] == [{**json.loads(p), "timings": 0} for p in printed]


def test_a_file_that_exists_is_not_written_over(batch: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("mine\n")
    check_failure(run_tersely("compress", "--batch", batch, "--out", out), 2, "exists. Pass --resume")
    assert out.read_text() == "mine\n"


@pytest.mark.parametrize(
    "arguments", [["-q", "a", "--out", "x"], ["-q", "a", "--resume"], ["--batch", "-", "--resume"]]
)
def test_resume_needs_a_batch_and_its_file(arguments: list[str]) -> None:
    check_failure(run_tersely("compress", *arguments, stdin=NOTE), 2)


@pytest.mark.parametrize("cut", [0, 1, 30, 10**6])
def test_resuming_does_every_request_once_wherever_the_file_ends(
    batch: Path, tmp_path: Path, cut: int
) -> None:
    whole, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    run_tersely("compress", "--batch", batch, "--out", whole)
    lines = whole.read_bytes().splitlines(keepends=True)
    out.write_bytes(lines[0] + lines[1][: min(cut, len(lines[1]) - 1)])
    assert run_tersely("compress", "--batch", batch, "--out", out, "--resume").exit_code == 0
    assert [row["line"] for row in read(out)] == [1, 2, 3, 4]
    assert out.read_bytes().splitlines(keepends=True)[0] == lines[0], "the first was done again"
    before = out.read_bytes()
    assert run_tersely("compress", "--batch", batch, "--out", out, "--resume").exit_code == 0
    assert out.read_bytes() == before


def test_resuming_after_a_kill_loses_nothing_and_does_nothing_twice(tmp_path: Path) -> None:
    batch = write_json_lines(tmp_path / "batch.jsonl", [request(number) for number in range(1, 61)])
    out = tmp_path / "out.jsonl"
    with subprocess.Popen([*COMMAND, "compress", "--batch", batch, "--out", out]) as process:
        while not out.exists() or out.read_bytes().count(b"\n") < 3:
            assert process.poll() is None
        process.kill()
    done = out.read_bytes().count(b"\n")
    assert run_tersely("compress", "--batch", batch, "--out", out, "--resume").exit_code == 0
    assert done < 60
    assert [row["line"] for row in read(out)] == list(range(1, 61))


def test_what_failed_is_done_again_when_its_row_is_repaired(tmp_path: Path) -> None:
    batch, out = tmp_path / "batch.jsonl", tmp_path / "out.jsonl"
    write_json_lines(batch, [request(1), {"query": "x"}, request(3)])
    assert run_tersely("compress", "--batch", batch, "--out", out).exit_code == 2
    write_json_lines(batch, [request(1), request(2), request(3)])
    assert run_tersely("compress", "--batch", batch, "--out", out, "--resume").exit_code == 0
    assert [row["line"] for row in read(out)] == [1, 3, 2]
    assert all("error" not in row for row in read(out))


@pytest.mark.parametrize("content", ["mine\nand mine\n", '{"a": 1}\n{"b": 2}\n'])
def test_a_file_of_something_else_is_not_continued(batch: Path, tmp_path: Path, content: str) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text(content)
    result = run_tersely("compress", "--batch", batch, "--out", out, "--resume")
    check_failure(result, 2, "does not hold the results of a batch")
    assert out.read_text() == content


def test_the_results_of_another_batch_are_not_continued(batch: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run_tersely("compress", "--batch", batch, "--out", out)
    before = out.read_bytes()
    other = write_json_lines(tmp_path / "other.jsonl", [request(number) for number in range(7, 11)])
    result = run_tersely("compress", "--batch", other, "--out", out, "--resume")
    check_failure(result, 2, "the result of another question for line 1")
    assert out.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="rights as on Unix")
def test_a_folder_as_the_file_is_one_line_of_complaint(batch: Path, tmp_path: Path) -> None:
    result = run_tersely("compress", "--batch", batch, "--out", tmp_path, "--resume")
    check_failure(result, 1)


def test_a_batch_may_hold_requests_without_a_question_and_goes_on(tmp_path: Path) -> None:
    path, out = tmp_path / "batch.jsonl", tmp_path / "out.jsonl"
    write_json_lines(path, [{"documents": [NOTE]}, {"query": None, "documents": [NOTE]}, request(3)])
    command = ("compress", "--batch", path, "--rate", "0.5", "--out", out, "--resume")
    assert run_tersely(*command).exit_code == 0
    first = read(out)
    assert [row["query"] for row in first] == [None, None, f"{QUERY} (3)"]
    assert [row["model"] == "coverage" for row in first] == [True, True, False]
    assert run_tersely(*command).exit_code == 0
    assert read(out) == first
