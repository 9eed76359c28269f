"""Benchmarks on made or collected cases: attacks, tool results, texts without a question."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.attacks import __main__ as attacks
from benchmarks.attacks import cases
from benchmarks.attacks.__main__ import make_row, measure_attack
from benchmarks.attacks.cases import ATTACKS, CASES, OTHERS, STRUCTURES, Case, make_cases
from benchmarks.quality.controls import HeadScorer, RandomScorer
from benchmarks.shared.tasks import KeptSpan
from benchmarks.table import Record
from benchmarks.tool_results import __main__ as tool_results
from benchmarks.tool_results.kinds import KINDS, make_case
from benchmarks.without_question import __main__ as without_question
from benchmarks.without_question.cases import OpenCase, find_content
from benchmarks.without_question.methods import OURS
from tests.benchmarks.towns import write_rows


@pytest.mark.parametrize("kind", [*ATTACKS, *STRUCTURES])
def test_cases_have_one_honest_sentence(kind: str) -> None:
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


def test_rows_hold_what_is_kept_of_each_case() -> None:
    def keep_hostile(case: Case) -> list[KeptSpan]:
        return [(i, 0, len(case.example.documents[i].text)) for i in case.hostile]

    def keep_half_of_honest(case: Case) -> list[KeptSpan]:
        doc, start, end = case.honest
        return [(doc, start, start + (end - start + 1) // 2)]

    row = make_row("hostile", "crowd", measure_attack("crowd", "hostile", keep_hostile, seed=1))
    assert row["honest sentence kept"] == (0.0,) * CASES
    assert row["hostile text kept"] == (1.0,) * CASES
    row = make_row("honest", "stuffed", measure_attack("stuffed", "honest", keep_half_of_honest, seed=1))
    assert row["honest sentence kept"] == (1.0,) * CASES
    assert row["hostile text kept"] == (0.0,) * CASES


def test_a_run_has_a_row_for_each_system_and_attack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    controls = {"head": HeadScorer(), "random": RandomScorer(13)}  # they need no weights
    monkeypatch.setattr(attacks, "make_controls", lambda *_: controls)
    monkeypatch.setattr(cases, "CASES", 3)
    monkeypatch.setattr(attacks, "find_spec", lambda _: None)
    monkeypatch.setattr(attacks, "find_python", lambda: tmp_path / "absent")
    out = tmp_path / "attacks.json"
    assert attacks.main(["--out", str(out)]) == 0
    systems = ("tersely", "head", "random")
    for table, kinds in zip(Record.read(out).tables, (ATTACKS, STRUCTURES), strict=True):
        rows = [(row["system"], row["attack"]) for row in table.rows]
        assert rows == [(system, kind) for system in systems for kind in kinds]


@pytest.mark.parametrize("kind", KINDS)
def test_whole_cases_answer_their_question_truly(kind: str) -> None:
    case = make_case(kind, 1)
    assert case.is_answered(case.text)
    assert not case.is_false(case.text)
    assert not case.is_answered("")
    assert case.parses is None or case.parses(case.text)


def test_a_value_after_the_name_of_another_is_false() -> None:
    case = make_case("CSV", 2)
    (first, _), (second, value) = list(case.values.items())[:2]
    assert case.is_false(f"{first},{value}")
    assert not case.is_false(f"{first},\n[… 3 more]\n{value}")
    assert not case.is_false(f"{first} {second},{value}")


def test_tersely_answers_within_every_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_results, "KINDS", ("CSV", "JSON lines"))
    out = tmp_path / "tool_results.json"
    assert tool_results.main(["--limit", "1", "--out", str(out)]) == 0
    record = Record.read(out)
    rows = record.find("Each kind").select(method="tersely")
    assert [row["rate"] for row in rows] == ["2%", "2%", "5%", "5%", "20%", "20%"]
    assert all((row["answered"], row["false"], row["parses"]) == (1, 0, 1) for row in rows)
    assert all(row["tokens kept"] <= float(row["rate"].strip("%")) / 100 for row in rows)
    joined = record.find("All kinds together").find(rate="2%", method="tersely")
    assert joined["answered"].value == 1.0


REFERENCE = "The crane in Maren lifts 40 tonnes."


def test_content_is_stems_neighbours_names_and_numbers() -> None:
    content = find_content(REFERENCE)
    assert content.words == {"crane", "maren", "lift", "40", "tonn"}
    assert content.pairs == {("crane", "maren"), ("maren", "lift"), ("lift", "40"), ("40", "tonn")}
    assert content.named == {"maren", "40"}


def test_a_text_holds_a_share_of_what_a_summary_says() -> None:
    case = OpenCase("a", (), references=(REFERENCE,))
    assert case.measure(REFERENCE) == {"words": 1.0, "pairs": 1.0, "named": 1.0}
    assert case.measure("crane lifting in Maren") == {"words": 0.6, "pairs": 0.0, "named": 0.5}


def test_a_text_holds_a_share_of_the_answers_to_later_questions() -> None:
    case = OpenCase("a", (), questions=(("40 tonnes",), ("Lysö", "Maren")))
    assert case.measure("Maren.") == {"answers": 0.5}


def test_a_run_has_rows_for_every_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{REFERENCE} NEWLINE_CHAR " + "It is there, somewhere. " * 30
    row = {"question": "Summarize.", "answers": [REFERENCE], "docs": [{"title": None, "text": text}]}
    rows = [{"id": str(number), **row} for number in range(3)]
    write_rows(tmp_path / "eval" / "longbench_multinews.jsonl.gz", rows)
    out = tmp_path / "run.json"
    monkeypatch.setattr(without_question, "SIZES", {"news": 3})
    assert without_question.main(["--data", str(tmp_path), "--out", str(out)]) == 0
    record = Record.read(out)
    assert record.settings == {"Multi-News, reference summaries": 3}
    table = record.find("What is kept")
    assert all(row["tokens kept"] <= row["rate"] for row in table.rows)
    for counted in ("words of the summaries", "names and numbers of the summaries"):
        ours = table.select(of=counted, method=OURS)
        assert [row["rate"] for row in ours] == list(without_question.RATES)
        assert all(row["kept"].value == pytest.approx(1.0) and row["tersely's lead"] is None for row in ours)
