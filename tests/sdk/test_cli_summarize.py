"""`tersely summarize`: quotations, and a chat model whose sentences are checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tersely import Compressor
from tersely_agents.summaries import Summarizer
from tests.loopback import serving
from tests.sdk.cli_runner import ANSWER, NOTE, QUERY, CommandResult, check_failure, run_tersely


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
