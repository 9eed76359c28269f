"""The cold start of a language model: supervised training on the replies in good trajectories.

A trajectory is cut like a rollout: each segment is one example. With the strategy "summary" each turn is a
segment, as in ZipRL (appendix A). If a context grows, its turns share an example with the loss of all of
them.

Masking: the loss covers the tokens that the expert or the policy wrote, including the token that ends a
message. Prompts and the text of tools and the agent are not learned. The papers do not say whether
observations are masked; they are masked in reinforcement learning, and so also here.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import Trainer, TrainingArguments

from training.rl.cold_start import demonstrate
from training.rl.episode import Environment
from training.rl.trajectory import Segment, Trajectory

IGNORED = -100
"""Label of a token that is not learned."""


def collect_demonstrations(
    environment: Environment, count: int, draw: random.Random, *, flawed: bool
) -> list[Trajectory]:
    """Collect rollouts of the environment's expert on tasks of all difficulties."""
    tasks = [environment.sample(draw, draw.random()) for _ in range(count)]
    return [demonstrate(environment, task, draw, flawed=flawed) for task in tasks]


def keep_good(trajectories: Sequence[Trajectory], threshold: float = 1.0) -> list[Trajectory]:
    """Keep the trajectories with an answer and a reward of at least the threshold (ZipRL, appendix A: correct
    and well-formed)."""
    return [t for t in trajectories if t.outcome == "answered" and t.reward >= threshold]


def make_example(segment: Segment) -> dict[str, list[int]]:
    """Return token ids, and labels: the id of a token that the policy wrote, else `IGNORED`."""
    labels = [token if own else IGNORED for token, own in zip(segment.tokens, segment.mask, strict=True)]
    return {"input_ids": list(segment.tokens), "labels": labels}


def imitate(
    model: Any,
    trajectories: Sequence[Trajectory],
    folder: Path,
    *,
    epochs: float = 1.0,
    batch: int = 8,
    learning_rate: float = 1e-4,
    seed: int = 0,
    show: bool = False,
) -> float:
    """Train `model` on the segments of the trajectories. Returns the mean loss in nats per token."""
    examples = [make_example(segment) for t in trajectories for segment in t.segments]
    on_cpu = not torch.cuda.is_available()
    args = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=epochs,
        per_device_train_batch_size=batch,
        learning_rate=learning_rate,
        warmup_steps=0.05,
        weight_decay=0.0,
        seed=seed,
        use_cpu=on_cpu,
        bf16=not on_cpu,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=not show,
        remove_unused_columns=False,
    )
    trainer = Trainer(model, args, train_dataset=examples, data_collator=_collate)
    return trainer.train().training_loss


def _collate(examples: Sequence[dict[str, list[int]]]) -> dict[str, Tensor]:
    """Pad on the right; the padding token does not matter, because its mask is 0."""
    tokens = [torch.tensor(example["input_ids"]) for example in examples]
    labels = [torch.tensor(example["labels"]) for example in examples]
    return {
        "input_ids": pad_sequence(tokens, batch_first=True),
        "labels": pad_sequence(labels, batch_first=True, padding_value=IGNORED),
        "attention_mask": pad_sequence([torch.ones_like(t) for t in tokens], batch_first=True),
    }
