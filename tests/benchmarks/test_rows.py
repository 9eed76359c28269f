"""The committed rows give the recorded tables, and hold no texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import command, recompute
from benchmarks.command import Measured, Options, make_parser
from benchmarks.rows import Line, Lines, find_rows, read_lines
from benchmarks.table import Column, Table

LONGEST = 100
"""Number of characters of a string, at most: ids and names, but no sentence of a document."""
LINES: list[Line] = [{"id": "a", "kept": 1}, {"id": "b", "kept": 0}]


@pytest.mark.parametrize("path", recompute.list_records(), ids=lambda path: path.stem)
def test_rows_give_the_recorded_tables(path: Path) -> None:
    verdicts = recompute.compare(path)
    assert "same" in verdicts.values()
    assert "different" not in verdicts.values(), "python -m benchmarks.recompute"


@pytest.mark.parametrize("path", recompute.list_records(), ids=lambda path: path.stem)
def test_rows_hold_no_texts(path: Path) -> None:
    for line in read_lines(find_rows(path)):
        assert max(map(len, list_strings(line))) <= LONGEST


def list_strings(value: Any) -> Iterator[str]:
    """Yield every string of a line, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in [*value.keys(), *value.values()] if isinstance(value, dict) else value:
            yield from list_strings(part)


def tabulate(lines: Lines, seed: int) -> list[Table]:
    return [Table("Kept", (Column("kept"),), ({"kept": sum(line["kept"] for line in lines) + seed},))]


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the record of a run with rows, and with a table of times, which has no rows."""

    def measure(options: Options) -> Measured:
        times = Table("Times", (Column("seconds"),), ({"seconds": 0.25},))
        return Measured([*tabulate(LINES, options.seed), times], rows=LINES)

    monkeypatch.setattr(recompute, "PROGRAMS", {"towns": tabulate})
    path = tmp_path / "towns.json"
    assert command.run(make_parser("benchmarks.towns", None), ["--out", str(path)], Options(), measure) == 0
    return path


def test_a_run_writes_the_rows_of_its_tables(record: Path) -> None:
    assert list(read_lines(find_rows(record))) == LINES
    assert recompute.compare(record) == {"Kept": "same", "Times": "no rows"}
    assert recompute.main([str(record)]) == 0


def test_a_number_that_rows_do_not_give_is_found(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record.write_text(record.read_text(encoding="utf-8").replace("[14]", "[15]"), encoding="utf-8")
    assert recompute.main([str(record)]) == 1
    assert "different towns: Kept" in capsys.readouterr().out


def test_a_table_that_the_record_lacks_is_found(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = Table("More", (Column("kept"),), ({"kept": 1},))
    monkeypatch.setattr(recompute, "PROGRAMS", {"towns": lambda lines, seed: [*tabulate(lines, seed), more]})
    assert recompute.compare(record)["More"] == "different"
