"""Intervals, and tables and records: printed, written and read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.shared.statistics import Estimate, bootstrap, bootstrap_difference, estimate_share
from benchmarks.table import Column, Record, Row, Table
from tests.benchmarks.fakes import ENVIRONMENT


def test_wilson_intervals_at_known_points() -> None:
    half = estimate_share(50, 100)  # (0.5 + z²/200 ± z·sqrt(0.0025 + z²/40000)) / (1 + z²/100)
    assert (half.value, half.low, half.high) == pytest.approx((0.5, 0.4038, 0.5962), abs=1e-4)
    none = estimate_share(0, 10)  # upper end z²/(10 + z²)
    assert (none.value, none.low, none.high) == pytest.approx((0.0, 0.0, 0.2775), abs=1e-4)
    with pytest.raises(ValueError, match="at least one trial"):
        estimate_share(0, 0)


def test_bootstrap_weighs_questions_by_what_they_have() -> None:
    assert bootstrap(np.array([1.0, 0.0]), np.array([1.0, 3.0]), seed=1).value == 0.25


def test_bootstrap_agrees_with_a_large_normal_sample() -> None:
    kept = np.array([1.0] * 300 + [0.0] * 700)
    estimate = bootstrap(kept, np.ones(1000), seed=3)
    half = 1.96 * (0.3 * 0.7 / 1000) ** 0.5
    assert estimate.low == pytest.approx(0.3 - half, abs=0.004)
    assert estimate.high == pytest.approx(0.3 + half, abs=0.004)


def test_pairing_shows_a_lead_that_separate_intervals_hide() -> None:
    theirs = np.array([1.0, 0.0] * 100)
    ours = theirs.copy()
    ours[1:40:2] = 1.0  # twenty questions more, none lost
    difference = bootstrap_difference(ours, theirs, np.ones(200), seed=5)
    assert difference.value == pytest.approx(0.1)
    assert 0.05 < difference.low < 0.1 < difference.high < 0.15


def test_questions_without_labels_do_not_count() -> None:
    estimate = bootstrap(np.array([1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0]), seed=1)
    assert estimate.value == 0.5
    with pytest.raises(ValueError, match="at least one thing"):
        bootstrap(np.zeros(3), np.zeros(3), seed=1)


@pytest.mark.parametrize(
    ("low", "high", "standing"),
    [(0.01, 0.1, "ahead"), (-0.01, 0.1, "level"), (-0.1, -0.01, "behind"), (0, 0, "level")],
)
def test_a_difference_is_ahead_level_or_behind(low: float, high: float, standing: str) -> None:
    assert Estimate((low + high) / 2, low, high).standing == standing


COLUMNS = (
    Column("system"),
    Column("rate"),
    Column("kept", "%", interval="wilson"),
    Column("lead", "points", interval="bootstrap"),
    Column("tokens", format=",", printed=False),
)


def make_row(system: str, rate: float, kept: Any, lead: Estimate | None = None) -> Row:
    return {"system": system, "rate": rate, "kept": kept, "lead": lead, "tokens": 1200}


TABLE = Table(
    "Answers",
    COLUMNS,
    (
        make_row("tersely", 0.1, Estimate(0.5, 0.4, 0.6)),
        make_row("tersely", 0.5, (1.0, 0.0, None, 1.0)),
        make_row("BM25", 0.1, Estimate(0.25, 0.2, 0.3), Estimate(0.25, 0.1, 0.4)),
    ),
)


def test_every_row_is_printed_with_units_and_intervals() -> None:
    lines = TABLE.to_markdown(seed=1).splitlines()
    assert lines[:3] == ["**Answers**", "", "| system | rate | kept, % | lead, points |"]
    assert lines[4] == "| tersely | 0.1 | 50.0 [40.0, 60.0] | – |"
    assert lines[5] == "| tersely | 0.5 | 66.7 [20.8, 93.9] | – |"  # two of three cases that have a value
    assert lines[6] == "| BM25 | 0.1 | 25.0 [20.0, 30.0] | +25.0 [+10.0, +40.0] |"


def test_one_column_is_spread_across_the_page() -> None:
    table = Table(TABLE.title, TABLE.columns, TABLE.rows, across="rate")
    title, _, header, _, *rows = table.to_markdown(seed=1).splitlines()
    assert title == "**Answers** by rate: kept, % / lead, points"
    assert header == "| system | 0.1 | 0.5 |"
    assert rows[0].startswith("| tersely | 50.0 [40.0, 60.0] / – | 66.7")
    assert rows[1] == "| BM25 | 25.0 [20.0, 30.0] / +25.0 [+10.0, +40.0] | – |"


def test_a_single_row_is_a_line() -> None:
    table = Table("Answers", COLUMNS, TABLE.rows[:1])
    assert table.to_markdown(seed=1) == (
        "**Answers**: system: tersely; rate: 0.1; kept, %: 50.0 [40.0, 60.0]; lead, points: –"
    )


def test_only_the_named_rows_are_printed() -> None:
    table = Table(TABLE.title, TABLE.columns, TABLE.rows, only={"rate": (0.1,)})
    header, _, *rows = table.to_markdown(seed=1, titled=False).splitlines()
    assert header == "| system | rate | kept, % | lead, points |"
    assert [row[:20] for row in rows] == ["| tersely | 0.1 | 50", "| BM25 | 0.1 | 25.0 "]
    assert Table.from_json(json.loads(table.to_json())) == table


def test_rows_are_found_by_their_cells() -> None:
    assert len(TABLE.select(system="tersely")) == 2
    assert TABLE.find(system="tersely", rate=0.5)["tokens"] == 1200
    with pytest.raises(ValueError, match="0 rows"):
        TABLE.find(system="tersely", rate=0.9)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"system": "a"}, "Answers: a row has"),
        ({**make_row("a", 0.1, None), "other": 1}, "Answers: a row has"),
        ({**make_row("a", 0.1, None), "tokens": (1.0, 2.0)}, "tokens has several numbers"),
    ],
)
def test_rows_that_do_not_fit_the_columns_are_refused(row: Row, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Table("Answers", COLUMNS, (row,))


def test_a_written_record_is_read_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "new" / "answers.json"
    record = Record("answers", "python -m x", ENVIRONMENT, 13, (TABLE,), "mini@1", {"rounds": 3, "bare": 0.1})
    record.write(path)
    assert Record.read(path) == record
    assert sum('"tersely", 0.' in line for line in path.read_text().splitlines()) == 2, "one row per line"
    assert record.find("Answers") is record.tables[0]
    with pytest.raises(ValueError, match="no table"):
        record.find("Support")


def test_a_printed_record_says_how_it_was_measured() -> None:
    hidden = Table("Hidden", COLUMNS, TABLE.rows, printed=False)
    tables = (TABLE, Table("Again", COLUMNS, TABLE.rows), hidden)
    record = Record("answers", "python -m x", ENVIRONMENT, 13, tables, "mini@1", {"bare": 0.123456})
    text = record.to_markdown("A note.")
    assert text.startswith("`python -m x`; mini@1; bare 0.1235; seed 13. x, 2 cores, 1 GB")
    assert text.index("A note.") < text.index("**Answers**") < text.index("**Again**")
    assert "Hidden" not in text
    assert "13. Machine 7; 2026-" in record.to_markdown(machine="Machine 7")


def test_the_title_of_an_only_table_is_left_away() -> None:
    record = Record("answers", "python -m x", ENVIRONMENT, 13, (TABLE,))
    assert "**Answers**" not in record.to_markdown()
