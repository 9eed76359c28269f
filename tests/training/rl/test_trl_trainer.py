"""One step of TRL for each algorithm, with a random model of two layers: its advantages and loss are ours."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from trl.trainer.grpo_config import GRPOConfig

from training.rl.algorithms import grpo, hrr, supo
from training.rl.engines.random_model import make_model, make_tokenizer
from training.rl.engines.trl_trainer import TrajectoryTrainer, make_batch, trim
from training.rl.losses import surrogate_loss
from training.rl.targets import Target
from training.rl.trajectory import Outcome, Segment, Trajectory, Turn

pytestmark = pytest.mark.filterwarnings("ignore")
"""trl, transformers and torch warn about parts of themselves."""

TOKENIZER = make_tokenizer()
ALGORITHMS = {"grpo": grpo.make_targets, "hrr": hrr.make_targets, "supo": supo.make_targets}


def make_trajectory(
    model: Any, key: str, number: int, segments: int, reward: float, outcome: Outcome = "answered"
) -> Trajectory:
    """Make segments of two turns with qualities. Log-probabilities differ slightly from those of `model`."""
    made: list[Segment] = []
    for part in range(segments):
        tokens = [(31 * number + 7 * part + 3 * i * i) % 250 for i in range(14 + 2 * part)]
        turns = (Turn(5, 8, 0.25 + 0.1 * number), Turn(10, 13 + part, 0.75))
        with torch.no_grad():
            logits = model(torch.tensor([tokens])).logits[0, :-1].log_softmax(-1)
        chances = [0.0, *logits.gather(1, torch.tensor(tokens[1:])[:, None])[:, 0].tolist()]
        own = {i for turn in turns for i in range(turn.start, turn.end)}
        logprobs = [chances[i] - 0.3 * (i % 2) if i in own else 0.0 for i in range(len(tokens))]
        made.append(Segment(tuple(tokens), tuple(logprobs), turns))
    return Trajectory(key, tuple(made), reward, outcome)


def make_trajectories(model: Any, keys: Sequence[str]) -> list[Trajectory]:
    """Make two groups: one with mixed rewards, segments and outcomes, and one with equal rewards."""
    outcomes: list[Outcome] = ["answered", "answered", "overlong", "answered"]
    return [
        make_trajectory(model, key, i, 1 + i % 3, float(i == 0 and key == keys[0]), outcomes[i % 4])
        for i, key in enumerate(keys)
    ]


def make_trainer(
    folder: Path, model: Any, make_targets: Any, roll_out: Any, *, kl: float = 0.0, **options: Any
) -> Any:
    arguments = {
        "output_dir": str(folder),
        "max_steps": 1,
        "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": 2,
        "num_generations": 4,
        "learning_rate": 1e-2,
        "max_grad_norm": 1e9,
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "report_to": [],
        "save_strategy": "no",
        "logging_strategy": "no",
        "disable_tqdm": True,
        **options,
    }
    return TrajectoryTrainer(
        model,
        kl=kl,
        roll_out=roll_out,
        make_targets=make_targets,
        keys=["one", "two"],
        args=GRPOConfig(**arguments),
        processing_class=TOKENIZER,
    )


def our_loss(model: Any, targets: Sequence[Target]) -> torch.Tensor:
    """Compute the loss of the algorithms by a plain pass over each segment."""
    total = torch.zeros(())
    for target in targets:
        tokens = torch.tensor([target.segment.tokens])
        logits = model(tokens).logits[0, :-1].log_softmax(-1)
        chances = logits.gather(1, tokens[0, 1:, None])[:, 0]
        own = torch.tensor(target.segment.mask[1:])
        columns = [target.segment.logprobs, target.advantages, target.weights]
        old, advantages, weights = (torch.tensor(column[1:])[own] for column in columns)
        total = total + surrogate_loss(chances[own], old, advantages, weights)
    return total


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_step_of_trl_is_a_step_of_ours(name: str, tmp_path: Path) -> None:
    model, seen = make_model(TOKENIZER), list[Trajectory]()

    def roll_out(policy: Any, keys: Sequence[str], version: int) -> list[Trajectory]:
        assert (list(keys), version) == (["one"] * 4 + ["two"] * 4, 0)
        seen[:] = make_trajectories(policy, keys)
        return seen

    trainer = make_trainer(tmp_path, model, ALGORITHMS[name], roll_out, optim="sgd")
    before = {key: value.clone() for key, value in model.state_dict().items()}
    trainer.train()
    twin = make_model(TOKENIZER)
    our_loss(twin, ALGORITHMS[name](seen)).backward()
    moved = 0.0
    for key, parameter in twin.named_parameters():
        expected = before[key] - 1e-2 * parameter.grad
        torch.testing.assert_close(model.state_dict()[key], expected, atol=1e-6, rtol=1e-4)
        moved += (expected - before[key]).abs().sum().item()
    assert moved > 1e-3


@pytest.mark.parametrize("adapted", [False, True])
def test_kl_is_that_of_equation_5(adapted: bool, tmp_path: Path) -> None:
    def make_policy() -> Any:
        model = make_model(TOKENIZER)
        if not adapted:
            return model
        torch.manual_seed(1)
        return get_peft_model(
            model, LoraConfig(lora_alpha=512, target_modules=["q_proj"], init_lora_weights=False)
        )

    model, seen, kl = make_policy(), list[Trajectory](), 0.7

    def roll_out(policy: Any, keys: Sequence[str], version: int) -> list[Trajectory]:
        seen[:] = make_trajectories(policy, keys)
        if not adapted:  # otherwise the policy is its reference, and their KL has no gradient
            with torch.no_grad():
                policy.lm_head.weight.mul_(1.5)
        return seen

    trainer = make_trainer(tmp_path, model, hrr.make_targets, roll_out, kl=kl, optim="sgd")
    trainer.train()
    policy = make_policy()
    if not adapted:
        with torch.no_grad():
            policy.lm_head.weight.mul_(1.5)
    reference = policy.get_base_model() if adapted else make_model(TOKENIZER)
    before = {key: value.clone() for key, value in policy.named_parameters() if value.requires_grad}

    def log_chances(one: Any, tokens: torch.Tensor) -> torch.Tensor:
        return one(tokens).logits[0, :-1].log_softmax(-1).gather(1, tokens[0, 1:, None])[:, 0]

    divergence = torch.zeros(())
    targets = hrr.make_targets(seen)
    for target in targets:
        tokens = torch.tensor([target.segment.tokens])
        own = torch.tensor(target.segment.mask[1:])
        with policy.disable_adapter() if adapted else nullcontext(), torch.no_grad():
            theirs = log_chances(reference, tokens)[own]
        gap = theirs - log_chances(policy, tokens)[own]
        divergence = divergence + (torch.tensor(target.weights[1:])[own] * (gap.exp() - gap - 1)).sum()
    assert divergence > 1e-4
    (our_loss(policy, targets) + kl * divergence).backward()
    trained = dict(model.named_parameters())
    for key, parameter in policy.named_parameters():
        if key in before:
            expected = before[key] - 1e-2 * parameter.grad
            torch.testing.assert_close(trained[key], expected, atol=1e-6, rtol=1e-3)


def test_part_of_a_batch_loses_only_padding() -> None:
    targets = grpo.make_targets(make_trajectories(make_model(TOKENIZER), ["one"] * 4))
    batch = make_batch(targets, len(targets), TOKENIZER.eos_token_id)
    shortest = {name: rows[:1] for name, rows in batch.items()}
    part = trim(shortest)
    assert part["completion_ids"].shape[1] < batch["completion_ids"].shape[1]
    assert part["completion_mask"].all()
    for name in ("prompt", "completion"):
        seen, rows = part[f"{name}_mask"].bool(), shortest[f"{name}_mask"].bool()
        assert part[f"{name}_ids"][seen].tolist() == shortest[f"{name}_ids"][rows].tolist()
    assert part["advantages"].sum() == shortest["advantages"].sum()


def test_batch_without_targets_changes_nothing(tmp_path: Path) -> None:
    model = make_model(TOKENIZER)
    before = {key: value.clone() for key, value in model.state_dict().items()}

    def roll_out(policy: Any, keys: Any, version: int) -> Any:
        return make_trajectories(policy, keys)

    make_trainer(tmp_path, model, lambda trajectories: [], roll_out).train()
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())


@pytest.mark.parametrize("options", [{"loss_type": "grpo"}, {"beta": 0.1}])
def test_refuses_settings_that_change_the_weights(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="loss_type 'dapo', beta 0"):
        make_trainer(tmp_path, None, None, None, **options)
