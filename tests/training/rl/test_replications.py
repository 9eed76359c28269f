"""Verdicts on claims, and the program that runs a claim and writes what it measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.rl import replicate
from training.rl.replications.claim import Claim, Metrics, Prediction, Row, compare, judge
from training.rl.replications.results import Results, read_results, render_claim, write_results

PREDICTION = Prediction("reward", "new", "old", margin=0.1)


def make_rows(new: list[float], old: list[float]) -> list[Row]:
    rows = [Row("new", seed, {"reward": value}, 1.0) for seed, value in enumerate(new)]
    return rows + [Row("old", seed, {"reward": value}, 1.0) for seed, value in enumerate(old)]


@pytest.mark.parametrize(
    ("new", "old", "verdict"),
    [
        ([0.8, 0.9, 0.7], [0.5, 0.5, 0.5], "replicated"),
        ([0.55, 0.56, 0.54], [0.5, 0.5, 0.5], "null"),
        ([0.9, 0.1, 0.5], [0.5, 0.5, 0.5], "null"),
        ([0.3, 0.4, 0.2], [0.5, 0.5, 0.5], "reversed"),
        ([0.9], [0.5], "not measured"),
    ],
)
def test_verdict_follows_the_interval(new: list[float], old: list[float], verdict: str) -> None:
    assert judge(PREDICTION, compare(PREDICTION, make_rows(new, old))) == verdict


def test_compares_seeds_in_pairs() -> None:
    # Seeds differ far more than arms; within a seed the difference is always 0.2.
    difference = compare(PREDICTION, make_rows([0.3, 0.6, 0.9], [0.1, 0.4, 0.7]))
    assert difference is not None
    assert (difference.value, difference.low, difference.high) == pytest.approx((0.2, 0.2, 0.2))


def test_compares_deviations_over_seeds() -> None:
    prediction = Prediction("reward", "new", "old", margin=0.1, statistic="deviation")
    difference = compare(prediction, make_rows([0.1, 0.5, 0.9, 0.1, 0.9], [0.5, 0.5, 0.5, 0.5, 0.5]))
    assert difference is not None
    assert difference.value == pytest.approx(0.4)
    assert judge(prediction, difference) == "replicated"


def test_ignores_missing_metrics() -> None:
    rows = [*make_rows([0.8, 0.9], [0.5, 0.5]), Row("new", 2, {"reward": None}, 1.0)]
    rows.append(Row("old", 2, {"reward": 0.5}, 1.0))
    difference = compare(PREDICTION, rows)
    assert difference is not None
    assert difference.value == pytest.approx(0.35)


def run_fake(arm: str, seed: int, folder: Path) -> Metrics:
    folder.mkdir(parents=True)
    return {"reward": 0.5 + 0.3 * (arm == "new") + seed / 100, "initial": 0.2}


def test_claim_is_run_once_and_written_down(tmp_path: Path) -> None:
    claim = Claim(
        "fake", "It helps.", "Here it is tried.", ("new", "old"), 3, (PREDICTION,), "initial", run_fake
    )
    first = Results()
    for rows in replicate.run_missing(claim, Results(), tmp_path, seeds=2):
        first.rows += rows
    assert [(row.arm, row.seed) for row in first.rows] == [("new", 1), ("old", 1), ("new", 2), ("old", 2)]
    write_results(claim, first, tmp_path)
    second = read_results(claim, tmp_path)
    # A run that is done would fail: its folder is there.
    (added,) = replicate.run_missing(claim, second, tmp_path, seeds=3)
    second.rows += added
    text = render_claim(claim, second)
    assert "| `reward`: new above old by at least 0.1 | +0.300 (+0.300 to +0.300) | replicated |" in text
    assert "| new | 3 | 0.200 ± 0.000 | 0.820 ± 0.010 |" in text


def test_recorded_page_matches_recorded_results() -> None:
    assert replicate.DOCUMENT.read_text(encoding="utf-8") == replicate.render_document()


def test_every_claim_predicts_about_its_arms() -> None:
    for claim in replicate.CLAIMS.values():
        assert claim.seeds >= 5
        for prediction in claim.predictions:
            assert {prediction.higher, prediction.lower} <= set(claim.arms)
