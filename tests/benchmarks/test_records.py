"""Records as JSON and back, and the errors for files that do not fit their type."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from benchmarks.records import parse_record, read_record, write_record


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Whole:
    kind: Literal["a", "b"]
    parts: tuple[Part, ...]
    counts: dict[str, int]
    numbers: tuple[float | None, ...]


WHOLE = Whole("a", (Part("x", 0.5), Part("[\n]")), {"y": 1}, (1.0, None, -2e-05))
PLAIN: dict[str, Any] = {"kind": "b", "parts": [], "counts": {}, "numbers": []}


def test_a_written_record_is_read_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "new" / "whole.json"
    write_record(path, WHOLE)
    assert read_record(path, Whole) == WHOLE
    assert json.loads(path.read_text())["numbers"] == [1.0, None, -2e-05]


def test_a_list_of_numbers_is_written_on_one_line(tmp_path: Path) -> None:
    write_record(tmp_path / "whole.json", WHOLE)
    assert ' "numbers": [1.0, null, -2e-05]\n' in (tmp_path / "whole.json").read_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "c"}, "Whole.kind is not one of"),
        ({"parts": [{"value": 1}]}, r"Whole.parts\[0\].name is missing"),
        ({"parts": [{"name": "x", "size": 1}]}, r"Whole.parts\[0\].size is unknown"),
        ({"parts": {}}, "Whole.parts is not a list"),
        ({"counts": {"y": "1"}}, "Whole.counts.y is not of type int"),
        ({"counts": {"y": True}}, "Whole.counts.y is not of type int"),
        ({"numbers": ["1"]}, r"Whole.numbers\[0\] is not of type float"),
    ],
)
def test_a_value_of_another_type_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_record(Whole, {**PLAIN, **change})


def test_a_whole_number_is_read_as_float() -> None:
    assert parse_record(Part, {"name": "x", "value": 1}).value == 1.0
