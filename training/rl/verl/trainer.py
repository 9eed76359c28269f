"""A verl trainer with the advantages of our algorithms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transfer_queue as tq
from tensordict import TensorDict
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.workers.utils.padding import response_to_nested

from training.rl.verl.advantages import compute_advantages, read_trajectories
from training.rl.verl.recipe import Recipe, make_algorithm
from training.settings import read_settings

FIELDS = ["response_mask", "rm_scores", "extra_fields"]


@register_trainer("tersely")
class TerselyTrainer(PPOTrainerSync):
    """verl's synchronous trainer. Its advantages are computed first, with the KL and the corrections for the
    sampler, and then replaced."""

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        batch = super()._compute_advantage(batch, metrics)
        recipe = read_settings(Recipe, Path(self.config.trainer.tersely_recipe))
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=FIELDS)
        advantages = read_advantages(batch.keys, data, make_algorithm(recipe))
        nested = response_to_nested(advantages, data["response_mask"])
        output = TensorDict({"advantages": nested, "returns": nested}, batch_size=len(batch))
        return tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=output)


def read_advantages(keys: list[str], data: TensorDict, make_targets: Any) -> torch.Tensor:
    """Return (rows, tokens) advantages of verl's batch, which has nested tensors."""
    masks = list(data["response_mask"].unbind())
    rewards = [float(row.sum()) for row in data["rm_scores"].unbind()]
    facts = [dict(entry) for entry in data["extra_fields"]]
    trajectories = read_trajectories(keys, [len(mask) for mask in masks], rewards, facts)
    padded = torch.nn.utils.rnn.pad_sequence(masks, batch_first=True).float()
    return compute_advantages(make_targets, trajectories, padded)
