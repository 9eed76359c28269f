"""The experience bank: what it recalls, merges, forgets, revokes, exports and shares between processes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tersely import InvalidInputError
from tersely_agents.experience import ExactIndex, ExperienceBank, ExperienceError, Origin
from tersely_agents.experience.types import Vectors
from tests.sdk.experiences import CHECK, INDEXES, OTHER_QUIZ, QUIZ, make_experience
from tests.sdk.fakes import Letters


@pytest.fixture(params=INDEXES, ids=lambda c: c.__name__)
def bank(request: pytest.FixtureRequest, tmp_path: Path) -> ExperienceBank:
    return ExperienceBank(tmp_path / "bank.db", Letters(), index=request.param)


def test_the_best_match_of_query_and_problem_comes_first(bank: ExperienceBank) -> None:
    bank.add_all([CHECK, QUIZ])
    recalled = bank.recall("Check two sources. When a date is asked.", "Who built the tower?")
    assert [r.experience.title for r in recalled] == [CHECK.title, QUIZ.title]
    assert recalled[0].score == pytest.approx(1.0, abs=1e-5)
    letters = Letters()
    query, problem = letters.embed(["quick jazz", "Who built the tower?"])
    for alpha in (0.0, 0.5, 1.0):
        expected = {
            e.id: alpha * query @ letters.embed([e.key_text])[0]
            + (1 - alpha) * problem @ letters.embed([e.problem])[0]
            for e in (CHECK, QUIZ)
        }
        for r in bank.recall("quick jazz", "Who built the tower?", alpha=alpha):
            assert r.score == pytest.approx(expected[r.experience.id], abs=1e-5)
    assert len(bank.recall("quick jazz", k=1)) == 1


def test_a_new_experience_replaces_a_similar_one(bank: ExperienceBank) -> None:
    bank.add_all([CHECK, QUIZ])
    newer = bank.add(make_experience("Check two sources!", problem="When was the bridge opened?"))
    assert newer.origin.replaces == CHECK.id
    assert {e.id for e in bank.experiences()} == {QUIZ.id, newer.id}
    assert bank.removed() == {CHECK.id: f"replaced by {newer.id}"}
    assert len(bank) == 2
    assert bank.recall("Check two sources", "When was the bridge opened?")[0].experience == newer
    with pytest.raises(KeyError):
        bank.get(CHECK.id)


def test_the_index_is_made_again_only_when_another_process_changes_vectors(tmp_path: Path) -> None:
    indexes: list[ExactIndex] = []

    def make_index(dimension: int) -> ExactIndex:
        indexes.append(ExactIndex(dimension))
        return indexes[-1]

    bank = ExperienceBank(tmp_path / "bank.db", Letters(), index=make_index)
    other = ExperienceBank(tmp_path / "bank.db", Letters())
    other.add_all([CHECK, QUIZ])
    assert len(bank) == 2
    before = len(indexes)
    other.record_use([CHECK.id], True)
    assert bank.get(CHECK.id).wins == 1
    assert [r.experience.wins for r in bank.recall("check two sources", k=1)] == [1]
    assert len(indexes) == before
    other.revoke(key=QUIZ.id)
    assert [r.experience.id for r in bank.recall("quick jazz")] == [CHECK.id]
    assert len(indexes) == before + 1
    bank.add(OTHER_QUIZ)
    assert len(other) == len(bank) == 2
    assert len(indexes) == before + 1, "its own changes need no new index"


def test_only_a_similarity_above_the_threshold_merges(tmp_path: Path) -> None:
    class Pair(Letters):
        dimension = 2

        def embed(self, texts: Sequence[str]) -> Vectors:
            vectors = {"a": [1.0, 0.0], "b": [0.75, np.sqrt(1 - 0.75**2)], "c": [0.76, np.sqrt(1 - 0.76**2)]}
            return np.array([vectors[t[0]] for t in texts], dtype=np.float32)

    for title, is_merged in (("b", False), ("c", True)):
        bank = ExperienceBank(tmp_path / f"{title}.db", Pair(), merge_threshold=0.75)
        bank.add(make_experience("a", problem="a"))
        assert (bank.add(make_experience(title, problem="a")).origin.replaces is not None) is is_merged


def test_experiences_that_never_helped_are_forgotten_after_enough_uses(bank: ExperienceBank) -> None:
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


def test_experiences_can_be_revoked_by_id_run_and_model(bank: ExperienceBank, tmp_path: Path) -> None:
    bad = [
        make_experience(title, origin=Origin(run=run, model=model))
        for title, run, model in (("Abba", "r1", "m1"), ("Cede dee", "r1", "m2"), ("Fig hi", "r2", "m2"))
    ]
    bank.add_all([*bad, CHECK])
    bank.export_jsonl(tmp_path / "all.jsonl")
    assert bank.revoke(run="r1", model="m2") == [bad[1].id]
    assert set(bank.revoke(run="r1")) == {bad[0].id}
    assert bank.revoke(key=bad[2].id) == [bad[2].id]
    assert bank.revoke(key="unknown") == []
    assert [e.id for e in bank.experiences()] == [CHECK.id]
    assert bank.import_jsonl(tmp_path / "all.jsonl") == 0, "a revoked experience is not imported"
    with pytest.raises(InvalidInputError, match="has been revoked"):
        bank.add(bad[0])
    assert len(bank) == 1
    with pytest.raises(InvalidInputError, match="Nothing is named"):
        bank.revoke()


def test_a_bank_opens_again_with_the_same_contents(bank: ExperienceBank) -> None:
    bank.add_all([CHECK, QUIZ])
    bank.record_use([CHECK.id], True)
    letters = Letters()
    again = ExperienceBank(bank.path, letters)
    assert letters.embedded == 0, "the file holds the vectors"
    assert again.experiences() == bank.experiences()
    assert again.get(CHECK.id).wins == 1
    recalled, expected = again.recall("quick jazz"), bank.recall("quick jazz")
    assert [r.experience for r in recalled] == [r.experience for r in expected]
    assert [r.score for r in recalled] == pytest.approx([r.score for r in expected], abs=1e-6)


def test_changes_of_another_process_are_visible(bank: ExperienceBank) -> None:
    other = ExperienceBank(bank.path, Letters())
    bank.add(CHECK)
    assert [r.experience for r in other.recall("check")] == [CHECK]
    other.add(make_experience("Check two sources?"))
    assert len(bank) == 1, "it replaced the experience of the first bank"
    other.add(QUIZ)
    assert len(bank) == 2
    bank.revoke(key=QUIZ.id)
    assert len(other) == 1


def test_a_bank_of_another_embedder_is_embedded_again_once(bank: ExperienceBank) -> None:
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


def test_an_export_can_be_imported_once(bank: ExperienceBank, tmp_path: Path) -> None:
    used = replace(CHECK, uses=3, wins=2)
    bank.add_all([used, QUIZ])
    assert bank.export_jsonl(tmp_path / "out.jsonl") == 2
    copy = ExperienceBank(":memory:", Letters())
    assert copy.import_jsonl(tmp_path / "out.jsonl") == 2
    assert copy.experiences() == [used, QUIZ]
    assert copy.import_jsonl(tmp_path / "out.jsonl") == 0
    (tmp_path / "bad.jsonl").write_text(
        json.dumps(make_experience("Zigzag").to_dict()) + '\n{"title": "x"}\n'
    )
    with pytest.raises(InvalidInputError, match="line 2: This is not an experience"):
        copy.import_jsonl(tmp_path / "bad.jsonl")
    assert len(copy) == 2


def test_a_failed_insert_changes_neither_index_nor_file(bank: ExperienceBank) -> None:
    bank.add(CHECK)
    with pytest.raises(InvalidInputError, match="is known"):
        bank.add_all([QUIZ, replace(QUIZ, title="Vex buzz kvm")])
    assert len(bank) == 1
    assert [r.experience for r in bank.recall("quick jazz")] == [CHECK]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": ""}, "The query is empty"),
        ({"k": 0}, "1 or more"),
        ({"alpha": 1.5}, "from 0 to 1"),
    ],
)
def test_bad_arguments_of_recall_are_refused(
    bank: ExperienceBank, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        bank.recall(**{"query": "x", **arguments})


def test_bad_entries_and_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="Pass some text"):
        make_experience(" ")
    with pytest.raises(InvalidInputError, match="3 wins in 2 uses"):
        make_experience("x", uses=2, wins=3)
    with pytest.raises(InvalidInputError, match=r"\(0, 1\]"):
        ExperienceBank(":memory:", Letters(), merge_threshold=0)
    (tmp_path / "text").write_text("no database, but long enough to be looked at by SQLite\n" * 20)
    with pytest.raises(ExperienceError, match="not a database"):
        ExperienceBank(tmp_path / "text", Letters())
    connection = sqlite3.connect(tmp_path / "new.db")
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(ExperienceError, match="Update tersely"):
        ExperienceBank(tmp_path / "new.db", Letters())


def test_an_import_restores_similar_and_unusual_experiences(bank: ExperienceBank, tmp_path: Path) -> None:
    similar = [make_experience("Check two sources"), make_experience("Check two sources!")]
    bank._add(similar, None, False)
    unusual = replace(QUIZ, content="First line\u2028second \ud800 line")
    bank.add(unusual)
    assert bank.export_jsonl(tmp_path / "out.jsonl") == 3
    copy = ExperienceBank(":memory:", Letters())
    assert copy.import_jsonl(tmp_path / "out.jsonl") == 3
    assert copy.experiences() == bank.experiences()


def test_nothing_from_a_revoked_run_can_be_added(bank: ExperienceBank, tmp_path: Path) -> None:
    other = ExperienceBank(":memory:", Letters())
    other.add_all([make_experience("Poison", origin=Origin(run="r1")), QUIZ])
    other.export_jsonl(tmp_path / "other.jsonl")
    assert bank.revoke(run="r1") == []
    assert bank.import_jsonl(tmp_path / "other.jsonl") == 1
    assert [e.title for e in bank.experiences()] == [QUIZ.title]
    with pytest.raises(InvalidInputError, match="'r1' has been revoked"):
        bank.add_all([CHECK, make_experience("Poison again", origin=Origin(run="r1"))])
    assert len(bank) == 1


def test_an_empty_bank_can_be_exported_and_imported(bank: ExperienceBank, tmp_path: Path) -> None:
    assert bank.export_jsonl(tmp_path / "none.jsonl") == 0
    assert bank.import_jsonl(tmp_path / "none.jsonl") == 0
