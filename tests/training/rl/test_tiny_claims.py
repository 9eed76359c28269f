"""Claims with a tiny policy, each run once with the smallest settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from training.rl.replications import evolving, evolving_steps, recon, supo, tiny, ziprl, ziprl_turns
from training.rl.replications.claim import Claim
from training.rl.settings import ColdStart, Updates
from training.rl.tiny import TinyConfig

POLICY = TinyConfig(layers=1, width=16, heads=2)
COLD_START = ColdStart(steps=1, tasks=2)
UPDATES = Updates(count=1, tasks=1, group=2, evaluation_tasks=2)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (supo, ziprl):
        monkeypatch.setattr(module, "_POLICY", POLICY)
        monkeypatch.setattr(module, "_COLD_START", COLD_START)
        monkeypatch.setattr(module, "NO_UPDATES", replace(UPDATES, count=0))
    monkeypatch.setattr(ziprl, "_PARTS_COLD_START", COLD_START)
    monkeypatch.setattr(ziprl_turns, "NO_UPDATES", replace(UPDATES, count=0))
    monkeypatch.setattr(supo, "_SLOW_UPDATES", UPDATES)
    monkeypatch.setattr(ziprl, "_UPDATES", UPDATES)
    monkeypatch.setattr(tiny, "TEST_TASKS", 8)
    monkeypatch.setattr(ziprl_turns, "TEST_TASKS", 6)
    trained = replace(ziprl_turns._TRAINED, policy=POLICY, cold_start=COLD_START, updates=UPDATES)
    for name in ("_TRAINED", "_FOR_TURNS"):
        monkeypatch.setattr(ziprl_turns, name, trained)
    for module in (evolving, evolving_steps):
        cold = replace(module._COLD, policy=POLICY, cold_start=COLD_START, updates=UPDATES)
        monkeypatch.setattr(module, "_COLD", cold)
        monkeypatch.setattr(module, "TEST_TASKS", 20)


@pytest.mark.parametrize(
    "claim",
    [
        *(supo.SUMMARY_TOKENS, ziprl.PARTS, evolving.TWO_BY_THREE, evolving.ZERO_VARIANCE),
        *(evolving_steps.PAIRING, evolving_steps.GROWTH, ziprl_turns.FIGURE3, ziprl_turns.TABLE13),
    ],
    ids=lambda claim: claim.name,
)
def test_claims_measure_what_they_predict(claim: Claim, tmp_path: Path) -> None:
    seed = tmp_path / claim.name / "seed-1"
    rows = [claim.run(arm, 1, seed / f"arm-{number}") for number, arm in enumerate(claim.arms)]
    wanted = {claim.initial, *(p.metric for p in claim.predictions)}
    assert all(wanted <= set(row) for row in rows)


def test_parts_of_the_quality_start_from_the_same_weights(tmp_path: Path) -> None:
    for seed, arm in ((1, "HRR, w = 0.2"), (2, "without Q_info")):
        ziprl.PARTS.run(arm, seed, tmp_path / f"seed-{seed}" / "arm")
    assert [path.name for path in tmp_path.rglob("cold_start*")] == ["cold_start.pt"]


@pytest.mark.parametrize(
    ("claim", "arm", "reward"),
    [
        # Tasks of 9, 11, 13, and so on to 23 cells: two summaries are enough for the first four.
        (supo.MORE_RESETS, "expert, S' = 2", 4 / 8),
        (supo.MORE_RESETS, "expert, S' = 4", 1.0),
        # Two of eight tasks have three hops, for which the narrow window has no room.
        (recon.SUMMARIES, "expert, raw, narrow", 6 / 8),
        (recon.SUMMARIES, "expert, summaries, narrow", 1.0),
    ],
)
def test_flawless_expert_fails_only_where_nothing_fits(
    claim: Claim, arm: str, reward: float, tmp_path: Path
) -> None:
    assert claim.run(arm, 1, tmp_path / "seed-1" / "arm-0")["reward"] == reward
