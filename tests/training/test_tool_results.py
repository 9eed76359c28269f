"""Questions about results of tools become training groups whose units are those of a compression."""

from __future__ import annotations

import gzip
import json
import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.real_results.questions import Loaded, Question
from training import tool_questions
from training.selector_model.config import DataConfig
from training.selector_model.groups import prepare_groups, read_groups
from training.selector_model.tool_results import AROUND, ENOUGH, choose_near, open_result

RECORDS = json.dumps(
    [{"berth": n, "boat": f"boat {n}", "note": f"moored at noon on day {n}"} for n in range(400)], indent=1
)


def make_question(number: int, text: str, evidence: tuple[str, ...]) -> Question:
    return Question(f"boats-{number}", "json", f"boats_{number}", "Which boat?", ("7",), evidence, text)


def test_a_result_is_opened_into_the_parts_that_compete() -> None:
    units = open_result(RECORDS)
    assert len(units) > 300
    assert any('"boat 7"' in RECORDS[a:b] and '"boat 8"' not in RECORDS[a:b] for a, b in units)
    assert all(a < b for a, b in units)
    assert units == sorted(units)


def test_training_reads_a_part_of_a_long_result_with_all_that_is_needed() -> None:
    units = [(100 * n, 100 * n + 90) for n in range(1000)]
    labels = [int(n in (3, 700)) for n in range(1000)]
    near = choose_near(units, labels, random.Random(1))
    assert {3, 700} <= set(near)
    assert {2, 4, 699, 701} <= set(near)
    length = sum(units[n][1] - units[n][0] for n in near)
    assert ENOUGH <= length <= ENOUGH + 2 * AROUND + 200
    assert choose_near(units[:5], labels[:5], random.Random(1)) == [0, 1, 2, 3, 4]


def test_rows_become_groups_with_their_evidence_labelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = [make_question(n, f"{RECORDS}\n# list {n}", ('"boat": "boat 7",',)) for n in range(12)]
    questions.append(replace(questions[0], id="tides-1", text=f"tides\n{RECORDS}", evidence=('"boat 9"',)))
    monkeypatch.setattr(tool_questions, "load", lambda *_: Loaded(tuple(questions), ("gone-1",)))
    file = tmp_path / "data" / "train" / "tool_results.jsonl.gz"
    assert tool_questions.main(["--out", str(file), "--python", sys.executable]) == 1
    assert "gone-1: its evidence is not in its result" in capsys.readouterr().err
    with gzip.open(file, "rt", encoding="utf-8") as rows:
        assert len(rows.readlines()) == 13
    config = DataConfig(questions={"tool_results": 20}, heldout={"tool_results": 1}, negatives=0)
    prepare_groups(tmp_path / "data", tmp_path / "run", config, seed=1)
    train, heldout = (read_groups(tmp_path / "run", part) for part in ("train", "heldout"))
    assert train
    assert heldout
    for group in [*train, *heldout]:
        (document,) = group.documents
        needed = [document.text[a:b] for (a, b), y in zip(document.units, document.labels, strict=True) if y]
        assert len(needed) == 1
        assert "boat 7" in needed[0] or "boat 9" in needed[0]
    lengths = [sum(b - a for a, b in group.documents[0].units) for group in train]
    assert max(lengths) < len(RECORDS) / 2
