"""What answers comes with its trace, class, file or header. `tests.audit` reads many more results."""

from __future__ import annotations

import ast
import re

import pytest

from tersely import Compressor
from tests.sdk.fakes import FakeScorer

ROWS = [f"lighthouse {n},{1700 + n * 37 % 250},Ada" for n in range(200)]


def make_log() -> tuple[str, str]:
    """Return 4,000 lines among which one reports a rare error; and that error with its trace."""
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
    lines.insert(2500, trace)
    return "\n".join(lines), trace


def test_a_rare_error_is_kept_with_its_trace_and_neighbours() -> None:
    text, trace = make_log()
    result = Compressor().compress("Why did requests fail?", [text], rate=0.01)
    assert trace in result.text
    assert "GET /users/2499 " in result.text
    assert "GET /users/2500 " in result.text


def test_a_mark_counts_the_lines_that_are_like_the_one_above() -> None:
    lines = [
        f"2026-05-01 12:00:{n:02d} INFO {'door' if n % 5 == 3 else 'lamp'} {n} is set" for n in range(60)
    ]
    text = "\n".join(lines)
    result = Compressor(FakeScorer()).compress("lamp 31", [text], rate=0.3)
    assert len(result.marks) > 2
    for mark in result.marks:
        name = result.text[: mark.text_start].split()[-4:-3]
        left_out = text[mark.start : mark.end].split("\n")
        alike = sum(line.split()[3:4] == name for line in left_out)
        shown = result.text[mark.text_start : mark.text_end].strip()
        assert shown == f"[… {len(left_out)} more]" + f" ({alike} like the one above)" * bool(alike)


def test_a_function_comes_with_its_class() -> None:
    text = "".join(
        f"class Tower_{n}(Tower):\n\n    def climb_{n}(self, oil):\n        return {1700 + n}\n\n"
        for n in range(60)
    )
    text += "\nclass Keeper:\n    def sleep(self):\n        return Lamp.off(self)\n"
    text += "\n    def wake(self):\n        return 1\n"
    result = Compressor().compress("What does Keeper do to sleep?", [text], budget=90)
    assert "class Keeper:\n    def sleep(self):\n        return Lamp.off(self)\n" in result.text
    ast.parse(result.text)


def test_a_hunk_comes_with_its_file() -> None:
    text = "\n".join(
        f"diff --git a/t{n}.py b/t{n}.py\n--- a/t{n}.py\n+++ b/t{n}.py\n"
        f"@@ -1,2 +1,2 @@\n # lighthouse {n}\n-built = None\n+built = {1700 + n}"
        for n in range(30)
    )
    result = Compressor().compress("How was t17.py changed?", [text], budget=120)
    files = re.findall(r"\+\+\+ b/t(\d+)\.py", result.text)
    assert "17" in files
    assert set(re.findall(r"lighthouse (\d+)", result.text)) <= {*files}


def test_rows_come_with_the_names_of_their_columns() -> None:
    source = ["name,built,keeper", *ROWS]
    result = Compressor().compress("When was lighthouse 77 built?", ["\n".join(source)], budget=60)
    kept = result.text.split("\n")
    assert kept[0] == source[0]
    assert ROWS[77] in kept


def test_a_page_loses_markup_and_keeps_rows_with_headers() -> None:
    prose = "".join(
        f"<p>The <a href='/l/{n}'>lighthouse {n}</a> was built in <b>{1700 + n}</b>. It is lit.</p>"
        for n in range(60)
    )
    rows = "".join(f"<tr><td>lighthouse {n}</td><td>{1700 + n}</td></tr>\n" for n in range(60))
    text = (
        "<html><head><title>Coast</title><script>var x = '<p>';</script></head><body><nav>Home</nav>"
        f"{prose}<table><tr><th>name</th><th>built</th></tr>\n{rows}</table></body></html>"
    )
    result = Compressor().compress("When was lighthouse 17 built?", [text], budget=90)
    assert "lighthouse 17" in result.text
    assert "<script" not in result.text
    assert "<body" not in result.text
    if "<tr><td>" in result.text:
        assert "<tr><th>name</th><th>built</th></tr>" in result.text


@pytest.mark.parametrize("sign", ["", "> "], ids=["plain", "quoted"])
def test_a_fence_is_opened_with_both_of_its_lines(sign: str) -> None:
    lines = ["```csv", "name,built,keeper", *ROWS, "```"]
    text = "The list:\n\n" + "\n".join(sign + line for line in lines) + "\n\nThat is all."
    for budget in (100, 200):
        result = Compressor().compress("When was lighthouse 77 built?", [text], budget=budget)
        inside = result.text.split(f"{sign}```csv\n")[1].split(f"\n{sign}```")[0].split("\n")
        assert result.text.count("```") == 2
        assert sign or inside[0] == lines[1]
    assert sign + ROWS[77] in inside


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=repr)
def test_code_is_opened_whatever_ends_its_lines(ending: str) -> None:
    lines = [f"def dig_{n}(depth):\n    return depth + {n}" for n in range(60)]
    text = "```python\n" + "\n".join(lines).replace("\n", ending) + "\n```"
    result = Compressor(FakeScorer()).compress("What does dig_17 return?", [text], budget=60)
    assert result.status == "compressed"
    kept = "".join(text[span.start : span.end] for span in result.kept)
    assert f"def dig_17(depth):{ending}    return depth + 17" in kept
