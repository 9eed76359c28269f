"""`tersely compress` for one question and for a batch. Runs the bundled model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tersely import Compressor
from tersely.runtime.artifacts import load_artifact
from tests.sdk.cli_runner import (
    ANSWER,
    COMMAND,
    NOTE,
    QUERY,
    CommandResult,
    check_failure,
    run_tersely,
    write_json_lines,
)


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "note.md"
    path.write_text(NOTE, encoding="utf-8")
    return path


def test_the_command_prints_what_the_library_returns(note: Path) -> None:
    result = run_tersely("compress", "-q", QUERY, "--rate", "0.5", note)
    expected = Compressor().compress(QUERY, [NOTE], rate=0.5)
    assert result == CommandResult(0, expected.text + "\n", "")
    assert ANSWER in result.stdout
    assert len(result.stdout) < len(NOTE)


def test_without_a_question_the_command_needs_a_limit(note: Path) -> None:
    expected = Compressor().compress(None, [NOTE], rate=0.5)
    assert run_tersely("compress", "--rate", "0.5", note) == CommandResult(0, expected.text + "\n", "")
    check_failure(run_tersely("compress", note), 2, "Pass budget, rate or level")


def test_standard_input_and_dash_are_the_same() -> None:
    implicit = run_tersely("compress", "-q", QUERY, stdin=NOTE)
    assert implicit == run_tersely("compress", "-q", QUERY, "-", stdin=NOTE)


def test_a_limit_that_is_too_tight_for_the_best_unit_gives_a_warning(note: Path) -> None:
    tight = run_tersely("compress", "-q", QUERY, "--budget", "9", note)
    warning = "tersely: the unit that scored highest exceeds the limit by itself; raise the limit\n"
    assert (tight.exit_code, tight.stderr) == (0, warning)
    assert ANSWER not in tight.stdout
    assert (
        json.loads(run_tersely("compress", "-q", QUERY, "--budget", "9", "--json", note).stdout)["best_fits"]
        is False
    )
    enough = run_tersely("compress", "-q", QUERY, "--budget", "12", note)
    assert (enough.stdout, enough.stderr) == (f"{ANSWER}\n", "")


def test_a_level_bounds_every_document(note: Path) -> None:
    result = run_tersely("compress", "-q", QUERY, "--level", "1", "--json", note)
    assert result.exit_code == 0
    assert all(len(document["text"]) <= 500 for document in json.loads(result.stdout)["documents"])
    assert run_tersely("compress", "-q", QUERY, "--level", "auto", note).exit_code == 0


def test_a_level_out_of_range_is_refused(note: Path) -> None:
    result = run_tersely("compress", "-q", QUERY, "--level", "6", note)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "level is 6. Pass 'auto' or a level of detail from 1 to 5." in result.stderr


def test_json_is_one_line_with_the_receipt(note: Path) -> None:
    result = run_tersely("compress", "-q", QUERY, "--budget", "20", "--json", note)
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 1
    receipt = json.loads(result.stdout)
    assert receipt["tokens_after"] <= 20 < receipt["tokens_before"]
    assert receipt["status"] == "compressed"
    kept = [NOTE[span["start"] : span["end"]] for span in receipt["kept"]]
    dropped = [NOTE[span["start"] : span["end"]] for span in receipt["dropped"]]
    assert ANSWER in kept
    assert sorted(kept + dropped, key=NOTE.index) == [
        "The shed was painted in May.",
        ANSWER,
        "Rain is expected on Sunday.",
        "The neighbours are away until the end of the month.",
        "Their cat is fed twice a day.",
    ]


def test_show_without_a_terminal_marks_every_sentence(note: Path) -> None:
    result = run_tersely("compress", "-q", QUERY, "--rate", "0.3", "--show", note)
    lines = result.stdout.splitlines()
    assert [line.split(" ", 2)[2] for line in lines if line.startswith("+ ")] == [ANSWER]
    assert sum(line.startswith("- ") for line in lines) == 4
    assert lines[0].startswith(str(note))
    assert lines[-1].startswith("compressed: ")


def test_show_in_colour_dims_what_was_dropped(note: Path) -> None:
    result = run_tersely("compress", "-q", QUERY, "--rate", "0.3", "--show", "--color", "always", note)
    assert f"\x1b[1m{ANSWER}\x1b[0m" in result.stdout
    assert "\x1b[2mRain is expected on Sunday.\x1b[0m" in result.stdout


def test_documents_keep_their_titles(tmp_path: Path) -> None:
    rows = [{"text": NOTE, "title": "House notes"}, {"text": "The bus leaves at nine.", "title": "Bus"}]
    path = write_json_lines(tmp_path / "docs.jsonl", rows)
    result = run_tersely("compress", "-q", QUERY, "--rate", "0.4", path)
    assert result.exit_code == 0
    assert result.stdout.startswith("House notes\n")
    assert ANSWER in result.stdout


def test_line_ends_come_out_as_they_went_in() -> None:
    text = NOTE.replace("\n", "\r\n")
    process = subprocess.run(
        [*COMMAND, "compress", "-q", QUERY, "--rate", "1"],
        input=text.encode(),
        capture_output=True,
        check=True,
    )
    assert process.stdout.rstrip(b"\n") == text.encode().rstrip()


def test_a_tokenizer_file_counts(note: Path) -> None:
    tokenizer = load_artifact().tokenizer_path
    result = run_tersely("compress", "-q", QUERY, "--budget", "25", "--json", "--tokenizer", tokenizer, note)
    expected = Compressor(token_counter=tokenizer).compress(QUERY, [NOTE], budget=25)
    assert json.loads(result.stdout)["tokens_before"] == expected.tokens_before


def test_a_batch_answers_every_line_in_order(tmp_path: Path) -> None:
    rows = [
        {"query": QUERY, "documents": [NOTE], "id": "first"},
        {"query": "Who is away?", "documents": [{"text": NOTE, "title": "House notes"}]},
    ]
    path = write_json_lines(tmp_path / "batch.jsonl", rows)
    result = run_tersely("compress", "--batch", path, "--rate", "0.4")
    assert (result.exit_code, result.stderr) == (0, "")
    first, second = map(json.loads, result.stdout.splitlines())
    single = json.loads(run_tersely("compress", "-q", QUERY, "--rate", "0.4", "--json", stdin=NOTE).stdout)
    assert {**first, "timings": 0} == {"line": 1, "id": "first", "query": QUERY, **single, "timings": 0}
    assert second["query"] == "Who is away?"
    assert "id" not in second
    assert "The neighbours are away" in second["text"]
    from_stdin = run_tersely("compress", "--batch", "-", "--rate", "0.4", stdin=path.read_text())
    assert from_stdin.stdout.count("\n") == 2


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


@pytest.mark.parametrize("question", ["Où est la clé de l'été ?", "鍵はどこですか"])
def test_a_question_has_the_same_scores_in_every_locale(question: str, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text(
        "La clé est sous le pot. L'été est chaud. 鍵は鉢の下です。Le chat dort.", encoding="utf-8"
    )
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHONUTF8"))}
    outputs = [
        subprocess.run(
            [*COMMAND, "compress", "--query", question.encode(), "--json", note],
            env={**plain, **locale, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            check=True,
        ).stdout
        for locale in (
            {"LC_ALL": "C.UTF-8"},
            {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        )
    ]
    first, second = ({**json.loads(output), "timings": {}} for output in outputs)
    assert first == second
