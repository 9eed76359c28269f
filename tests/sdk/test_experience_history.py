"""No lesson is lost: what is replaced comes back when what replaced it is revoked."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely_agents.experience import Experience, ExperienceBank, ExperienceError, Origin
from tersely_agents.experience.types import Vectors
from tests.sdk.experiences import CHECK, INDEXES, QUIZ, make_experience
from tests.sdk.fakes import Letters

OLD_SCHEMA = (
    """CREATE TABLE experiences (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, entry TEXT NOT NULL,
    run TEXT, model TEXT, uses INTEGER NOT NULL, wins INTEGER NOT NULL, vectors BLOB, gone TEXT)""",
    "CREATE INDEX by_run ON experiences (run)",
    "CREATE INDEX by_model ON experiences (model)",
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "PRAGMA user_version = 1",
)


class Circle:
    """An embedder whose texts begin with an angle in degrees."""

    name = "circle"
    dimension = 2

    def embed(self, texts: Sequence[str]) -> Vectors:
        angles = np.radians([float(text.split()[0].strip(".")) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def make_lesson(angle: int, key: str, success: bool = True, run: str = "own") -> Experience:
    return Experience(
        f"{angle} degrees", "d", f"content {key}", f"{angle}", success, Origin(run, created="now"), id=key
    )


def list_current(bank: ExperienceBank) -> list[tuple[str, str | None]]:
    return [(e.id, e.origin.replaces) for e in bank.experiences()]


def list_recalled(bank: ExperienceBank) -> list[tuple[str, float]]:
    recalled = [r for angle in (0, 60, 140) for r in bank.recall(f"{angle}", k=99)]
    return sorted((r.experience.id, round(r.score, 4)) for r in recalled)


@pytest.mark.parametrize("index", INDEXES)
def test_revoking_brings_back_what_was_replaced(tmp_path: Path, index: Any) -> None:
    bank = ExperienceBank(tmp_path / "bank.db", Letters(), index=index)
    other = ExperienceBank(tmp_path / "bank.db", Letters(), index=index)
    intruder = make_experience("Check two sources!", origin=Origin(run="bad"))
    intruder = replace(intruder, content="Never look it up.")
    bank.add_all([CHECK, QUIZ])
    assert other.add(intruder).origin.replaces == CHECK.id
    records = bank.history(intruder.id)
    assert [(r.experience.id, r.status, r.replaced_by) for r in records] == [
        (intruder.id, "current", None),
        (CHECK.id, "replaced", intruder.id),
    ]
    assert bank.revoke(run="bad") == [intruder.id]
    for each in (bank, other, ExperienceBank(tmp_path / "bank.db", Letters(), index=index)):
        assert each.recall("check two sources", k=1)[0].experience == CHECK
        assert len(each) == 2
    assert [r.status for r in bank.history(intruder.id)] == ["revoked", "current"]


def test_a_failure_replaces_a_success_only_if_the_caller_asks() -> None:
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


lessons = st.tuples(st.integers(0, 12), st.booleans(), st.booleans())


@settings(max_examples=150, deadline=None)
@given(st.lists(lessons, max_size=14))
def test_a_revoked_run_leaves_the_bank_as_if_it_had_never_been(steps: list[tuple[int, bool, bool]]) -> None:
    attacked, clean = (ExperienceBank(":memory:", Circle(), merge_threshold=0.95) for _ in range(2))
    for number, (angle, success, is_intruder) in enumerate(steps):
        lesson = make_lesson(angle * 12, f"id{number}", success, "bad" if is_intruder else "own")
        attacked.add(lesson)
        if not is_intruder:
            clean.add(lesson)
    attacked.revoke(run="bad")
    assert list_current(attacked) == list_current(clean)
    assert list_recalled(attacked) == list_recalled(clean)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.booleans(), st.booleans()), max_size=14), st.randoms())
def test_every_lesson_comes_back_when_all_others_are_revoked(
    steps: list[tuple[int, bool, bool]], random: Any
) -> None:
    bank = ExperienceBank(":memory:", Circle(), merge_threshold=0.9)
    keys: list[str] = []
    for number, (angle, success, is_revoked) in enumerate(steps):
        keys.append(bank.add(make_lesson(angle * 12, f"id{number}", success)).id)
        if is_revoked and len(keys) > 1:
            bank.revoke(key=keys.pop(random.randrange(len(keys))))
    assert not [key for key in keys if bank.history(key)[0].status == "revoked"]
    random.shuffle(keys)
    while keys:
        assert len(bank) == len(bank.experiences()) > 0
        last = keys.pop()
        if keys:
            bank.revoke(key=last)
        else:
            assert [e.id for e in bank.experiences()] == [last]


def test_forgetting_brings_back_what_was_replaced() -> None:
    bank = ExperienceBank(":memory:", Letters())
    bank.add(CHECK)
    newer = bank.add(make_experience("Check two sources!"))
    bank.record_use([newer.id], False)
    assert bank.forget(after=1) == [newer.id]
    assert bank.experiences() == [CHECK]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v * np.nan, "not finite"),
        (lambda v: v * 2, "length 2, not 1"),
        (lambda v: v[:, :3], "the shape"),
        (lambda v: (v * 9).astype(int), "type int64"),
        (lambda v: [[1.0], [1.0, 2.0]], "different lengths"),
    ],
)
def test_an_embedder_that_gives_no_unit_vectors_is_refused(change: Any, message: str) -> None:
    class Broken(Letters):
        name = "broken"

        def embed(self, texts: Sequence[str]) -> Vectors:
            return change(super().embed(texts))

    bank = ExperienceBank(":memory:", Broken())
    with pytest.raises(ExperienceError, match=f"'broken' gave .*{message}"):
        bank.add(CHECK)
    with pytest.raises(ExperienceError, match=f"'broken' gave .*{message}"):
        bank.recall("check")
    assert bank.experiences() == []


@pytest.mark.parametrize(
    "change",
    [
        f"vectors = CAST(x'{np.full(52, np.nan, '<f4').tobytes().hex()}' AS BLOB), checksum = NULL",
        "vectors = x'0000', checksum = NULL",
        "entry = replace(entry, 'Look', 'Cook')",
        "entry = '{', checksum = NULL",
        "entry = CAST(x'ff22' AS TEXT), checksum = NULL",
    ],
)
def test_a_damaged_row_is_left_out_of_recall_and_listed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, change: str
) -> None:
    bank = ExperienceBank(tmp_path / "bank.db", Letters())
    bank.add_all([CHECK, QUIZ])
    connection = sqlite3.connect(tmp_path / "bank.db")
    connection.execute(f"UPDATE experiences SET {change} WHERE id = ?", (CHECK.id,))
    connection.commit()
    connection.close()
    with caplog.at_level(logging.WARNING, logger="tersely"):
        again = ExperienceBank(tmp_path / "bank.db", Letters())
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


def test_a_file_of_the_first_version_opens_and_gives_back_what_was_replaced(tmp_path: Path) -> None:
    newer = make_experience("Check two sources!", origin=Origin(replaces=CHECK.id))
    own, problem = Letters().embed([newer.key_text, newer.problem])
    rows = [
        (CHECK, None, f"replaced by {newer.id}"),
        (newer, np.concatenate([own, problem]).tobytes(), None),
        (QUIZ, None, "forgotten"),
    ]
    with sqlite3.connect(tmp_path / "bank.db") as connection:
        for statement in OLD_SCHEMA:
            connection.execute(statement)
        for lesson, vectors, gone in rows:
            connection.execute(
                "INSERT INTO experiences (id, entry, uses, wins, vectors, gone) VALUES (?,?,0,0,?,?)",
                (lesson.id, json.dumps(lesson.to_dict()), vectors, gone),
            )
        connection.execute("INSERT INTO facts VALUES ('embedder', 'letters 26')")
    connection.close()
    bank = ExperienceBank(tmp_path / "bank.db", Letters())
    assert bank.experiences() == [newer]
    assert bank.removed() == {CHECK.id: f"replaced by {newer.id}", QUIZ.id: "forgotten"}
    bank.revoke(key=newer.id)
    assert [r.experience for r in bank.recall("check")] == [CHECK]
