"""The benchmark without a question: its measures, its controls, and that a run says what they gave."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from benchmarks.records import read_record
from benchmarks.without_question import __main__ as program
from benchmarks.without_question.cases import OpenCase, find_facts
from benchmarks.without_question.methods import OURS, WordDropper, rank_by_centrality
from benchmarks.without_question.report import OpenRun, render
from tersely import Document

REFERENCE = "The crane in Maren lifts 40 tonnes."


def test_facts_are_stems_neighbours_names_and_numbers() -> None:
    facts = find_facts(REFERENCE)
    assert facts.words == {"crane", "maren", "lift", "40", "tonn"}
    assert facts.pairs == {("crane", "maren"), ("maren", "lift"), ("lift", "40"), ("40", "tonn")}
    assert facts.named == {"maren", "40"}


def test_a_text_holds_a_share_of_what_a_summary_says() -> None:
    case = OpenCase("a", (), references=(REFERENCE,))
    assert case.measure(REFERENCE) == {"words": 1.0, "pairs": 1.0, "named": 1.0}
    assert case.measure("crane lifting in Maren") == {"words": 0.6, "pairs": 0.0, "named": 0.5}


def test_a_text_holds_a_share_of_the_answers_to_later_questions() -> None:
    case = OpenCase("a", (), questions=(("40 tonnes",), ("Lysö", "Maren")))
    assert case.measure("Maren.") == {"answers": 0.5}


def test_the_unit_that_resembles_most_others_is_the_most_central() -> None:
    texts = ["red lamp", "red reef", "red lamp reef", "old crane"]
    ranks = rank_by_centrality(texts)
    assert ranks[2] == max(ranks) == 1.0
    assert rank_by_centrality([]) == []


def test_the_dropper_keeps_the_rarest_words_in_order_within_the_budget() -> None:
    documents = [Document("the crane lifts the stone"), Document("the reef")]
    drop = WordDropper([document.text for document in documents], lambda text: len(text.split()))
    assert drop(documents, 4) == "crane lifts stone reef"
    assert drop(documents, 5) == "the crane lifts stone reef"


def test_a_run_has_a_row_for_every_method_and_measure(tmp_path: Path) -> None:
    rows = [
        {
            "id": str(number),
            "question": "Summarize.",
            "answers": [REFERENCE],
            "docs": [{"title": None, "text": f"{REFERENCE} NEWLINE_CHAR " + "It is there, somewhere. " * 30}],
        }
        for number in range(3)
    ]
    (tmp_path / "eval").mkdir()
    with gzip.open(tmp_path / "eval" / "longbench_multinews.jsonl.gz", "wt") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    out = tmp_path / "run.json"
    assert program.main(["--data", str(tmp_path), "--sets", "news", "--out", str(out)]) == 0
    run = read_record(out, OpenRun)
    assert run.cases == {"news": 3}
    ours = [row for row in run.rows if row.method == OURS]
    assert len(ours) == 3 * len(program.RATES)
    assert all(row.kept.value == pytest.approx(1.0) and row.lead is None for row in ours)
    assert all(row.tokens <= row.rate for row in run.rows)
    assert "| news 0.1 |" in render(run)
