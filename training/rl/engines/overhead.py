"""`python -m training.rl.engines.overhead --out FILE`: the cost of rollouts on top of generation.

SmolLM2-135M rolls out a search task in this process. Then the same contexts are given to the same backend
with the same random numbers, which measures generation alone. Both alternate in one process. The rate of
rollouts should reach 80 % of the rate of generation.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import torch

from tersely_agents.agent.recon import STOP
from training.rl.environments.archive import make_archive
from training.rl.environments.search import SearchEnvironment
from training.rl.language.chat import Chat
from training.rl.language.generate import TransformersPolicy
from training.rl.rollout import Generation, run_episodes


class _Recording:
    """A policy that records its contexts."""

    def __init__(self, policy: TransformersPolicy) -> None:
        self._policy = policy
        self.asked: list[dict[int, Sequence[int]]] = []
        self.written = 0

    def generate(self, contexts: Mapping[int, Sequence[int]]) -> dict[int, Generation]:
        self.asked.append({key: list(context) for key, context in contexts.items()})
        found = self._policy.generate(contexts)
        self.written += sum(len(generation.tokens) for generation in found.values())
        return found


def measure(model: Any, tokenizer: Any, *, rounds: int, rollouts: int, seed: int) -> list[dict[str, float]]:
    """Measure each round: seconds of the rollouts and of generation alone, and the tokens written."""
    questions, documents = make_archive(200, seed)
    environment = SearchEnvironment(
        questions, documents, Chat(tokenizer), k=3, max_reply=24, positions=512, max_turns=2
    )
    rows: list[dict[str, float]] = []
    for number in range(rounds):
        draw = random.Random(f"{seed} {number}")
        tasks = [environment.sample(draw, 1.0) for _ in range(rollouts // 4)] * 4
        recording = _Recording(_make_policy(model, tokenizer, number))
        started = time.perf_counter()
        run_episodes(recording, tasks)
        rolled_out = time.perf_counter()
        bare = _make_policy(model, tokenizer, number)
        for contexts in recording.asked:
            bare.generate(contexts)
        ended = time.perf_counter()
        rows.append(
            {"rollouts_s": rolled_out - started, "bare_s": ended - rolled_out, "written": recording.written}
        )
    return rows


def _make_policy(model: Any, tokenizer: Any, seed: int) -> TransformersPolicy:
    sampling = torch.Generator(model.device).manual_seed(seed)
    return TransformersPolicy(model, tokenizer, max_reply=24, stop_texts=STOP, random=sampling)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.rl.engines.overhead", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the JSON")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rollouts", type=int, default=8, help="of one round; a multiple of 4")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    from training.rl.engines.search_run import load_model  # needs TRL

    rows = measure(*load_model(), rounds=args.rounds, rollouts=args.rollouts, seed=args.seed)
    share = median(row["bare_s"] / row["rollouts_s"] for row in rows)
    print(f"{'rollouts s':>10} {'bare s':>8} {'tokens':>7} {'share':>6}")
    for row in rows:
        part = row["bare_s"] / row["rollouts_s"]
        print(f"{row['rollouts_s']:>10.2f} {row['bare_s']:>8.2f} {row['written']:>7} {part:>6.3f}")
    print(f"rollouts reach {share:.1%} of the bare generation rate (median)")
    facts = {
        "share": share,
        "rounds": rows,
        "rollouts": args.rollouts,
        "seed": args.seed,
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "threads": torch.get_num_threads(),
        "versions": {name: version(name) for name in ("torch", "transformers", "tokenizers")},
    }
    args.out.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
