"""A condensed text expands to its original: JSON to an equal value, any other text to the same characters."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely import InvalidInputError, condense, expand
from tersely.tokens import ApproximateCounter
from tests.sdk.cli_runner import run_tersely
from tests.sdk.units import grows_linearly

MARKS = [
    "[tersely: ", "[tersely: text as it was]\n", "[tersely: repeated lines and beginnings are written once; ",
    "[again: the 1 above, 3x]", "\\[again: the 1 above, 3x]", "[begin 2 with: a b ]", "\\\\[begin 2 with: ]",
    "[<a,b>", "{<", ">", "]", "}", ",", "1", "true", "-Infinity", "\\", '"', "\n", "a: b", " ",
]  # fmt: skip
"""Pieces of texts that look like ours."""
words = st.sampled_from(MARKS) | st.text(max_size=12)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
keys = st.sampled_from(["id", "name", "a b", "", "1", "<", "type"]) | words
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(keys, inner, max_size=6)
        | st.lists(st.fixed_dictionaries({"identity": inner}, optional={"second name": inner}), max_size=8)
        | st.dictionaries(words, st.fixed_dictionaries({"identity": inner, "kind": st.just("x")}), max_size=6)
    ),
    max_leaves=30,
)
lines = st.lists(
    st.sampled_from(
        [*MARKS, "2026-11-24 10:00:01 status installed", "2026-11-24 10:00:01 status unpacked", "", "\r"]
    )
    | st.text(max_size=9),
    max_size=40,
)
LOG = "".join(
    f"2026-11-24 10:{n // 60:02}:{n % 60:02} status half-installed libfoo{n}:amd64\n" for n in range(90)
)
TABLE = condense(json.dumps([{"name": f"n{n}", "title": n} for n in range(20)]))
ROWS = condense("\n".join(json.dumps({"name": f"n{n}", "title": n}) for n in range(20)))
HEADERS = [condense(LOG).split("\n")[0], TABLE.split("\n")[0]]


@given(values, st.sampled_from([None, 2]))
def test_json_expands_to_an_equal_value(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    assert json.loads(expand(condense(text))) == value


@given(st.lists(st.fixed_dictionaries({"identity": scalars, "name": values}), min_size=2, max_size=9))
def test_json_lines_expand_to_equal_values(rows: list[Any]) -> None:
    text = "\n".join(map(json.dumps, rows))
    assert [json.loads(line) for line in expand(condense(text)).split("\n")] == rows


@given(lines, st.sampled_from(["\n", "\r\n"]), st.integers(1, 5))
def test_lines_expand_to_the_same_lines(parts: list[str], ending: str, times: int) -> None:
    text = ending.join(parts * times)
    assert expand(condense(text)) == text


@given(st.sampled_from(HEADERS), lines)
def test_text_that_looks_condensed_expands_to_itself(header: str, parts: list[str]) -> None:
    text = "\n".join([header, *parts])
    assert expand(condense(text)) == text
    assert expand(condense(condense(LOG))) == condense(LOG)


@given(st.lists(st.lists(words, min_size=3, max_size=3), max_size=20))
def test_csv_expands_to_the_same_rows(rows: list[list[str]]) -> None:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    assert expand(condense(out.getvalue())) == out.getvalue()


@given(st.text())
def test_a_condensed_text_is_not_longer(text: str) -> None:
    if not text.startswith("[tersely: "):
        assert len(condense(text)) <= len(text)
        assert ApproximateCounter().count(condense(text)) <= ApproximateCounter().count(text)


def test_records_become_a_table() -> None:
    rows = [{"id": n, "name": f"lighthouse {n}", "kind": "tower", "lit": n > 0} for n in range(3)]
    rows[1].pop("lit")
    header, table = condense(json.dumps({"total": 3, "items": rows}, indent=2)).split("\n", 1)
    assert header.startswith("[tersely: JSON with tables.")
    assert table == (
        '{"total":3,"items":[<id,name,"kind":tower,lit>\n0,lighthouse 0,false\n1,lighthouse 1,\n'
        "2,lighthouse 2,true\n]}"
    )


def test_numbers_keep_every_digit() -> None:
    text = '[{"value": 1.10, "name": 12345678901234567890123},\n\n {"value": 1e400, "name": -0.0}]'
    assert expand(condense(text)) == "".join(text.split())


def test_repeated_lines_and_beginnings_are_written_once() -> None:
    assert condense("connection to 10.0.0.7 was lost\n" * 6).split("\n")[1:] == [
        "connection to 10.0.0.7 was lost",
        "[again: the 1 above, 5x]",
        "",
    ]
    assert condense(LOG).split("\n")[1:3] == [
        "[begin 90 with: 2026-11-24 10:]",
        "00:00 status half-installed libfoo0:amd64",
    ]
    assert condense("One line.\nAnother line.") == "One line.\nAnother line."


def test_a_changed_text_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="cannot be expanded"):
        expand(TABLE.replace("n7,7", "n7,7,7"))
    with pytest.raises(InvalidInputError, match="cannot be expanded"):
        expand(TABLE[:-2])


@pytest.mark.parametrize(
    "text",
    [
        HEADERS[0] + "\n[begin 9 with: harbour ]\nlamp",
        HEADERS[0] + "\nlamp\n[begin 0 with: harbour ]",
        HEADERS[0] + "\nlamp\n[again: the 2 above, 3x]",
        HEADERS[0] + "\nlamp\n[again: the 0 above, 3x]",
        HEADERS[0] + "\nlamp\n[again: the 1 above, 99999999999999999999x]",
        HEADERS[0] + "".join(f"\n[begin {5000 - n} with: a]" for n in range(5000)) + "\nlamp",
        HEADERS[1] + "\n" + "[" * 5000,
        TABLE + "\nPS: see below",
        TABLE + '"',
        TABLE + TABLE.split("\n", 1)[1],
        ROWS + "\nPS: see below",
        ROWS.replace("\nn8", "\n n8"),
    ],
    ids=range(12),
)
def test_nothing_of_a_changed_text_is_dropped(text: str) -> None:
    with pytest.raises(InvalidInputError, match="cannot be expanded"):
        expand(text)


def test_white_space_below_a_table_changes_nothing() -> None:
    """Editors and shells end a file with a line break."""
    for text in (TABLE, ROWS):
        assert expand(text + " \r\n\n") == expand(text)


@pytest.mark.parametrize(
    "part",
    [
        "\n",
        "a\n",
        "ab cd ef gh\n",
        "a b\nc d\n",
        "[again: the 1 above, 2x]\n",
        "ab cd ef gh {n}\n",
        "ab cd ef {n} gh\n",
        "[1,\n",
    ],
)
def test_condensing_takes_linear_time(part: str) -> None:
    assert grows_linearly(lambda size: condense("".join(part.replace("{n}", str(n)) for n in range(size))))


def test_deep_json_takes_linear_time() -> None:
    assert grows_linearly(
        lambda size: condense(
            '{"a":[' * min(size // 40, 200)
            + '[{"name":1},{"name":2}],' * size
            + "1"
            + "]}" * min(size // 40, 200)
        )
    )


def test_the_command_condenses_and_expands() -> None:
    short = run_tersely("condense", stdin=LOG)
    assert (short.exit_code, short.stdout) == (0, condense(LOG))
    assert run_tersely("condense", "--expand", stdin=short.stdout).stdout == LOG


@pytest.mark.parametrize("function", [condense, expand])
def test_only_texts_can_be_condensed_and_expanded(function: Callable[[Any], str]) -> None:
    with pytest.raises(InvalidInputError, match="text is an int"):
        function(5)
