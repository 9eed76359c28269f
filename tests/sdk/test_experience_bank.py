"""The experience bank: recall, merging, counting, revoking, files, several processes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely import InvalidInputError
from tersely_agents.experience import ExperienceBank, ExperienceError, Origin
from tersely_agents.experience.vectors import Index, Vectors
from tests.sdk.experiences import CHECK, OTHER_QUIZ, QUIZ, make_experience
from tests.sdk.fakes import Letters


@pytest.fixture
def bank(tmp_path: Path) -> ExperienceBank:
    return ExperienceBank(tmp_path / "bank.db", Letters())


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_search_finds_what_brute_force_finds(seed: int) -> None:
    r = np.random.default_rng(seed)
    rows: dict[str, Vectors] = {}

    def draw() -> Vectors:
        return r.choice([-1.0, 0.0, 0.5, 1.0], 6).astype(np.float32)

    index = Index([], np.zeros((0, 6), np.float32))
    for number in range(r.integers(1, 150)):
        key, row = f"{number}", draw()
        if rows and r.random() < 0.2:
            old = r.choice(list(rows))
            index.replace(old, key, row)
            del rows[old]
        else:
            index.add(key, row)
        rows[key] = row
    query, above = draw(), float(r.choice([-np.inf, 0.0, 1.0]))
    found = list(index.search(query, above))
    assert len(index) == len(rows)
    assert dict(found) == {key: row @ query for key, row in rows.items() if row @ query > above}
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_recall_weighs_query_and_problem(bank: ExperienceBank, alpha: float) -> None:
    bank.add_all([CHECK, QUIZ])
    letters = Letters()
    query, problem = letters.embed(["quick jazz", "Who built the tower?"])
    expected = {
        e.id: alpha * query @ letters.embed([e.key_text])[0]
        + (1 - alpha) * problem @ letters.embed([e.problem])[0]
        for e in (CHECK, QUIZ)
    }
    recalled = bank.recall("quick jazz", "Who built the tower?", alpha=alpha)
    assert {r.experience.id: r.score for r in recalled} == pytest.approx(expected, abs=1e-5)
    assert [r.score for r in recalled] == sorted((r.score for r in recalled), reverse=True)
    assert len(bank.recall("quick jazz", k=1)) == 1


def test_new_experience_replaces_similar_one(bank: ExperienceBank) -> None:
    bank.add_all([CHECK, QUIZ])
    newer = bank.add(make_experience("Check two sources!", problem="When was the bridge opened?"))
    assert newer.origin.replaces == CHECK.id
    assert {e.id for e in bank.experiences()} == {QUIZ.id, newer.id}
    assert bank.removed() == {CHECK.id: f"replaced by {newer.id}"}
    assert len(bank) == 2
    assert bank.recall("Check two sources", "When was the bridge opened?")[0].experience == newer
    with pytest.raises(KeyError):
        bank.get(CHECK.id)


def test_only_similarity_above_threshold_merges(tmp_path: Path) -> None:
    class Pair(Letters):
        dimension = 2

        def embed(self, texts: Sequence[str]) -> Vectors:
            vectors = {"a": [1.0, 0.0], "b": [0.75, np.sqrt(1 - 0.75**2)], "c": [0.76, np.sqrt(1 - 0.76**2)]}
            return np.array([vectors[t[0]] for t in texts], dtype=np.float32)

    for title, is_merged in (("b", False), ("c", True)):
        bank = ExperienceBank(tmp_path / f"{title}.db", Pair(), merge_threshold=0.75)
        bank.add(make_experience("a", problem="a"))
        assert (bank.add(make_experience(title, problem="a")).origin.replaces is not None) is is_merged


def test_forget_takes_out_what_never_helped(bank: ExperienceBank) -> None:
    bank.add_all([CHECK, QUIZ])
    for success in (False, False, True):
        bank.record_use([CHECK.id, "unknown"], success)
        bank.record_use([QUIZ.id], False)
    assert bank.forget(after=4) == []
    assert bank.forget() == [QUIZ.id]
    kept = bank.get(CHECK.id)
    assert (kept.uses, kept.wins) == (3, 1)
    assert bank.removed() == {QUIZ.id: "forgotten"}
    assert [r.experience.id for r in bank.recall("quick jazz")] == [CHECK.id]


def test_revoke_by_id_run_and_model(bank: ExperienceBank, tmp_path: Path) -> None:
    bad = [
        make_experience(title, origin=Origin(run=run, model=model))
        for title, run, model in (("Abba", "r1", "m1"), ("Cede dee", "r1", "m2"), ("Fig hi", "r2", "m2"))
    ]
    bank.add_all([*bad, CHECK])
    bank.export_jsonl(tmp_path / "all.jsonl")
    assert bank.revoke(run="r1", model="m2") == [bad[1].id]
    assert bank.revoke(run="r1") == [bad[0].id]
    assert bank.revoke(key=bad[2].id) == [bad[2].id]
    assert bank.revoke(key="unknown") == []
    assert bank.experiences() == [CHECK]
    assert bank.import_jsonl(tmp_path / "all.jsonl") == 0, "a revoked experience is not imported"
    with pytest.raises(InvalidInputError, match="has been revoked"):
        bank.add(bad[0])
    assert len(bank) == 1
    with pytest.raises(InvalidInputError, match="Nothing is named"):
        bank.revoke()


def test_nothing_from_revoked_run_can_be_added(bank: ExperienceBank, tmp_path: Path) -> None:
    other = ExperienceBank(":memory:", Letters())
    other.add_all([make_experience("Poison", origin=Origin(run="r1")), QUIZ])
    other.export_jsonl(tmp_path / "other.jsonl")
    assert bank.revoke(run="r1") == []
    assert bank.import_jsonl(tmp_path / "other.jsonl") == 1
    with pytest.raises(InvalidInputError, match="'r1' has been revoked"):
        bank.add_all([CHECK, make_experience("Poison again", origin=Origin(run="r1"))])
    assert [e.title for e in bank.experiences()] == [QUIZ.title]


def test_bank_opens_again_with_the_same_contents(bank: ExperienceBank) -> None:
    bank.add_all([CHECK, QUIZ])
    bank.record_use([CHECK.id], True)
    letters = Letters()
    again = ExperienceBank(bank.path, letters)
    assert letters.embedded == 0, "the file holds the vectors"
    assert again.experiences() == bank.experiences()
    assert again.get(CHECK.id).wins == 1
    assert again.recall("quick jazz") == bank.recall("quick jazz")


def test_changes_of_another_process_are_visible(bank: ExperienceBank) -> None:
    other = ExperienceBank(bank.path, Letters())
    bank.add(CHECK)
    assert [r.experience for r in other.recall("check")] == [CHECK]
    other.add(make_experience("Check two sources?"))
    assert len(bank) == 1, "it replaced the experience of the first bank"
    other.add_all([QUIZ, OTHER_QUIZ])
    assert len(bank) == 3
    bank.revoke(key=QUIZ.id)
    assert len(other) == 2


def test_another_embedder_embeds_a_bank_again_once(bank: ExperienceBank) -> None:
    bank.add_all([CHECK, QUIZ])

    class Vowels(Letters):
        name = "vowels"
        dimension = 5

        def embed(self, texts: Sequence[str]) -> Vectors:
            rows = super().embed(texts)[:, [0, 4, 8, 14, 20]]
            return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    first, second = Vowels(), Vowels()
    assert len(ExperienceBank(bank.path, first)) == 2
    assert first.embedded == 4
    ExperienceBank(bank.path, second)
    assert second.embedded == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v * np.nan, "length nan, not 1"),
        (lambda v: v * 2, "length 2, not 1"),
        (lambda v: v[:, :3], "the shape"),
        (lambda v: (v * 9).astype(int), "a vector of length"),
        (lambda v: [[1.0], [1.0, 2.0]], "no rows of numbers"),
    ],
)
def test_embedder_without_unit_vectors_is_refused(change: Any, message: str) -> None:
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


def test_export_can_be_imported_once(bank: ExperienceBank, tmp_path: Path) -> None:
    used = replace(CHECK, uses=3, wins=2, content="First line\u2028second \ud800 line")
    file = tmp_path / "out.jsonl"
    assert bank.export_jsonl(file) == bank.import_jsonl(file) == 0
    file.write_text(
        "".join(f"{json.dumps(e.to_dict())}\n" for e in (used, make_experience(f"{used.title}!")))
    )
    assert bank.import_jsonl(file) == 2, "nothing is merged"
    copy = ExperienceBank(":memory:", Letters())
    assert bank.export_jsonl(file) == 2
    assert copy.import_jsonl(file) == 2
    assert copy.experiences() == bank.experiences()
    assert copy.experiences()[0] == used
    assert copy.import_jsonl(file) == 0
    file.write_text(json.dumps(make_experience("Zigzag").to_dict()) + '\n{"title": "x"}\n')
    with pytest.raises(InvalidInputError, match="line 2: This is not an experience"):
        copy.import_jsonl(file)
    assert len(copy) == 2


def test_failed_insert_changes_neither_index_nor_file(bank: ExperienceBank) -> None:
    bank.add(CHECK)
    with pytest.raises(InvalidInputError, match="is known"):
        bank.add_all([QUIZ, replace(QUIZ, title="Vex buzz kvm")])
    assert len(bank) == 1
    assert [r.experience for r in bank.recall("quick jazz")] == [CHECK]


def test_bad_entries_and_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="Pass some text"):
        make_experience(" ")
    with pytest.raises(InvalidInputError, match="3 wins in 2 uses"):
        make_experience("x", uses=2, wins=3)
    (tmp_path / "text").write_text("no database, but long enough to be looked at by SQLite\n" * 20)
    with pytest.raises(ExperienceError, match="not a database"):
        ExperienceBank(tmp_path / "text", Letters())
    connection = sqlite3.connect(tmp_path / "new.db")
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(ExperienceError, match="Update tersely"):
        ExperienceBank(tmp_path / "new.db", Letters())
