"""TRL's GRPOTrainer with our rollouts and targets: one subclass for GRPO, HRR and SUPO.

TRL handles the optimiser, LoRA, checkpoints and processes. The algorithms differ only in
`training.rl.algorithms`: an advantage and a weight for each token. TRL's loss "dapo" is the sum of clipped
gains over a constant; with the weights multiplied into the advantages and the constant 1, it is
`training.rl.losses.surrogate_loss`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from datasets import Dataset
from peft import PeftModel
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from trl import GRPOConfig, GRPOTrainer

from training.rl.targets import Target
from training.rl.trajectory import Trajectory

RollOut = Callable[[Any, Sequence[str], int], Sequence[Trajectory]]
"""A function that makes a trajectory for each key of a task, from the model, the keys and the number of
updates so far."""
MakeTargets = Callable[[Sequence[Trajectory]], Sequence[Target]]


class TrajectoryTrainer(GRPOTrainer):
    """A trainer that updates a policy with targets of its own trajectories.

    Args:
        model: a causal language model, or a peft model of one. roll_out: makes the trajectories. Each key is
        repeated `args.num_generations` times. make_targets: an algorithm of `training.rl.algorithms`, with
        its settings. keys: names of tasks, in the order of training. watch: receives the trajectories of each
        update. kl: weight of the KL to the model as it is now, or to the base model of an adapter (beta in
        ZipRL's equation 5). args: with loss_type "dapo" (TRL's default) and beta 0, because the weights of
        targets do not apply to TRL's KL.

    Raises ValueError for other `args`.
    """

    def __init__(
        self,
        model: Any,
        *,
        roll_out: RollOut,
        make_targets: MakeTargets,
        keys: Sequence[str],
        args: GRPOConfig,
        kl: float = 0.0,
        watch: Callable[[Sequence[Trajectory]], None] = lambda trajectories: None,
        **options: Any,
    ) -> None:
        if args.loss_type != "dapo" or args.beta != 0 or args.importance_sampling_level != "token":
            raise ValueError("The weights of targets need loss_type 'dapo', beta 0 and token-level ratios.")
        args.shuffle_dataset = False
        self._roll_out, self._make_targets, self._watch = roll_out, make_targets, watch
        self._kl = kl
        self._reference = None if isinstance(model, PeftModel) or not kl else copy.deepcopy(model).eval()
        dataset = Dataset.from_dict({"prompt": list(keys)})
        super().__init__(model, _no_reward, args=args, train_dataset=dataset, **options)
        if self._reference is not None:
            self._reference.requires_grad_(False).to(self.accelerator.device)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Tensor]:
        keys = [row["prompt"] for row in inputs]
        policy = self.accelerator.unwrap_model(self.model)
        trajectories = self._roll_out(policy, keys, self.state.global_step)
        self._watch(trajectories)
        rewards = [trajectory.reward for trajectory in trajectories]
        self._metrics["train"]["reward"].append(sum(rewards) / len(rewards))
        targets = list(self._make_targets(trajectories))
        batch = make_batch(targets, self._count_rows(len(targets)), self.processing_class.eos_token_id)
        # TRL divides the loss by this number per optimiser step and process, so it divides by 1.
        steps = self.args.steps_per_generation / self.args.gradient_accumulation_steps
        batch["num_items_in_batch"] = torch.tensor(steps * self.accelerator.num_processes)
        batch = {name: tensor.to(self.accelerator.device) for name, tensor in batch.items()}
        if self._kl:
            batch["reference"] = self._read_reference(policy, batch)
        return batch

    @torch.no_grad()
    def _read_reference(self, policy: Any, batch: dict[str, Tensor]) -> Tensor:
        """Return the log-probabilities of the completions under the reference."""
        tokens = torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1)
        mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1)
        length = batch["completion_ids"].shape[1]
        with policy.disable_adapter() if self._reference is None else nullcontext():
            rows = [
                self._get_per_token_logps_and_entropies(
                    self._reference or policy, tokens[row : row + 1], mask[row : row + 1], length
                )[0]
                for row in range(len(tokens))
            ]
        return torch.cat(rows)

    def _compute_loss(self, model: Any, inputs: dict[str, Tensor]) -> Tensor:
        inputs = trim(inputs)
        loss = super()._compute_loss(model, inputs)
        if not self._kl:
            return loss
        gap = inputs["reference"] - self._logprobs
        divergence = (inputs["weights"] * inputs["tool_mask"] * (gap.exp() - gap - 1)).sum()
        parts = inputs["num_items_in_batch"] / self.accelerator.num_processes
        return loss + self._kl * divergence / parts

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Tensor, attention_mask: Tensor, logits_to_keep: int, **options: Any
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Compute them like TRL, but on a CPU without the output layer for the tokens of prompts: it is the
        largest matrix of a small model. The log-probabilities are kept for the KL."""
        if input_ids.device.type != "cpu":
            found = super()._get_per_token_logps_and_entropies(
                model, input_ids, attention_mask, logits_to_keep, **options
            )
            self._logprobs = found[0]
            return found
        output = model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            logits_to_keep=logits_to_keep + 1,
            use_cache=False,
        )
        chances = (output.logits[:, :-1].float() / self.temperature).log_softmax(-1)
        written = input_ids[:, -logits_to_keep:, None]
        with torch.no_grad():
            entropies = -(chances.exp() * chances).sum(-1)
        self._logprobs = chances.gather(-1, written)[..., 0]
        return self._logprobs, entropies, None

    def _count_rows(self, targets: int) -> int:
        """Return the number of rows: the same in each process, and a multiple of the micro-batches, because
        TRL drops the rest."""
        own = torch.tensor([targets], device=self.accelerator.device)
        most, parts = int(self.accelerator.gather(own).max()), self.args.steps_per_generation
        return max(1, -(-most // parts)) * parts


def make_batch(targets: Sequence[Target], rows: int, filler: int) -> dict[str, Tensor]:
    """Make TRL's tensors from targets: prompts padded on the left, completions padded on the right. Rows
    beyond the targets have an empty mask.

    The prompt of a segment ends where its first turn begins. `advantages` are those of the targets times
    their weights, which are also in `weights`; `old_per_token_logps` are those of the policy when it wrote
    the tokens.
    """
    parts = [_split(target) for target in targets]
    nothing = {
        "prompt_ids": torch.tensor([filler]),
        "completion_ids": torch.tensor([filler]),
        "tool_mask": torch.tensor([0]),
        "advantages": torch.tensor([0.0]),
        "old_per_token_logps": torch.tensor([0.0]),
        "weights": torch.tensor([0.0]),
    }
    parts += [nothing] * (rows - len(parts))
    columns = {name: [part[name] for part in parts] for name in nothing}
    prompts = columns.pop("prompt_ids")
    batch = {
        name: pad_sequence(values, batch_first=True, padding_value=filler if name == "completion_ids" else 0)
        for name, values in columns.items()
    }
    batch["prompt_ids"] = pad_sequence(prompts, True, filler, padding_side="left")
    batch["prompt_mask"] = pad_sequence([torch.ones_like(p) for p in prompts], True, 0, padding_side="left")
    lengths = [torch.ones_like(values) for values in columns["completion_ids"]]
    batch["completion_mask"] = pad_sequence(lengths, batch_first=True)
    return batch


def trim(batch: dict[str, Tensor]) -> dict[str, Tensor]:
    """Remove the columns of a batch that are padding in all rows."""
    before = int(batch["prompt_mask"].any(0).long().argmax())
    after = int(batch["completion_mask"].any(0).sum())
    cut = {name: batch[name][:, before:] for name in ("prompt_ids", "prompt_mask")}
    kept = ("completion_ids", "completion_mask", "tool_mask", "advantages", "old_per_token_logps")
    more = [name for name in ("weights", "reference") if name in batch]
    return {**batch, **cut, **{name: batch[name][:, :after] for name in (*kept, *more)}}


def _split(target: Target) -> dict[str, Tensor]:
    """Return the tensors of one segment, cut where its first turn begins."""
    segment = target.segment
    start, end = segment.turns[0].start, segment.turns[-1].end
    gains = [a * w for a, w in zip(target.advantages, target.weights, strict=True)]
    return {
        "prompt_ids": torch.tensor(segment.tokens[:start]),
        "completion_ids": torch.tensor(segment.tokens[start:end]),
        "tool_mask": torch.tensor(segment.mask[start:end], dtype=torch.long),
        "advantages": torch.tensor(gains[start:end]),
        "old_per_token_logps": torch.tensor(segment.logprobs[start:end]),
        "weights": torch.tensor(target.weights[start:end]),
    }


def _no_reward(**_: Any) -> list[float]:
    raise AssertionError("trajectories bring their own rewards")
