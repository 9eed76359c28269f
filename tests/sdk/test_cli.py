"""The command as a shell sees it: output, exit code, one line on standard error. Runs the bundled model."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tersely import Compressor
from tersely.cli import main
from tersely.cli.arguments import DEMO_QUERY
from tersely.cli.documents import demo_documents
from tersely.runtime.artifacts import load_artifact
from tersely.runtime.session import EncoderSession

COMMAND = [sys.executable, "-m", "tersely.cli"]
QUERY = "Where is the spare key?"
NOTE = """\
The shed was painted in May. The spare key hangs behind the third flower pot. Rain is expected on Sunday.

The neighbours are away until the end of the month. Their cat is fed twice a day.
"""
ANSWER = "The spare key hangs behind the third flower pot."


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Calls the command in this process."""

    def call(*args: str | Path, stdin: str = "") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        try:
            code = main([str(arg) for arg in args])
        except SystemExit as end:  # argparse, for --help and bad usage
            code = end.code if isinstance(end.code, int) else 1
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return call


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "note.md"
    path.write_text(NOTE, encoding="utf-8")
    return path


def write_lines(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


# -- compress


def test_prints_what_the_library_returns(run: Run, note: Path) -> None:
    outcome = run("compress", "-q", QUERY, "--rate", "0.5", note)
    expected = Compressor().compress(QUERY, [NOTE], rate=0.5)
    assert outcome == Outcome(0, expected.text + "\n", "")
    assert ANSWER in outcome.out
    assert len(outcome.out) < len(NOTE)


def test_standard_input_and_dash_are_the_same(run: Run) -> None:
    assert run("compress", "-q", QUERY, stdin=NOTE) == run("compress", "-q", QUERY, "-", stdin=NOTE)


def test_levels_bound_every_document(run: Run, note: Path) -> None:
    outcome = run("compress", "-q", QUERY, "--level", "1", "--json", note)
    assert outcome.code == 0
    assert all(len(d["text"]) <= 500 for d in json.loads(outcome.out)["documents"])
    assert run("compress", "-q", QUERY, "--level", "auto", note).code == 0
    bad = run("compress", "-q", QUERY, "--level", "6", note)
    assert (bad.code, bad.out) == (2, "")
    assert "level is 6. Pass 'auto' or a level of detail from 1 to 5." in bad.err


def test_agents_and_traces_want_what_exists(run: Run, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    bad = run("agent", "--docs", missing, "-q", QUERY, "--base-url", "http://127.0.0.1:9/v1")
    assert (bad.code, bad.out) == (2, "")
    assert "There is no folder" in bad.err
    bad = run("trace", missing)
    assert (bad.code, bad.out) == (2, "")
    assert "there is no file" in bad.err
    (tmp_path / "a.md").write_text("Ada holds the key.")
    down = run("agent", "--docs", tmp_path, "-q", QUERY, "--base-url", "http://127.0.0.1:9/v1")
    assert (down.code, down.out) == (3, "")
    assert "cannot be reached" in down.err


def test_json_is_one_line_with_the_receipt(run: Run, note: Path) -> None:
    outcome = run("compress", "-q", QUERY, "--budget", "20", "--json", note)
    assert outcome.code == 0
    assert outcome.out.count("\n") == 1
    result = json.loads(outcome.out)
    assert result["tokens_after"] <= 20 < result["tokens_before"]
    assert result["status"] == "compressed"
    kept = [NOTE[span["start"] : span["end"]] for span in result["kept"]]
    dropped = [NOTE[span["start"] : span["end"]] for span in result["dropped"]]
    assert ANSWER in kept
    assert sorted(kept + dropped, key=NOTE.index) == [
        "The shed was painted in May.",
        ANSWER,
        "Rain is expected on Sunday.",
        "The neighbours are away until the end of the month.",
        "Their cat is fed twice a day.",
    ]


def test_show_without_a_terminal_marks_every_sentence(run: Run, note: Path) -> None:
    outcome = run("compress", "-q", QUERY, "--rate", "0.3", "--show", note)
    lines = outcome.out.splitlines()
    assert [line.split(" ", 2)[2] for line in lines if line.startswith("+ ")] == [ANSWER]
    assert sum(line.startswith("- ") for line in lines) == 4
    assert lines[0].startswith(str(note))
    assert lines[-1].startswith("compressed: ")


def test_show_in_colour_dims_what_was_dropped(run: Run, note: Path) -> None:
    outcome = run("compress", "-q", QUERY, "--rate", "0.3", "--show", "--color", "always", note)
    assert f"\x1b[1m{ANSWER}\x1b[0m" in outcome.out
    assert "\x1b[2mRain is expected on Sunday.\x1b[0m" in outcome.out


def test_several_documents_keep_their_titles(run: Run, tmp_path: Path) -> None:
    rows = [{"text": NOTE, "title": "House notes"}, {"text": "The bus leaves at nine.", "title": "Bus"}]
    outcome = run("compress", "-q", QUERY, "--rate", "0.4", write_lines(tmp_path / "docs.jsonl", rows))
    assert outcome.code == 0
    assert outcome.out.startswith("House notes\n")
    assert ANSWER in outcome.out


def test_line_ends_come_out_as_they_went_in(tmp_path: Path) -> None:
    text = NOTE.replace("\n", "\r\n")
    done = subprocess.run(
        [*COMMAND, "compress", "-q", QUERY, "--rate", "1"],
        input=text.encode(),
        capture_output=True,
        check=True,
    )
    assert done.stdout.rstrip(b"\n") == text.encode().rstrip()


def test_a_tokenizer_file_counts(run: Run, note: Path) -> None:
    tokenizer = load_artifact().tokenizer_path
    outcome = run("compress", "-q", QUERY, "--budget", "25", "--json", "--tokenizer", tokenizer, note)
    expected = Compressor(token_counter=tokenizer).compress(QUERY, [NOTE], budget=25)
    assert json.loads(outcome.out)["tokens_before"] == expected.tokens_before


# -- batch


def test_batch_answers_every_line_in_order(run: Run, tmp_path: Path) -> None:
    rows = [
        {"query": QUERY, "documents": [NOTE], "id": "first"},
        {"query": "Who is away?", "documents": [{"text": NOTE, "title": "House notes"}]},
    ]
    path = write_lines(tmp_path / "batch.jsonl", rows)
    outcome = run("compress", "--batch", path, "--rate", "0.4")
    assert (outcome.code, outcome.err) == (0, "")
    first, second = map(json.loads, outcome.out.splitlines())
    single = run("compress", "-q", QUERY, "--rate", "0.4", "--json", stdin=NOTE)
    assert {**first, "timings": 0} == {"id": "first", "query": QUERY, **json.loads(single.out), "timings": 0}
    assert second["query"] == "Who is away?"
    assert "id" not in second
    assert "The neighbours are away" in second["text"]
    assert run("compress", "--batch", "-", "--rate", "0.4", stdin=path.read_text()).out.count("\n") == 2


def test_batch_file_with_a_bad_line_yields_nothing(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "batch.jsonl"
    path.write_text(
        json.dumps({"query": QUERY, "documents": [NOTE]}) + '\n{"query": "x"}\n', encoding="utf-8"
    )
    outcome = run("compress", "--batch", path)
    assert (outcome.code, outcome.out) == (2, "")
    assert "batch.jsonl, line 2: expected" in outcome.err


def test_batch_names_the_line_that_cannot_be_compressed(run: Run, tmp_path: Path) -> None:
    rows = [{"query": QUERY, "documents": [NOTE]}, {"query": " ", "documents": [NOTE]}]
    outcome = run("compress", "--batch", write_lines(tmp_path / "batch.jsonl", rows))
    assert outcome.code == 2
    assert outcome.out.count("\n") == 1
    assert "line 2:" in outcome.err


def test_batch_on_a_pipe_answers_before_the_input_ends() -> None:
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


# -- demo, inspect, doctor


def test_demo_finds_the_answers(run: Run) -> None:
    outcome = run("demo")
    assert (outcome.code, outcome.err) == (0, "")
    assert DEMO_QUERY in outcome.out
    assert "The 20:40 is the last departure of the day" in outcome.out
    assert "only folded bicycles in a bag are accepted on it" in outcome.out
    assert "herring" not in outcome.out
    summary = outcome.out.splitlines()[-1]
    assert summary.startswith("compressed: ")
    assert "of 12 documents" in summary


def test_demo_takes_a_question_and_a_budget(run: Run) -> None:
    outcome = run("demo", "-q", "Who keeps the goat?", "--budget", "60", "--json")
    result = json.loads(outcome.out)
    assert result["tokens_after"] <= 60
    assert "goat" in result["text"]


def test_inspect_lists_verified_files(run: Run) -> None:
    artifact = load_artifact()
    outcome = run("inspect")
    assert outcome.code == 0
    assert artifact.name in outcome.out
    for name, entry in artifact.manifest["files"].items():
        assert re.search(rf"^files\.{re.escape(name)}\.sha256 +{entry['sha256']}$", outcome.out, re.MULTILINE)
        assert re.search(rf"^files\.{re.escape(name)}\.size +{entry['size']:,}$", outcome.out, re.MULTILINE)
    facts = json.loads(run("inspect", artifact.path, "--json").out)
    assert facts["files"] == artifact.manifest["files"]
    assert facts["size"] == sum(entry["size"] for entry in artifact.manifest["files"].values())


def test_doctor_is_content_here(run: Run) -> None:
    outcome = run("doctor")
    assert (outcome.code, outcome.err) == (0, "")
    assert "all is well" in outcome.out
    facts = json.loads(run("doctor", "--json", "--threads", "1").out)
    assert facts["packages"]["onnxruntime"][0].isdigit()
    assert facts["threads"].startswith("1 used")
    assert set(facts["compression"]) == {"documents", "first", "next"}


def test_doctor_reports_a_damaged_model_and_goes_on(run: Run, damaged: Path) -> None:
    outcome = run("doctor", "--model", damaged)
    assert outcome.code == 3
    assert "onnxruntime" in outcome.out
    assert "checksum" in outcome.err


# -- failures: a code for each kind, one line, no traceback


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """The bundled model with one byte of its graph flipped."""
    artifact = load_artifact()
    folder = tmp_path / "damaged"
    shutil.copytree(artifact.path, folder)
    graph = folder / artifact.model_path.relative_to(artifact.path)
    raw = bytearray(graph.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    graph.write_bytes(raw)
    return folder


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["explode"],
        ["compress"],
        ["compress", "-q", "a", "--frobnicate"],
        ["compress", "-q", "a", "--batch", "b"],
        ["compress", "-q", "a", "--budget", "5", "--rate", "0.5"],
        ["compress", "-q", "a", "--budget", "many"],
        ["compress", "-q", "a", "--budget", "0"],
        ["compress", "-q", "a", "--budget", "-3"],
        ["compress", "-q", "a", "--rate", "0"],
        ["compress", "-q", "a", "--rate", "1.5"],
        ["compress", "-q", "a", "--rate", "nan"],
        ["compress", "-q", "a", "--threads", "-1"],
        ["compress", "-q", "a", "--tokenizer", "no/such/tokenizer.json"],
        ["compress", "-q", " "],
        ["compress", "-q", "a", "absent.txt"],
        ["compress", "-q", "a", "--json", "--show"],
        ["compress", "--batch", "absent.jsonl"],
        ["compress", "--batch", "-", "file.txt"],
        ["compress", "--batch", "-", "--show"],
        ["demo", "--rate", "2"],
        ["inspect", "a", "b"],
        ["doctor", "--threads", "0"],
    ],
    ids=" ".join,
)
def test_bad_usage_and_input_exit_with_2_and_one_line(run: Run, args: list[str]) -> None:
    assert_fails(run(*args, stdin=NOTE), 2)


def test_empty_input_is_refused(run: Run) -> None:
    assert_fails(run("compress", "-q", QUERY, stdin=" \n"), 2, "no text")


@pytest.mark.parametrize("command", [["compress", "-q", "a", "--model"], ["inspect"], ["demo", "--model"]])
def test_model_problems_exit_with_3(
    run: Run, monkeypatch: pytest.MonkeyPatch, damaged: Path, tmp_path: Path, command: list[str]
) -> None:
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    empty = tmp_path / "empty"
    empty.mkdir()
    for model, complaint in [
        (damaged, "checksum"),
        (empty, "manifest.json"),
        (tmp_path / "absent", "no model folder"),
        ("someone/some-model", "TERSELY_OFFLINE"),
    ]:
        outcome = run(*command, model, stdin=NOTE)
        assert outcome.code == 3
        assert outcome.err.startswith("tersely: ")
        assert outcome.err.count("\n") == 1
        assert complaint in outcome.err


def test_a_failing_model_passes_the_documents_through_with_4(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the graph fell over")

    monkeypatch.setattr(EncoderSession, "run", broken)
    outcome = run("compress", "-q", QUERY, "--rate", "0.2", stdin=NOTE)
    assert outcome.code == 4
    assert all(line in outcome.out for line in NOTE.strip().splitlines())
    assert outcome.err.startswith("tersely: not compressed, passed through unchanged: ")
    assert "the graph fell over" in outcome.err
    assert outcome.err.count("\n") == 1

    rows = [{"query": QUERY, "documents": [NOTE]}] * 2
    outcome = run("compress", "--batch", write_lines(tmp_path / "batch.jsonl", rows))
    assert outcome.code == 4
    assert [json.loads(line)["status"] for line in outcome.out.splitlines()] == ["failed_open"] * 2
    assert [line.split(": ")[1] for line in outcome.err.splitlines()] == ["line 1", "line 2"]


def test_a_bug_exits_with_1_and_no_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(Compressor, "compress", bug)
    assert_fails(run("compress", "-q", QUERY, stdin=NOTE), 1, "ZeroDivisionError: division by zero")


def test_interrupt_exits_with_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Compressor, "compress", interrupted)
    assert_fails(run("compress", "-q", QUERY, stdin=NOTE), 130, "interrupted")


@pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes as on Unix")
def test_interrupt_from_the_keyboard_leaves_no_traceback() -> None:
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
        process.stdin.write(json.dumps({"query": QUERY, "documents": [NOTE]}).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()  # it is at work now
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"tersely: interrupted\n")


@pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes as on Unix")
def test_a_reader_that_goes_away_is_no_error_message(tmp_path: Path) -> None:
    rows = [{"query": QUERY, "documents": [NOTE] * 20}] * 100
    path = write_lines(tmp_path / "batch.jsonl", rows)
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
def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, "demo"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes as on Unix")
@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_closed_stream_is_one_line(closed: str) -> None:
    shell = ["bash", "-c", f'"$@" {closed}', "bash", *COMMAND, "compress", "-q", QUERY]
    done = subprocess.run(shell, input=NOTE, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "tersely: standard input or standard output is closed\n")


@pytest.mark.parametrize("command", [[], ["compress"], ["demo"], ["inspect"], ["doctor"]])
def test_help_documents_the_exit_codes(run: Run, command: list[str]) -> None:
    outcome = run(*command, "--help")
    assert outcome.code == 0
    assert "exit codes:" in outcome.out
    assert all(f"\n  {code} " in outcome.out for code in (0, 1, 2, 3, 4, 130, 141))


def test_the_installed_command_knows_its_version() -> None:
    command = Path(sys.executable).with_name("tersely")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("tersely 0.")


def test_help_does_not_load_the_runtime() -> None:
    code = (
        "import sys; from tersely.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "assert not {'onnxruntime', 'tokenizers'} & set(sys.modules), 'loaded too much'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_demo_documents_are_a_fair_sample() -> None:
    """Most of them answer nothing, so that the demo shows a selection and not a copy."""
    assert sum("20:40" in document.text for document in demo_documents()) == 1


def assert_fails(outcome: Outcome, code: int, complaint: str = "") -> None:
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.startswith("tersely")
    assert outcome.err.count("\n") == 1
    assert complaint in outcome.err
