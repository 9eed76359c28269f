"""Files, and a server with a chat model, for the examples of the pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tersely import Compressor
from tests.loopback import serving

SERVER = "http://127.0.0.1:8000/v1"
"""The address that the pages name."""

COMPRESSION_SERVER = "http://127.0.0.1:8080"
"""The address of `tersely serve` that the pages name."""
NO_RESULT = "(none)"
"""The text in the agent's prompt in place of a tool result in the first turn."""
SEARCH = "<function=search><parameter=query>spare key</parameter></function>"
FINISH = (
    "<function=finish><parameter=answer>Ada</parameter>"
    "<parameter=explanation>[docid: house.md]</parameter></function>"
)
FEWEST = 19
"""Number of questions from which a recall of 0.95 can be calibrated."""
LESSON = """EXPERIENCE 1:
TITLE: Compare two sources
DESCRIPTION: When a question asks for a year.
CONTENT: Leaflets repeat old mistakes. Look the year up in the archive as well.
OUTCOME: success"""


@pytest.fixture
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder with the files that the pages name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/house.md").write_text("Ada holds the spare key. The roof is new.\n", encoding="utf-8")
    (tmp_path / "notes/garden.md").write_text(
        "# Garden\n\nThe pears are ripe in September.\n", encoding="utf-8"
    )
    rows = [{"text": "Ada holds the spare key.", "title": "Keys"}, {"text": "The roof is new.", "id": "r"}]
    _write_lines(tmp_path / "retrieved.jsonl", rows)
    request = {"query": "Who holds the spare key?", "documents": rows}
    long = [
        *rows,
        "The shed was painted in May. Rain is expected on Sunday. The neighbours are away until June.",
    ]
    _write_lines(tmp_path / "questions.jsonl", [{**request, "documents": long}])
    _write_lines(tmp_path / "answered.jsonl", [{**request, "answers": ["Ada"]}] * FEWEST)
    turn = {"turn": 1, "tokens_in": 412, "tokens_out": 58, "seconds": 1.4, "tool": "search"}
    _write_lines(tmp_path / "run.jsonl", [{**turn, "arguments": {"query": "spare key"}}])
    return tmp_path


@pytest.fixture
def chat_url() -> Iterator[str]:
    """Yield the base URL of a server whose model writes the replies that the pages show."""

    def complete(request: dict[str, Any]) -> tuple[int, Any]:
        text = _reply("\n\n".join(str(message["content"]) for message in request["messages"]))
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        head = {"id": "1", "object": "chat.completion", "created": 0, "model": "small"}
        return 200, {**head, "choices": [choice], "usage": usage}

    with serving() as serve:
        yield f"{serve(complete).url}/v1"


@pytest.fixture
def compression_url() -> Iterator[str]:
    """Yield the URL of `tersely serve`."""
    from tersely_server import build_app
    from tests.servers import serve_app

    with serve_app(build_app(Compressor())) as url:
        yield url


def _reply(prompt: str) -> str:
    if "<summary_level>" in prompt:
        has_result = not prompt.rstrip().endswith(NO_RESULT)
        summary = "Ada holds the spare key [docid: house.md]." if has_result else ""
        return (
            "<think>...</think><summary_level>1</summary_level>"
            f"<summary>{summary}</summary>{FINISH if has_result else SEARCH}"
        )
    if "<search>" in prompt:
        return "<answer>Ada</answer>" if "</information>" in prompt else "<search>spare key</search>"
    if "EXPERIENCE 1:" in prompt:
        return LESSON
    if '"takeaways"' in prompt:
        return json.dumps({"plan": "search", "steps": [], "takeaways": []})
    if "support context" in prompt:
        return "The museum opened in 1904. Its roof is made of copper."
    if "context is nearly full" in prompt:
        return "The archive names three towers; Hill Tower of 1790 is the oldest so far."
    return "Ada"


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
