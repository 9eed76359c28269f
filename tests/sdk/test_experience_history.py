"""Replaced lessons come back, damaged rows are reported, and doctor saves the intact ones."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely_agents.experience import Experience, ExperienceBank, Origin
from tersely_agents.experience.transfer import check_bank
from tersely_agents.experience.vectors import Vectors
from tests.sdk.cli_runner import run_tersely
from tests.sdk.experiences import CHECK, OTHER_QUIZ, QUIZ, make_experience
from tests.sdk.fakes import Letters


class Circle:
    """An embedder for texts that begin with an angle in degrees."""

    name = "circle"
    dimension = 2

    def embed(self, texts: Sequence[str]) -> Vectors:
        angles = np.radians([float(text.split()[0].strip(".")) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def make_lesson(angle: int, key: str, success: bool, run: str) -> Experience:
    return Experience(f"{angle} degrees", "d", f"content {key}", f"{angle}", success, Origin(run), id=key)


def test_revoking_brings_back_what_was_replaced(tmp_path: Path) -> None:
    bank, other = (ExperienceBank(tmp_path / "bank.db", Letters()) for _ in range(2))
    intruder = make_experience("Check two sources!", origin=Origin(run="bad"))
    bank.add_all([CHECK, QUIZ])
    assert other.add(intruder).origin.replaces == CHECK.id
    records = bank.history(intruder.id)
    assert [(r.experience.id, r.status, r.replaced_by) for r in records] == [
        (intruder.id, "current", None),
        (CHECK.id, "replaced", intruder.id),
    ]
    assert bank.revoke(run="bad") == [intruder.id]
    for each in (bank, other, ExperienceBank(tmp_path / "bank.db", Letters())):
        assert each.recall("check two sources", k=1)[0].experience == CHECK
        assert len(each) == 2
    assert [r.status for r in bank.history(intruder.id)] == ["revoked", "current"]


def test_forgetting_brings_back_what_was_replaced() -> None:
    bank = ExperienceBank(":memory:", Letters())
    bank.add(CHECK)
    newer = bank.add(make_experience("Check two sources!"))
    bank.record_use([newer.id], False)
    assert bank.forget(after=1) == [newer.id]
    assert bank.experiences() == [CHECK]


def test_failure_replaces_success_only_on_request() -> None:
    bank = ExperienceBank(":memory:", Letters())
    bank.add(CHECK)
    failure = make_experience("Check two sources!", success=False)
    assert bank.add(failure).origin.replaces is None
    second = bank.add(make_experience("Check two sources?", success=False))
    assert second.origin.replaces == failure.id, "a failure replaces a failure"
    assert {e.id for e in bank.experiences()} == {CHECK.id, second.id}
    forced = bank.add(make_experience("Check two sources.", success=False), over_success=True)
    assert forced.origin.replaces == CHECK.id
    bank.revoke(key=forced.id)
    assert CHECK in bank.experiences()


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(0, 12), st.booleans(), st.booleans()), max_size=14))
def test_revoked_run_leaves_no_trace_and_no_loss(steps: list[tuple[int, bool, bool]]) -> None:
    bank = ExperienceBank(":memory:", Circle(), merge_threshold=0.95)
    kept: set[str] = set()
    for number, (angle, success, is_bad) in enumerate(steps):
        lesson = bank.add(make_lesson(angle * 12, f"id{number}", success, "bad" if is_bad else "good"))
        if not is_bad:
            kept.add(lesson.id)
    bank.revoke(run="bad")
    removed = bank.removed()
    for key in kept & removed.keys():
        by = removed[key].removeprefix("replaced by ")
        assert by in kept, "a lesson is hidden by a revoked one"
        assert int(by[2:]) > int(key[2:])
    hidden_by = [reason for key, reason in removed.items() if key in kept]
    assert len(hidden_by) == len(set(hidden_by)), "a lesson replaces two"
    current = {e.id for e in bank.experiences()}
    assert current == kept - removed.keys()
    assert {r.experience.id for r in bank.recall("60", k=99)} == current


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 12), st.booleans(), st.booleans()), max_size=14), st.randoms())
def test_every_lesson_comes_back_when_others_are_revoked(
    steps: list[tuple[int, bool, bool]], random: Any
) -> None:
    bank = ExperienceBank(":memory:", Circle(), merge_threshold=0.9)
    keys: list[str] = []
    for number, (angle, success, is_revoked) in enumerate(steps):
        keys.append(bank.add(make_lesson(angle * 12, f"id{number}", success, "run")).id)
        if is_revoked and len(keys) > 1:
            bank.revoke(key=keys.pop(random.randrange(len(keys))))
    random.shuffle(keys)
    while keys:
        assert len(bank) == len(bank.experiences()) > 0
        last = keys.pop()
        if keys:
            bank.revoke(key=last)
        else:
            assert [e.id for e in bank.experiences()] == [last]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the file of a bank with three lessons."""
    path = tmp_path / "bank.db"
    with closing(ExperienceBank(path, Letters())) as bank:
        bank.add_all([CHECK, QUIZ, OTHER_QUIZ])
    return path


def change(file: Path, assignment: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"UPDATE experiences SET {assignment} WHERE id = ?", (CHECK.id,))


@pytest.mark.parametrize(
    "assignment",
    [
        f"vectors = CAST(x'{np.full(52, np.nan, '<f4').tobytes().hex()}' AS BLOB), checksum = NULL",
        "vectors = x'0000', checksum = NULL",
        "entry = replace(entry, 'Look', 'Cook')",
        "entry = '{', checksum = NULL",
        "entry = CAST(x'ff22' AS TEXT), checksum = NULL",
    ],
)
def test_damaged_row_is_left_out_and_listed(
    file: Path, caplog: pytest.LogCaptureFixture, assignment: str
) -> None:
    bank = ExperienceBank(file, Letters())
    change(file, assignment)
    with caplog.at_level(logging.WARNING, logger="tersely"):
        again = ExperienceBank(file, Letters())
        for each in (again, bank):
            for _ in range(2):
                recalled = {r.experience.id for r in each.recall("check two sources")}
                assert QUIZ.id in recalled
                assert CHECK.id not in recalled
            each.add(make_experience(f"Box {id(each)} fizz"))
    assert list(again.damaged()) == [CHECK.id]
    assert len([r for r in caplog.records if CHECK.id in r.getMessage()]) == 2, "one warning for each bank"
    again.revoke(key=CHECK.id)
    assert again.damaged() == {}


def test_doctor_finds_a_sound_bank_well(file: Path, tmp_path: Path) -> None:
    with closing(ExperienceBank(file, Letters())) as bank:
        bank.revoke(key=QUIZ.id)
    before = file.read_bytes()
    report = run_tersely("doctor", "--experience", file, "--save", tmp_path / "saved.jsonl")
    assert report.exit_code == 0
    assert "2 intact, 0 damaged" in report.stdout
    assert "all is well" in report.stdout
    assert QUIZ.id not in (tmp_path / "saved.jsonl").read_text()
    assert file.read_bytes() == before


def test_doctor_names_damaged_lessons_and_saves_the_others(file: Path, tmp_path: Path) -> None:
    change(file, "entry = replace(entry, 'Look', 'Cook')")
    with closing(ExperienceBank(file, Letters())) as bank:
        damaged = bank.damaged()
    report = run_tersely("doctor", "--experience", file, "--json")
    assert report.exit_code == 3
    assert json.loads(report.stdout)["damaged"] == damaged == {CHECK.id: "its checksum differs"}
    assert "1 experiences are lost. Save what is left with --save NEW." in report.stderr
    saved = tmp_path / "saved.jsonl"
    assert run_tersely("doctor", "--experience", file, "--save", saved).exit_code == 3
    fresh = ExperienceBank(tmp_path / "fresh.db", Letters())
    assert fresh.import_jsonl(saved) == 2
    assert fresh.experiences() == [QUIZ, OTHER_QUIZ]
    assert run_tersely("doctor", "--experience", file, "--save", saved).exit_code == 2


def test_doctor_reads_around_lost_pages_of_a_bank(file: Path) -> None:
    lessons = [make_experience(f"Lesson {n}", f"Who is {n}?", description="x " * 400) for n in range(40)]
    with closing(ExperienceBank(file, Letters(), merge_threshold=1.0)) as bank:
        bank.add_all(lessons)
    content = bytearray(file.read_bytes())
    middle = len(content) // 4096 // 2 * 4096
    content[middle : middle + 4096] = b"\xff" * 4096
    file.write_bytes(content)
    check = check_bank(file)
    assert check.damage
    assert check.unreadable
    kept = {e.id: e for e in check.experiences}
    assert 20 < len(kept) < 43
    assert all(kept[e.id] == replace(e, origin=kept[e.id].origin) for e in lessons if e.id in kept)


@pytest.mark.parametrize("content", [b"", b"not a database" * 100])
def test_doctor_refuses_other_files_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.db"
    path.write_bytes(content)
    for file in (path, tmp_path / "missing.db"):
        report = run_tersely("doctor", "--experience", file)
        assert (report.exit_code, report.stdout) == (3, "")
        assert report.stderr.count("\n") == 1
    assert not (tmp_path / "missing.db").exists()
