"""`tersely compress`, `summarize` and `demo`: options and output. Runs the bundled model."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tersely import CompressionOptions, Compressor, Document
from tersely.cli.app import app
from tersely.cli.read import DEMO_QUERY
from tersely.cli.show import show_documents, show_receipt
from tersely.options import OPTION_FIELDS
from tersely.runtime.artifacts import load_artifact
from tersely_agents.summaries import Summarizer
from tests.loopback import serving
from tests.sdk.cli_runner import (
    ANSWER,
    COMMAND,
    NOTE,
    QUERY,
    CommandResult,
    check_failure,
    run_tersely,
)


def test_the_command_prints_what_the_library_returns(note: Path) -> None:
    expected = Compressor().compress(QUERY, [NOTE], rate=0.5).text + "\n"
    assert ANSWER in expected
    assert len(expected) < len(NOTE)
    assert run_tersely("compress", "-q", QUERY, "--rate", "0.5", note) == CommandResult(0, expected, "")
    for arguments in ([], ["-"]):
        result = run_tersely("compress", *arguments, "--query", QUERY, "--rate", "50%", stdin=NOTE)
        assert result == CommandResult(0, expected, "")


def test_without_a_question_the_command_needs_a_limit(note: Path) -> None:
    expected = Compressor().compress(None, [NOTE], rate=0.5)
    assert run_tersely("compress", "--rate", "0.5", note) == CommandResult(0, expected.text + "\n", "")
    check_failure(run_tersely("compress", note), 2, "Pass budget, rate or level")


def test_a_limit_too_tight_for_the_best_unit_gives_a_warning(note: Path) -> None:
    tight = run_tersely("compress", "-q", QUERY, "--budget", "9", "--json", note)
    warning = "tersely: the unit that scored highest exceeds the limit by itself; raise the limit\n"
    assert (tight.exit_code, tight.stderr) == (0, warning)
    assert tight.read_json()["best_fits"] is False
    enough = run_tersely("compress", "-q", QUERY, "--budget", "12", note)
    assert enough == CommandResult(0, f"{ANSWER}\n", "")


def test_the_receipt_is_printed_as_json_or_with_marks(note: Path) -> None:
    command = ("compress", "-q", QUERY, "--budget", "20", note)
    receipt = run_tersely(*command, "--json").read_json()
    assert receipt["tokens_after"] <= 20 < receipt["tokens_before"]
    kept, dropped = (
        [NOTE[span["start"] : span["end"]] for span in receipt[name]] for name in ("kept", "dropped")
    )
    assert ANSWER in kept
    lines = run_tersely(*command, "--show").stdout.splitlines()
    assert [line[7:] for line in lines if line.startswith("+ ")] == kept
    assert [line[7:] for line in lines if line.startswith("- ")] == dropped
    assert lines[0].startswith(str(note))
    assert lines[-1].startswith("compressed: ")


def test_a_tokenizer_file_counts(note: Path) -> None:
    tokenizer = load_artifact().tokenizer_path
    result = run_tersely("compress", "-q", QUERY, "--budget", "25", "--json", "--tokenizer", tokenizer, note)
    expected = Compressor(token_counter=tokenizer).compress(QUERY, [NOTE], budget=25)
    assert result.read_json()["tokens_before"] == expected.tokens_before


def test_the_demo_finds_both_answers_and_nothing_else() -> None:
    result = run_tersely("demo")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"Question: {DEMO_QUERY}\n\n")
    assert "The 20:40 is the last departure of the day" in result.stdout
    assert "only folded bicycles in a bag are accepted on it" in result.stdout
    assert "herring" not in result.stdout
    assert "of 12 documents" in result.stdout.splitlines()[-1]
    receipt = run_tersely("demo", "-q", "Who keeps the goat?", "--budget", "60", "--json").read_json()
    assert receipt["tokens_after"] <= 60
    assert "goat" in receipt["text"]


@pytest.mark.parametrize("color", [True, False])
def test_a_document_cannot_command_the_terminal(color: bool) -> None:
    documents = [Document("The key\x1b[2J hangs.\x07\r\x1cIt is\x9bred\re.\x7f", title="\x1b]0;forged\x07")]
    result = Compressor().compress("Where is the key?", documents)
    for view in (show_documents, show_receipt):
        printed = re.sub("\x1b\\[(0|1|2|36)m", "", view(result, documents, color))
        assert not [char for char in printed if (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0]
        assert "The key\u241b[2J hangs." in printed


def test_colour_keeps_the_whole_text() -> None:
    documents = [Document(NOTE), Document("The bus leaves at nine.")]
    text = show_documents(Compressor().compress(QUERY, documents, rate=0.3), documents, color=True)
    assert f"\x1b[1m{ANSWER}\x1b[0m \x1b[2mRain is expected on Sunday.\x1b[0m\n\n\x1b[2m" in text
    plain = re.sub("\x1b\\[[0-9]+m", "", text)
    assert (
        plain
        == f"document 1  (1 of 5 kept)\n{NOTE.strip()}\n\ndocument 2  (0 of 1 kept)\n{documents[1].text}"
    )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("choice", "terminal", "variables", "color"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),
        ("auto", True, {"TERM": "dumb"}, False),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {}, False),
    ],
)
def test_colour_depends_on_choice_terminal_and_environment(
    monkeypatch: pytest.MonkeyPatch, choice: str, terminal: bool, variables: dict[str, str], color: bool
) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal() if terminal else io.StringIO())
    for name, value in {"NO_COLOR": "", "TERM": "xterm", **variables}.items():
        monkeypatch.setenv(name, value)
    assert app.commands["demo"].make_context("demo", ["--color", choice]).params["color"] is color


@pytest.mark.parametrize("command", ["compress", "demo"])
def test_the_help_explains_every_option_of_a_compression(command: str) -> None:
    words = " ".join(run_tersely(command, "--help").stdout.split())
    for field in OPTION_FIELDS:
        flag = f"--{field.name.replace('_', '-')} {field.metadata['placeholder']}"
        assert f"{flag} {field.metadata['help']}" in words


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ([], {}),
        (["--budget", "9"], {"budget": 9}),
        (["--rate", "0.5"], {"rate": 0.5}),
        (["--rate", "29%"], {"rate": 0.29}),
        (["--recall", "90%"], {"recall": 0.9}),
        (["--level", "3"], {"level": 3}),
        (["--max-docs=2"], {"max_docs": 2}),
        (["--order", "rerank"], {"order": "rerank"}),
        (["--timeout", "1.5"], {"timeout": 1.5}),
    ],
    ids=str,
)
def test_the_options_of_a_compression_are_read(flags: list[str], options: dict[str, Any]) -> None:
    values = app.commands["demo"].make_context("demo", flags).params
    given = {field.name: values[field.name] for field in OPTION_FIELDS}
    assert CompressionOptions(**given) == CompressionOptions(**options)


def test_line_ends_come_out_as_they_went_in() -> None:
    text = NOTE.replace("\n", "\r\n").encode()
    command = [*COMMAND, "compress", "-q", QUERY, "--rate", "1"]
    process = subprocess.run(command, input=text, capture_output=True, check=True)
    assert process.stdout.rstrip(b"\n") == text.rstrip()


def test_a_question_has_the_same_scores_in_every_locale(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text(
        "La clé est sous le pot. L'été est chaud. 鍵は鉢の下です。Le chat dort.", encoding="utf-8"
    )
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHONUTF8"))}
    command = [*COMMAND, "compress", "--query", "Où est la clé (鍵) de l'été ?".encode(), "--json", note]
    outputs = [
        subprocess.run(
            command,
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


def test_a_summary_without_a_model_quotes(note: Path) -> None:
    expected = Summarizer(compressor=Compressor()).summarize(QUERY, [NOTE], budget=12)
    assert expected.text == ANSWER
    done = run_tersely("summarize", "-q", QUERY, "--budget", "12", note)
    assert done == CommandResult(0, f"{ANSWER}\n", "")
    receipt = run_tersely("summarize", "-q", QUERY, "--budget", "12", "--json", note).read_json()
    assert (receipt["text"], receipt["backend"]) == (ANSWER, "extractive")


def test_sources_are_printed_under_each_sentence(note: Path) -> None:
    done = run_tersely("summarize", "-q", QUERY, "--budget", "12", "--sources", note)
    start = NOTE.index(ANSWER)
    assert done.stdout == f"{ANSWER}\n    {note}, characters {start} to {start + len(ANSWER)}\n"


def answer_with(text: str) -> Any:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return lambda _: (200, {"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage})


def test_a_model_writes_and_is_checked(note: Path) -> None:
    with serving() as serve:
        url = f"{serve(answer_with(f'{ANSWER} The mayor won a bicycle race in Paris.')).url}/v1"
        done = run_tersely("summarize", "-q", QUERY, "--base-url", url, "--chat-model", "small", note)
    assert done == CommandResult(0, f"{ANSWER}\n", "")


def test_a_model_that_fails_gives_quotations_and_exits_with_4(note: Path) -> None:
    arguments = ("--base-url", "http://127.0.0.1:9/v1", "--chat-model", "small", "--budget", "12")
    done = run_tersely("summarize", "-q", QUERY, *arguments, note)
    assert (done.exit_code, done.stdout) == (4, f"{ANSWER}\n")
    assert done.stderr.startswith("tersely: extractive, because ")
    assert done.stderr.count("\n") == 1


def test_a_question_is_needed(note: Path) -> None:
    check_failure(run_tersely("summarize", note), 2, "--query")
