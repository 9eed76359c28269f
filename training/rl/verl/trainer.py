"""verl's synchronous trainer with our algorithms and the experience bank."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
import transfer_queue as tq
from tensordict import TensorDict
from verl.trainer.ppo.v1.trainer_base import TRAINER_REGISTRY
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.workers.utils.padding import response_to_nested

from training.rl.experience.evolution import Evolution
from training.rl.recipes import Recipe, make_algorithm, make_evolution
from training.rl.trajectory import Trajectory
from training.rl.verl.advantages import compute_advantages, read_trajectories
from training.settings import read_settings

FIELDS = ["response_mask", "rm_scores", "extra_fields"]


class TerselyTrainer(PPOTrainerSync):
    """verl's synchronous trainer. With PPO its advantages stay; those of other algorithms are computed first,
    with the KL and the corrections for the sampler, and then replaced. A bank with an extractor learns from
    the same rollouts, and is published after the policy's update, before the next rollouts.

    It takes the name "sync", because verl compares the trainer's name with it: under another name it would
    take the replay buffer of its asynchronous trainers and fetch one prompt at a time.
    """

    @cached_property
    def recipe(self) -> Recipe:
        return read_settings(Recipe, Path(self.config.trainer.tersely_recipe))

    def on_init_end(self) -> None:
        """Open the bank, at the edition of the checkpoint: each step publishes one."""
        super().on_init_end()
        self.evolution: Evolution | None = None
        if self.recipe.extractor:
            self.evolution = make_evolution(self.recipe, lambda trajectory: trajectory.facts["messages"])
            edition = min(self.evolution.edition, self.global_steps)
            self.evolution.load_state_dict({"edition": edition})

    def on_step_end(self) -> None:
        super().on_step_end()
        if self.evolution:
            self.evolution.publish()

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        batch = super()._compute_advantage(batch, metrics)
        if self.recipe.algorithm == "ppo":
            return batch
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=FIELDS)
        # verl fills a batch up with copies of a row, until it can be divided among GPUs and mini-batches.
        rows = [row for row, tag in enumerate(batch.tags) if not tag.get("is_padding", False)]
        trajectories, mask = read_batch(batch.keys, data, rows), read_mask(data)
        if self.evolution:
            self.evolution.learn(trajectories)
        advantages = torch.zeros_like(mask)
        advantages[rows] = compute_advantages(make_algorithm(self.recipe), trajectories, mask[rows])
        nested = response_to_nested(advantages, data["response_mask"])
        output = TensorDict({"advantages": nested, "returns": nested}, batch_size=len(batch))
        return tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=output)


TRAINER_REGISTRY["sync"] = TerselyTrainer  # register_trainer refuses a name that is taken


def read_batch(keys: Sequence[str], data: TensorDict, rows: Sequence[int]) -> list[Trajectory]:
    """Read the trajectories in these rows of verl's batch, which has nested tensors."""
    masks, scores, facts = (data[name] for name in FIELDS)
    masks, scores = masks.unbind(), scores.unbind()
    return read_trajectories(
        [keys[row] for row in rows],
        [len(masks[row]) for row in rows],
        [float(scores[row].sum()) for row in rows],
        [dict(facts[row]) for row in rows],
    )


def read_mask(data: TensorDict) -> torch.Tensor:
    """Return the padded (rows, tokens) mask of the tokens that the policy wrote."""
    masks = list(data["response_mask"].unbind())
    return torch.nn.utils.rnn.pad_sequence(masks, batch_first=True).float()
