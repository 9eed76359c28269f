"""Verdicts on claims, and the program that runs a claim and writes what it measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from training.rl import replicate
from training.rl.replications.claim import Claim, Metrics, Prediction, Row, compare, judge
from training.rl.replications.results import Results, read_results, render_claim, write_results

PREDICTION = Prediction("reward", "new", "old", margin=0.1)


def make_rows(new: list[float], old: list[float]) -> list[Row]:
    rows = [Row("new", seed, {"reward": value}, 1.0) for seed, value in enumerate(new)]
    return rows + [Row("old", seed, {"reward": value}, 1.0) for seed, value in enumerate(old)]


def spread(*values: float) -> list[float]:
    """Return ten seeds around the values."""
    return [value + 0.01 * number for number, value in enumerate([*values, *values])]


HALF = [0.5] * 10


@pytest.mark.parametrize(
    ("new", "old", "verdict"),
    [
        (spread(0.8, 0.9, 0.7, 0.8, 0.8), HALF, "replicated"),
        (spread(0.53, 0.54, 0.53, 0.54, 0.53), HALF, "null"),  # below the margin
        (spread(0.9, 0.1, 0.5, 0.9, 0.1), HALF, "null"),
        (spread(0.3, 0.2, 0.2, 0.3, 0.2), HALF, "reversed"),
        (spread(0.8, 0.9, 0.7, 0.8, 0.8)[:9], HALF, "too few seeds"),
        ([0.9], [0.5], "not measured"),
    ],
)
def test_verdict_follows_interval_and_sign_flips(new: list[float], old: list[float], verdict: str) -> None:
    assert judge(PREDICTION, make_rows(new, old)) == verdict


def test_compares_seeds_in_pairs() -> None:
    # Seeds differ far more than arms; within a seed the difference is always 0.2.
    found = compare(PREDICTION, make_rows([0.3, 0.6, 0.9], [0.1, 0.4, 0.7]))
    assert found is not None
    d = found.difference
    assert (d.value, d.low, d.high) == pytest.approx((0.2, 0.2, 0.2))
    assert found.p == 0.25  # 2 of the 8 ways to exchange the arms of three seeds


def test_p_by_hand() -> None:
    # Differences 3, 1, -1: of the 8 sums of +-3 +-1 +-1, six are at least 3 in size.
    found = compare(PREDICTION, make_rows([3.0, 1.0, 0.0], [0.0, 0.0, 1.0]))
    assert found is not None
    assert found.p == 0.75


def test_allowance_lets_a_small_loss_pass() -> None:
    # A loss of 0.02 in each seed: with an allowance of 0.03 the difference is 0.01.
    rows = make_rows([0.48] * 10, HALF)
    allowed = replace(PREDICTION, margin=0.0, allowance=0.03)
    found = compare(allowed, rows)
    assert found is not None
    assert found.difference.value == pytest.approx(0.01)
    assert judge(allowed, rows) == "replicated"
    assert judge(replace(allowed, allowance=0.01), rows) == "reversed"
    assert allowed.describe() == "`reward` + 0.03: new above old by at least 0"


def test_compares_deviations_over_seeds() -> None:
    prediction = Prediction("reward", "new", "old", margin=0.1, statistic="deviation")
    rows = make_rows([0.1, 0.5, 0.9, 0.1, 0.9] * 2, [0.5, 0.51, 0.49, 0.5, 0.5] * 2)
    found = compare(prediction, rows)
    assert found is not None
    assert found.difference.value == pytest.approx(0.3777 - 0.0067, abs=1e-3)
    assert judge(prediction, rows) == "replicated"


def test_no_seed_is_left_out() -> None:
    rows = make_rows([0.8, 0.9], [0.5, 0.5])
    rows += [Row("new", 2, {"reward": None}, 1.0), Row("old", 2, {"reward": 0.5}, 1.0)]
    assert compare(PREDICTION, rows) is None
    found = compare(replace(PREDICTION, missing=0.0), rows)
    assert found is not None
    assert found.difference.value == pytest.approx((0.3 + 0.4 - 0.5) / 3)


def test_what_a_control_shows_too_is_built_in() -> None:
    new = spread(0.8, 0.9, 0.7, 0.8, 0.8)
    rows = make_rows(new, HALF)
    rows += [Row("cold new", row.seed, row.metrics, 1.0) for row in rows if row.arm == "new"]
    rows += [Row("cold old", row.seed, row.metrics, 1.0) for row in rows if row.arm == "old"]
    shows, hides = ("cold new", "cold old"), ("cold old", "cold new")
    assert judge(replace(PREDICTION, controls=[hides, shows]), rows) == "built in"
    assert judge(replace(PREDICTION, controls=[hides]), rows) == "replicated"


@pytest.mark.parametrize(("start", "verdict"), [(0.3, "built in"), (0.05, "replicated")])
def test_what_cold_starts_differ_in_is_built_in(start: float, verdict: str) -> None:
    rows = [
        Row(arm, seed, {"reward": reward, "initial_reward": before}, 1.0)
        for seed in range(1, 11)
        for arm, reward, before in (("new", 0.8, 0.1 + start), ("old", 0.3, 0.1))
    ]
    assert judge(replace(PREDICTION, initial="initial_reward"), rows) == verdict


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
    assert (
        "| `reward`: new above old by at least 0.1 | +0.300 (+0.300 to +0.300) | 0.250 | too few seeds |"
        in text
    )
    assert "| new | 3 | 0.200 ± 0.000 | 0.820 ± 0.010 |" in text


def test_recorded_page_matches_recorded_results() -> None:
    assert replicate.DOCUMENT.read_text(encoding="utf-8") == replicate.render_document()


def test_every_claim_predicts_about_its_arms() -> None:
    for claim in replicate.CLAIMS.values():
        assert claim.seeds >= 10
        for prediction in claim.predictions:
            compared = [prediction, *prediction.list_controls()]
            assert {arm for p in compared for arm in (p.higher, p.lower)} <= set(claim.arms)
