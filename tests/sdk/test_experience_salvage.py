"""What `tersely doctor` finds in the file of a bank, and what it saves of a damaged one."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from tersely_agents.experience import ExperienceBank
from tersely_agents.experience.salvage import check_bank, save_experiences
from tests.sdk.cli_runner import run_tersely
from tests.sdk.experiences import CHECK, OTHER_QUIZ, QUIZ, make_experience
from tests.sdk.fakes import Letters


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A bank with three lessons."""
    path = tmp_path / "bank.db"
    ExperienceBank(path, Letters()).add_all([CHECK, QUIZ, OTHER_QUIZ])
    return path


def damage(file: Path, title: str) -> str:
    """Change the text of a lesson behind its checksum. Returns its id."""
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        query = "SELECT id, entry FROM experiences WHERE entry LIKE ?"
        ((key, entry),) = connection.execute(query, (f"%{title}%",))
        changed = entry.replace("Look it up.", "Look it down.")
        connection.execute("UPDATE experiences SET entry = ? WHERE id = ?", (changed, key))
    return key


def dump(file: Path) -> list[str]:
    """All that the file holds, out of SQLite's log into the file itself."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return list(connection.iterdump())


def test_a_whole_bank_is_well_and_stays_as_it_is(file: Path) -> None:
    before = dump(file)
    report = run_tersely("doctor", "--experience", file)
    assert report.exit_code == 0
    assert "3 intact, 0 damaged" in report.stdout
    assert "all is well" in report.stdout
    assert dump(file) == before


def test_doctor_names_what_the_bank_calls_damaged(file: Path) -> None:
    key = damage(file, "Guzzle")
    check = check_bank(file)
    assert check.damaged == ExperienceBank(file, Letters()).damaged() == {key: "its checksum differs"}
    report = run_tersely("doctor", "--experience", file, "--json")
    assert report.exit_code == 3
    assert json.loads(report.stdout)["damaged"] == check.damaged
    assert "has lost 1 experiences. Save what is left with --save NEW." in report.stderr


def test_what_is_left_can_be_imported_into_a_new_bank(file: Path, tmp_path: Path) -> None:
    damage(file, "Guzzle")
    saved = tmp_path / "saved.jsonl"
    assert run_tersely("doctor", "--experience", file, "--save", saved).exit_code == 3
    fresh = ExperienceBank(tmp_path / "fresh.db", Letters())
    assert fresh.import_jsonl(saved) == 2
    assert {e.title for e in fresh.experiences()} == {CHECK.title, OTHER_QUIZ.title}
    assert run_tersely("doctor", "--experience", file, "--save", saved).exit_code == 2


def test_what_was_taken_out_of_a_bank_is_not_saved(file: Path, tmp_path: Path) -> None:
    bank = ExperienceBank(file, Letters())
    bank.revoke(key=next(e.id for e in bank.experiences() if e.title == QUIZ.title))
    check = check_bank(file)
    assert check.is_whole
    assert save_experiences(check, tmp_path / "saved.jsonl") == 2


def test_a_bank_of_which_pages_are_lost_gives_what_can_be_read(file: Path) -> None:
    lessons = [make_experience(f"Lesson {n}", f"Who is {n}?", description="x " * 400) for n in range(40)]
    ExperienceBank(file, Letters(), merge_threshold=1.0).add_all(lessons)
    dump(file)
    content = bytearray(file.read_bytes())
    middle = len(content) // 4096 // 2 * 4096
    content[middle : middle + 4096] = b"\xff" * 4096
    file.write_bytes(content)
    check = check_bank(file)
    assert not check.is_whole
    assert check.experiences


@pytest.mark.parametrize("content", [b"", b"not a database" * 100])
def test_a_file_that_is_no_bank_is_one_line_of_complaint(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.db"
    path.write_bytes(content)
    report = run_tersely("doctor", "--experience", path)
    assert (report.exit_code, report.stdout) == (3, "")
    assert report.stderr.count("\n") == 1
    missing = run_tersely("doctor", "--experience", tmp_path / "missing.db")
    assert missing.exit_code == 3
    assert not (tmp_path / "missing.db").exists()
