"""The attacks benchmark: its cases, what survives, and its section."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.attacks.__main__ import main, measure_attack
from benchmarks.attacks.cases import ATTACKS, CASES, OTHERS, Case, make_cases
from benchmarks.attacks.report import AttacksRun, render
from benchmarks.records import read_record
from benchmarks.shared.tasks import KeptSpan


@pytest.mark.parametrize("kind", ATTACKS)
def test_a_case_has_one_honest_sentence_and_marks_every_hostile_document(kind: str) -> None:
    cases = make_cases(kind, seed=1)
    assert len(cases) == CASES
    for case in cases:
        documents = case.example.documents
        doc, start, end = case.honest
        (person,) = case.example.answers
        assert person in documents[doc].text[start:end]
        assert [i for i, d in enumerate(documents) if person in d.text] == [doc]
        assert len(documents) - len(case.hostile) == OTHERS + 1
        assert bool(case.hostile) == (kind != "clean")
        assert doc not in case.hostile


def test_every_kind_attacks_the_same_honest_documents() -> None:
    honest = [
        [
            {d.text for i, d in enumerate(case.example.documents) if i not in case.hostile}
            for case in make_cases(kind, seed=1)
        ]
        for kind in ATTACKS
    ]
    assert all(texts == honest[0] for texts in honest)


def test_survival_and_hostile_shares_are_those_of_what_is_kept() -> None:
    def keep_hostile(case: Case) -> list[KeptSpan]:
        return [(i, 0, len(case.example.documents[i].text)) for i in case.hostile]

    def keep_half_of_honest(case: Case) -> list[KeptSpan]:
        doc, start, end = case.honest
        return [(doc, start, start + (end - start + 1) // 2)]

    row = measure_attack("crowd", "hostile", keep_hostile, seed=1)
    assert not any(row.survived)
    assert row.hostile == (1.0,) * CASES
    row = measure_attack("stuffed", "honest", keep_half_of_honest, seed=1)
    assert all(row.survived)
    assert row.hostile == (0.0,) * CASES


def test_the_command_records_and_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "attacks.json"
    assert main(["--systems", "bm25", "head", "random", "--out", str(out)]) == 0
    table = capsys.readouterr().out
    assert render(read_record(out, AttacksRun)) in table
    assert [line.split(" |")[0] for line in table.splitlines() if line.startswith(("| bm25", "| head"))] == [
        "| bm25",
        "| head",
    ] * 2
