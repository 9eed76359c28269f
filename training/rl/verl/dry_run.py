"""A small version of a recipe: its agent, reading and algorithm with a random model of two layers."""

from __future__ import annotations

import copy
import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from trl import GRPOConfig

from training.rl.algorithms import ppo
from training.rl.cold_start import demonstrate
from training.rl.critic import Critic, read_logprobs, read_values
from training.rl.engines.random_model import make_model, make_tokenizer
from training.rl.engines.trl_trainer import TrajectoryTrainer
from training.rl.environments.archive import make_archive
from training.rl.language.generate import TransformersPolicy
from training.rl.loop import teach
from training.rl.rollout import run_episodes
from training.rl.settings import Updates
from training.rl.targets import Target
from training.rl.trajectory import Trajectory
from training.rl.verl.recipe import Recipe, make_algorithm, make_environment

REPLY, POSITIONS = 400, 16_000
"""Limits in tokens; a tokenizer of letters needs more of them."""


def take_step(recipe: Recipe) -> str:
    """Take one optimiser step with TRL on a group of two rollouts: one by the random model and one by the
    expert, so that their rewards differ. With PPO, the critic takes a step too. Returns a line that describes
    it.
    """
    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    model = make_model(tokenizer, positions=POSITIONS)
    learner = PpoTargets(model, recipe) if recipe.algorithm == "ppo" else None
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
            make_targets=learner or make_algorithm(recipe),
            keys=["dry run"],
            args=args,
            processing_class=tokenizer,
        )
        trainer.train()
    moved = sum(float((p - q).abs().sum()) for p, q in zip(model.parameters(), before, strict=True))
    ends = " and ".join(f"{t.outcome} (reward {t.reward:g}, {len(t.turns)} turns)" for t in seen)
    said = f"{recipe.paper}, {recipe.algorithm}: {ends}; the step moved the weights by {moved:.3g} in sum"
    return said if learner is None else f"{said}, and the critic's loss was {learner.teach():.3g}"


class PpoTargets:
    """Maker of PPO's targets with its critic, which TRL lacks."""

    def __init__(self, model: Any, recipe: Recipe) -> None:
        self._reference = copy.deepcopy(_Readable(model)).requires_grad_(False)
        self._critic = Critic(_Readable(model))
        self._optimizer = torch.optim.AdamW(self._critic.parameters(), lr=recipe.critic_learning_rate)
        self._kl, self._plan = recipe.kl, Updates(value_clip=recipe.value_clip)
        self._targets: list[Target] = []

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[Target]:
        values = read_values(self._critic, trajectories)
        references = read_logprobs(self._reference, trajectories)
        self._targets = ppo.make_targets(trajectories, values, references, kl=self._kl)
        return self._targets

    def teach(self) -> float:
        """Take one step of the critic on the last targets, and return its loss."""
        return teach(self._critic, self._targets, self._optimizer, self._plan)


class _Readable(nn.Module):
    """A causal model of transformers with the interface of the critic and the reference."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.config = SimpleNamespace(width=model.config.hidden_size)

    def forward(self, tokens: Tensor) -> Tensor:
        """Map (rows, length) token ids to (rows, length, vocabulary) logits."""
        return self.model(input_ids=tokens).logits

    def states(self, tokens: Tensor) -> Tensor:
        """Map (rows, length) token ids to (rows, length, width) states."""
        return self.model(input_ids=tokens, output_hidden_states=True).hidden_states[-1]
