"""Tool results stay true when they are compressed. `tests.audit.tool_results` tries many more."""

from __future__ import annotations

import ast
import random

import pytest

from tersely import Compressor
from tests.audit.tool_results import KINDS, run_case
from tests.sdk import tool_oracle, tool_results
from tests.sdk.fakes import FakeScorer


@pytest.mark.parametrize("number", range(0, 7 * len(KINDS), 2))
def test_nothing_false_is_said_and_every_omission_is_counted(number: int) -> None:
    run_case(number, asks=True)


SPLICED = f"lighthouse 3 was built in {tool_results.year(4)}"
FALSE = {
    "prose": (SPLICED, SPLICED),
    "json": ('{"a": [1, 2, 3]}', '{"a": [1, 3]}'),
    "csv": ("name,built\nx,1\ny,2", "name,built\ny,2"),
    "table": ("| a |\n|---|\n| x |\n| y |", "| a |\n|---|\n| y |"),
    "log": ("2026 a\n2026 b\n2026 c", "2026 a\n2026 c"),
    "matches": ("a.py:1:x\na.py:2:y", "a.py:1:x"),
    "key values": ("Name: x\nBuilt: 1\n\nName: y\nBuilt: 2", "Name: x\nBuilt: 2"),
    "yaml": ("a:\n  - b: 1\nc:\n  - d: 2", "a:\n  - d: 2"),
    "python": ("class A:\n    x = 1\nclass B:\n    y = 2", "class A:\n    y = 2"),
    "diff": ("+++ a\n@@ 1 @@\n+x\n+++ b\n@@ 2 @@\n+y", "+++ a\n@@ 2 @@\n+y"),
    "html": ("<p>One.</p><p>Two.</p>", "One. Three."),
    "mixture": ("```\na\n```", "```\na"),
}


@pytest.mark.parametrize("kind", FALSE)
def test_the_oracle_finds_false_and_uncounted_text(kind: str) -> None:
    with pytest.raises(AssertionError):
        tool_oracle.check(kind, *FALSE[kind])


def make_log(errors: int) -> tuple[str, str]:
    """Return 4,000 lines with a few reports of one rare error, and that error with its trace."""
    lines = [
        f"2026-05-01 12:{n // 60 % 60:02d}:{n % 60:02d} INFO api: GET /users/{n} took {n % 90} ms status=200"
        for n in range(4000)
    ]
    trace = (
        "2026-05-01 12:41:40,200 ERROR pool: connection to db-3 refused\n"
        "Traceback (most recent call last):\n"
        '  File "/srv/pool.py", line 33, in get\n'
        "    return socket.connect(address)\n"
        "ConnectionRefusedError: [Errno 111] db-3:5432"
    )
    for k in range(errors):
        lines.insert(2500 + k, trace)
    return "\n".join(lines), trace


def test_a_rare_error_is_kept_with_its_trace_and_neighbours() -> None:
    text, trace = make_log(1)
    result = Compressor().compress("Why did requests fail?", [text], rate=0.01)
    assert trace in result.text
    assert "GET /users/2499 " in result.text
    assert "GET /users/2500 " in result.text
    assert "like the one above)" in result.text
    tool_oracle.check("log", text, result.text)


def test_a_function_comes_with_its_class() -> None:
    text = tool_results.python(random.Random(3))
    text += "\nclass Keeper:\n    def sleep(self):\n        return Lamp.off(self)\n"
    text += "\n    def wake(self):\n        return 1\n"
    result = Compressor().compress("What does Keeper do to sleep?", [text], budget=90)
    assert "class Keeper:\n    def sleep(self):\n        return Lamp.off(self)\n" in result.text
    ast.parse(result.text)


def test_a_hunk_comes_with_its_file() -> None:
    text = tool_results.diff(random.Random(4))
    file = text.split("\n")[2]
    number = file.split("/t")[1].split(".")[0]
    result = Compressor().compress(f"How was t{number}.py changed?", [text], budget=120)
    assert file in result.text


def test_rows_come_with_the_names_of_their_columns() -> None:
    rows = "\n".join(f"lighthouse {n},{tool_results.year(n)},Ada" for n in range(200))
    result = Compressor().compress("When was lighthouse 77 built?", ["name,built,keeper\n" + rows], budget=60)
    tool_oracle.check("csv", "name,built,keeper\n" + rows, result.text)
    assert f"lighthouse 77,{tool_results.year(77)},Ada" in result.text


def test_a_page_loses_markup_and_keeps_rows_with_headers() -> None:
    text = tool_results.html(random.Random(8))
    number = text.split("<tr><td>lighthouse ")[2].split("<")[0]
    result = Compressor().compress(f"When was lighthouse {number} built?", [text], budget=90)
    assert f"lighthouse {number}" in result.text
    assert "<script" not in result.text
    assert "<body" not in result.text
    if "<tr><td>" in result.text:
        assert "<tr><th>name</th><th>built</th></tr>" in result.text


def test_a_fence_is_opened_with_both_of_its_lines() -> None:
    body = tool_results.csv(random.Random(6)).replace(";", ",").replace("\t", ",")
    text = f"The list:\n\n```csv\n{body}\n```\n\nThat is all."
    result = Compressor().compress(
        f"When was {body.split(chr(10))[2].split(',')[0]} built?", [text], budget=70
    )
    inside = result.text.split("```csv\n")[1].split("\n```")[0]
    tool_oracle.check("csv", body, inside)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=repr)
def test_code_is_opened_whatever_ends_its_lines(ending: str) -> None:
    lines = [f"def dig_{n}(depth):\n    return depth + {n}" for n in range(60)]
    text = "```python\n" + "\n".join(lines).replace("\n", ending) + "\n```"
    result = Compressor(FakeScorer()).compress("What does dig_17 return?", [text], budget=60)
    assert result.status == "compressed"
    kept = "".join(text[span.start : span.end] for span in result.kept)
    assert f"def dig_17(depth):{ending}    return depth + 17" in kept
