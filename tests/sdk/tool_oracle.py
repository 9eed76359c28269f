"""Check the compression of a tool result by reading both: nothing false, everything counted.

Nothing here knows how tersely works. Each check reads the source and the result as texts of their kind, and
compares what they say.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec

from tests.sdk.json_oracle import MARK, check_json
from tests.sdk.tool_results import year

_ANY_MARK = re.compile(r"\[…(?: [\d,]+ more)?\](?: \([\d,]+ like the one above\))?(?: \(\d+\))?|…")
_SAID = re.compile(r"[Ll]ighthouse[ _](\d+)\b((?:(?![Ll]ighthouse).)*)", re.DOTALL)
_YEAR = re.compile(r"\b(?:17|18|19)\d\d\b")
_ALIKE = re.compile(r" \([\d,]+ like the one above\)")


def check_truth(result: str) -> None:
    """Assert that a lighthouse is followed only by its own year, up to the next mark."""
    for piece in _ANY_MARK.split(result):
        for number, said in _SAID.findall(piece):
            for stated in _YEAR.findall(said):
                assert int(stated) == year(int(number)), f"lighthouse {number}: {piece[:300]!r}"


def check_lines(source: str, result: str, *, head: int = 0) -> None:
    """Assert that every line is one of the source's, in order, that marks count the others, and that no
    `head` line is missing."""
    lines, given = source.split("\n"), [_ALIKE.sub("", line) for line in result.split("\n")]
    assert result.split("\n")[:head] == lines[:head], "the head is missing"
    _check_sequence(lines, given, _check_equal, MARK.search)


def _check_sequence(
    source: Sequence[str],
    given: Sequence[str],
    check: Callable[[str, str], object],
    find_mark: Callable[[str], re.Match[str] | None],
) -> None:
    """Compare each given part that is not a mark with its part of the source; marks count the others."""
    at = 0
    for part in given:
        if mark := find_mark(part):
            at += int(mark[1].replace(",", ""))
        else:
            assert at < len(source), "a part too many"
            check(source[at], part)
            at += 1
    assert at == len(source), f"{len(source) - at} parts are missing and not counted"


def _check_equal(expected: str, part: str) -> None:
    assert part == expected, f"{part!r} is not {expected!r}"


def check_table(source: str, result: str) -> None:
    check_lines(source, result, head=2)
    assert all(line.startswith("|") and line.endswith("|") for line in result.split("\n"))


def check_json_lines(source: str, result: str) -> None:
    _check_sequence(source.split("\n"), result.split("\n"), check_json, MARK.fullmatch)


def check_paragraphs(source: str, result: str) -> None:
    """Assert that each line comes with the first line of its record, which is never alone.

    Marks between records count records, and marks in a record count lines.
    """
    records = [record.split("\n") for record in source.split("\n\n")]
    at = 0
    for part in result.split("\n\n"):
        if mark := MARK.fullmatch(part):
            at += int(mark[1].replace(",", ""))
            continue
        assert at < len(records), "a record too many"
        kept = part.split("\n")
        assert kept[0] == records[at][0], f"{kept[0]!r} is not {records[at][0]!r}"
        assert any(not MARK.fullmatch(line) for line in kept[1:]), f"nothing is said of {kept[0]!r}"
        _check_sequence(records[at], kept, lambda said, line: _check_equal(line, said), MARK.fullmatch)
        at += 1
    assert at == len(records), f"{len(records) - at} records are missing and not counted"


def check_yaml(source: str, result: str) -> None:
    """Assert that every line is under the same keys as in the source, in order."""
    expected = _paths(source)
    at = 0
    for path in _paths(result):
        if "… " in path[-1]:
            continue
        assert path in expected[at:], f"{path} is not in the source"
        at = expected.index(path, at) + 1
    if find_spec("yaml"):
        import yaml

        assert type(yaml.safe_load(result)) is type(yaml.safe_load(source))


def _paths(text: str) -> list[tuple[str, ...]]:
    above: list[tuple[int, str]] = []
    paths: list[tuple[str, ...]] = []
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        while above and above[-1][0] >= indent:
            above.pop()
        above.append((indent, line.strip()))
        if line.lstrip().startswith("- "):
            above.append((indent + 1, line.strip()))
            paths.append(tuple(entry for _, entry in above[:-1]))
        else:
            paths.append(tuple(entry for _, entry in above))
    return paths


def check_python(source: str, result: str) -> None:
    """Assert that the code parses, and that every statement is in the same functions and classes as in the
    source."""
    expected = _statements(source)
    at = 0
    for statement in _statements(result):
        found = next((k for k in range(at, len(expected)) if expected[k] == statement), None)
        assert found is not None, f"{statement} is not in the source"
        at = found + 1
    assert _count_marked(result) or result.strip() == source.strip()


def _statements(text: str) -> list[tuple[str, ...]]:
    """Return the statements without blocks, each with the first lines of the blocks around it."""
    out: list[tuple[str, ...]] = []

    def visit(body: list[ast.stmt], above: tuple[str, ...]) -> None:
        for statement in body:
            inner: list[ast.stmt] = getattr(statement, "body", [])
            if inner:
                head = text.split("\n")[statement.lineno - 1].strip()
                visit(inner, (*above, head))
            else:
                out.append((*above, ast.unparse(statement)))

    visit(ast.parse(text).body, ())
    return out


def _count_marked(result: str) -> int:
    return sum(int(mark[1].replace(",", "")) for mark in MARK.finditer(_ALIKE.sub("", result)))


def check_log(source: str, result: str) -> None:
    """Assert that entries are whole, in order, and counted, and that entries called alike are alike."""
    entries = re.split(r"\n(?=2026|Traceback)", source)
    given = re.split(r"\n(?=2026|Traceback|\[…)|(?<=more\])\n|(?<=above\))\n", result)
    at = 0
    for entry in given:
        mark = MARK.match(entry)
        if mark is None:
            assert entry == entries[at], f"{entry!r} is not {entries[at]!r}"
            at += 1
            continue
        count = int(mark[1].replace(",", ""))
        if alike := re.search(r"\(([\d,]+) like the one above\)", entry):
            above = _words(entries[at - 1])
            same = sum(_words(other) == above for other in entries[at : at + count])
            assert same == int(alike[1].replace(",", ""))
        at += count
    assert at == len(entries), f"{len(entries) - at} entries are missing and not counted"


def _words(entry: str) -> str:
    """Return an entry's first line without its numbers."""
    return re.sub(r"[\d:,.-]+", "#", entry.split("\n")[0])


def check_diff(source: str, result: str) -> None:
    """Assert that every hunk is under its file, whole or with a mark in it."""
    expected = _hunks(source)
    for file, lines in _hunks(result):
        whole = [hunk for name, hunk in expected if name == file and hunk[0] == lines[0]]
        assert whole, f"{lines[0]} is not of {file}"
        kept = [line for line in lines if not MARK.fullmatch(line.strip())]
        at = 0
        for line in kept:
            assert line in whole[0][at:], f"{line!r} is not in the hunk"
            at = whole[0].index(line, at) + 1
        assert len(kept) < len(lines) or kept == whole[0], "lines of a hunk are missing, and no mark says so"


def _hunks(text: str) -> list[tuple[str, list[str]]]:
    hunks: list[tuple[str, list[str]]] = []
    file = ""
    for line in text.split("\n"):
        if line.startswith("+++ "):
            file = line
        elif line.startswith("@@"):
            hunks.append((file, [line]))
        elif hunks and line[:1] in ("+", "-", " ", "[") and not line.startswith(("---", "diff")):
            hunks[-1][1].append(line)
    return hunks


def check_html(source: str, result: str) -> None:
    """Assert that only sentences of the page, and rows, are kept."""
    rows = set(re.findall(r"<tr>.*?</tr>", source))
    assert set(re.findall(r"<tr>.*?</tr>", result)) <= rows
    words = re.sub(r"<[^>]*>", "", re.sub(r"</p>|</nav>", "\n", re.sub(r"<tr>.*?</tr>", "\n", result)))
    text = re.sub(r"<[^>]*>", "", re.sub(r"</p>|</nav>", "\n", source))
    for line in words.split("\n"):
        body = MARK.sub("", line).strip()
        assert body in text, f"{body!r} is not in the page"


def check_fences(result: str) -> None:
    """Assert that every fence that opens is closed."""
    fences = [line for line in result.split("\n") if re.match(r"\s*(?:> ?)*```", line)]
    assert len(fences) % 2 == 0, "a fence is open"


CHECKS: dict[str, Callable[[str, str], object]] = {
    "json": check_json,
    "json lines": check_json_lines,
    "yaml": check_yaml,
    "csv": partial(check_lines, head=1),
    "key values": check_paragraphs,
    "table": check_table,
    "python": check_python,
    "log": check_log,
    "diff": check_diff,
    "matches": check_lines,
    "html": check_html,
}


def check(kind: str, source: str, result: str) -> None:
    """Assert all that must hold of the result of a source of one kind, or of a mixture."""
    if not result.strip():
        return
    check_truth(result)
    check_fences(result)
    if kind in CHECKS:
        CHECKS[kind](source, result)
