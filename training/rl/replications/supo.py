"""SUPO's three claims, and CompactionRL's about the tokens of summaries, on the register machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from training.rl.replications.claim import Claim, Metrics, Prediction
from training.rl.replications.tiny import (
    NO_UPDATES,
    make_test_tasks,
    measure,
    measure_expert,
    read_initial,
    train_and_test,
    train_once,
)
from training.rl.settings import ColdStart, Settings, Updates
from training.rl.tiny import TinyConfig

_POLICY = TinyConfig(layers=2, width=64)
_COLD_START = ColdStart(steps=300, learning_rate=3e-3)


def _run_mask(arm: str, seed: int, folder: Path) -> Metrics:
    settings = Settings(
        seed=seed,
        environment={
            "name": "registers",
            "cells": (3, 16),
            "context": 40,
            "turns": 16,
            "waste": 0.5,
            "guess": 0.02,
        },
        policy=_POLICY,
        cold_start=_COLD_START,
        algorithm={"name": "supo", "mask_overlong": arm == "masked"},
        updates=Updates(count=80),
    )
    return train_and_test(settings, folder)


OVERLONG_MASK = Claim(
    name="supo-mask",
    paper="Without the overlong mask the summarisation rate falls and the success of rollouts that"
    " summarise collapses (SUPO, section 5.2.2).",
    setup="Registers of 3 to 16 cells, context 40, at most 16 turns and 4 summaries. The cold start wastes"
    " turns, so that most rollouts that summarise run out of turns at first; an early guess is right once in"
    " five times.",
    arms=("masked", "unmasked"),
    seeds=10,
    predictions=(
        Prediction("summarised", "masked", "unmasked", margin=0.1),
        Prediction("success_summarised", "masked", "unmasked", margin=0.1, missing=0.0),
        Prediction("reward", "masked", "unmasked", margin=0.05),
    ),
    initial="initial_reward",
    run=_run_mask,
)


def _run_window(arm: str, seed: int, folder: Path) -> Metrics:
    window = 256
    limits: dict[str, Any] = (
        {"context": window // 8, "resets": 7}
        if arm == "SUPO, L = W / 8"
        else {"context": window, "resets": 0}
    )
    settings = Settings(
        seed=seed,
        environment={"name": "registers", "cells": (3, 24), "turns": 48, **limits},
        policy=_POLICY,
        cold_start=_COLD_START,
        algorithm={"name": "supo"} if limits["resets"] else {"name": "grpo"},
        updates=Updates(count=60),
    )
    return train_and_test(settings, folder)


WINDOW = Claim(
    name="supo-window",
    paper="With a working context of 4K tokens SUPO succeeds more often than the baseline with 32K"
    " (CodeGym).",
    setup="Registers of 3 to 24 cells: SUPO with L = 32 and 7 summaries against GRPO with a window of 256 and"
    " none. Every task fits both.",
    arms=("SUPO, L = W / 8", "GRPO, W"),
    seeds=10,
    predictions=(Prediction("reward", "SUPO, L = W / 8", "GRPO, W", margin=0.02),),
    initial="initial_reward",
    run=_run_window,
)


def _run_resets(arm: str, seed: int, folder: Path) -> Metrics:
    *who, limit = arm.split(", ")
    trained = Settings(
        seed=seed,
        environment={"name": "registers", "cells": (3, 12), "context": 32, "resets": 2, "turns": 60},
        policy=_POLICY,
        cold_start=_COLD_START,
        algorithm={"name": "supo"},
        updates=NO_UPDATES if who == ["no RL"] else Updates(count=60),
    )
    resets = int(limit.removeprefix("S' = "))
    tested = Settings(
        seed=seed,
        environment={**trained.environment, "cells": (8, 24), "resets": resets},
        policy=trained.policy,
    )
    if who == ["expert"]:
        return measure_expert(tested)
    policy, run = train_once(trained, folder.parent / ("cold" if who else "trained"))
    return {**measure(tested, policy, make_test_tasks(tested)), **read_initial(run)}


_LIMITS = ("S' = 2", "S' = 4", "S' = 6")
_CONTROLS = ("no RL", "expert")

MORE_RESETS = Claim(
    name="supo-resets",
    paper="A policy trained with at most S summaries succeeds more often when it may write S' > S at"
    " test time (BrowseComp-Plus).",
    setup="Registers, context 32. Trained on 3 to 12 cells with S = 2; tested on 8 to 24 cells with"
    " S' = 2, 4, 6. The expert is scripted and flawless.",
    arms=(*_LIMITS, *(f"{who}, {limit}" for who in _CONTROLS for limit in _LIMITS)),
    seeds=10,
    predictions=tuple(
        Prediction(
            "reward",
            limit,
            "S' = 2",
            margin=margin,
            controls=[(f"{who}, {limit}", f"{who}, S' = 2") for who in _CONTROLS],
        )
        for limit, margin in (("S' = 6", 0.1), ("S' = 4", 0.05))
    ),
    initial="initial_reward",
    run=_run_resets,
    remarks="The control without reinforcement learning, which is the cold start, was added after five"
    " seeds, and the expert after ten. The expert fails at S' = 2 because the longer tasks do not fit two"
    " summaries.",
)

_SLOW_UPDATES = Updates(count=30, learning_rate=3e-4, evaluate_every=30)


def _run_summary_tokens(arm: str, seed: int, folder: Path) -> Metrics:
    settings = Settings(
        seed=seed,
        environment={"name": "registers", "cells": (3, 12), "context": 32, "resets": 4, "turns": 40},
        policy=_POLICY,
        cold_start=_COLD_START,
        algorithm={"name": "supo", "reward_summaries": arm == "rewarded"},
        updates=NO_UPDATES if arm == "no RL" else _SLOW_UPDATES,
    )
    return train_and_test(settings, folder)


SUMMARY_TOKENS = Claim(
    name="compaction-summary-tokens",
    paper="The reward has to flow into the tokens of summaries: without them in the loss, the summaries"
    " degenerate (CompactionRL, arXiv 2607.05378).",
    setup="Registers of 3 to 12 cells, context 32, at most 4 summaries and 40 turns. 30 updates of SUPO at"
    " 3e-4, with the tokens of summaries or without them. The arms of a seed share their cold start."
    " `quality` is the share of summaries with the right total.",
    arms=("rewarded", "masked out", "no RL"),
    seeds=10,
    predictions=(
        Prediction("quality", "rewarded", "masked out", margin=0.05, missing=0.0),
        Prediction("reward", "rewarded", "masked out", margin=0.05),
        Prediction("quality", "no RL", "masked out", margin=0.05, missing=0.0),
    ),
    initial="initial_reward",
    run=_run_summary_tokens,
    remarks="The cold start already writes 89 % of the totals right, and its imitation is not undone in 30"
    " updates: without the tokens of summaries they keep their quality here.",
)
