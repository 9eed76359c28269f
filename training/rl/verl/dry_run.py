"""A recipe in small: its agent, its reading and its algorithm with a random model of two layers."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from trl import GRPOConfig

from training.rl.cold_start import demonstrate
from training.rl.engines.random_model import make_model, make_tokenizer
from training.rl.engines.trl_trainer import TrajectoryTrainer
from training.rl.environments.archive import make_archive
from training.rl.language.generate import TransformersPolicy
from training.rl.rollout import run_episodes
from training.rl.trajectory import Trajectory
from training.rl.verl.recipe import Recipe, make_algorithm, make_environment

REPLY, POSITIONS = 400, 16_000
"""Tokens; a tokenizer of letters needs more of them."""


def take_step(recipe: Recipe) -> str:
    """One optimiser step of TRL on a group of two rollouts: one by the random model, and one by the expert,
    so that their rewards differ. Returns what happened, in one line.

    Raises ValueError for PPO, which TRL does not have.
    """
    algorithm = make_algorithm(recipe)
    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    model = make_model(tokenizer, positions=POSITIONS)
    small = replace(recipe, context_tokens=POSITIONS, reply_tokens=REPLY, summarizer="", bank="")
    environment = make_environment(small, tokenizer, *make_archive(8, 0))
    seen: list[Trajectory] = []

    def roll_out(policy: Any, keys: Sequence[str], version: int) -> list[Trajectory]:
        task = environment.sample(random.Random(keys[0]), 1.0)
        sampler = TransformersPolicy(policy, tokenizer, max_reply=8, stop_texts=recipe.stop_texts)
        seen.extend(run_episodes(sampler, [task]))
        seen.append(demonstrate(environment, task, random.Random(0)))
        return seen

    before = [parameter.detach().clone() for parameter in model.parameters()]
    with tempfile.TemporaryDirectory() as folder:
        args = GRPOConfig(
            output_dir=folder,
            max_steps=1,
            per_device_train_batch_size=2,
            num_generations=2,
            learning_rate=1e-3,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        )
        trainer = TrajectoryTrainer(
            model,
            roll_out=roll_out,
            make_targets=algorithm,
            keys=["dry run"],
            args=args,
            processing_class=tokenizer,
        )
        trainer.train()
    moved = sum(float((p - q).abs().sum()) for p, q in zip(model.parameters(), before, strict=True))
    ends = " and ".join(f"{t.outcome} (reward {t.reward:g}, {len(t.turns)} turns)" for t in seen)
    return f"{recipe.paper}, {recipe.algorithm}: {ends}; the step moved the weights by {moved:.3g} in sum"
