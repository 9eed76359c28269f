"""A recipe as questions and settings of verl."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from training.rl.recipes import Recipe, count_training, load_questions

GPUS = 8
"""GPUs of one node."""
ROOT = Path(__file__).parents[3]
MODULES = "training.rl.verl.loop,training.rl.verl.trainer"
"""Modules that every process of a run imports."""
SAVE_EVERY, VALIDATE_EVERY = 20, 20
"""Steps between two checkpoints, and between two validations. verl's defaults never save or validate."""


def write_questions(recipe: Recipe, train: Path, validation: Path) -> None:
    """Write data sets for verl with the indices of the recipe's questions, which the loop looks up. The last
    questions are for validation alone."""
    from datasets import Dataset

    questions, _ = load_questions(recipe)
    rows = [
        {
            "data_source": recipe.paper,
            "prompt": [{"role": "user", "content": question.text}],
            "extra_info": {"index": number},
        }
        for number, question in enumerate(questions)
    ]
    first = count_training(len(rows))
    Dataset.from_list(rows[:first]).to_parquet(str(train))
    Dataset.from_list(rows[first:]).to_parquet(str(validation))


def count_epochs(recipe: Recipe, questions: int) -> int:
    """Return the passes over `questions` that hold all steps; verl drops the last, incomplete batch of each.

    Raises ValueError if there are fewer questions than in a batch.
    """
    if questions < recipe.batch:
        raise ValueError(
            f"{recipe.paper} takes {recipe.batch} questions a step, and there are {questions}: give more, or"
            " lower batch and mini_batch"
        )
    return math.ceil(recipe.steps / (questions // recipe.batch))


def list_overrides(
    recipe: Recipe, file: Path, nodes: int, train: Path, validation: Path, count: int
) -> list[str]:
    """Return verl's settings, with the names of verl 0.9; `contract.py` checks them.

    Args:
        count: number of questions in `train`.

    Raises ValueError if there are too few.
    """
    rollout, actor = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"
    environment = "+ray_kwargs.ray_init.runtime_env.env_vars"
    is_ppo = recipe.algorithm == "ppo"
    values: dict[str, Any] = {
        "algorithm.adv_estimator": "gae" if is_ppo else "grpo",
        "algorithm.gamma": 1.0,
        "algorithm.lam": 1.0,
        "algorithm.use_kl_in_reward": is_ppo and recipe.kl > 0,
        "algorithm.kl_ctrl.type": "fixed",
        "algorithm.kl_ctrl.kl_coef": recipe.kl,
        "data.train_files": train,
        "data.val_files": validation,
        "data.train_batch_size": recipe.batch,
        "data.max_prompt_length": recipe.context_tokens,
        "data.max_response_length": recipe.context_tokens,
        **_configure_model("actor_rollout_ref.model", recipe.policy),
        f"{actor}.optim.lr": recipe.learning_rate,
        f"{actor}.optim.lr_warmup_steps_ratio": recipe.warm_up,
        f"{actor}.ppo_mini_batch_size": recipe.mini_batch,
        f"{actor}.ppo_epochs": 1,
        f"{actor}.use_dynamic_bsz": True,
        # A part of a batch has to hold the longest rollout; 16,384 is verl's default.
        f"{actor}.ppo_max_token_len_per_gpu": max(16_384, recipe.context_tokens),
        f"{actor}.clip_ratio": recipe.clip,
        f"{actor}.clip_ratio_low": recipe.clip,
        f"{actor}.clip_ratio_high": recipe.clip,
        f"{actor}.entropy_coeff": recipe.entropy,
        f"{actor}.use_kl_loss": not is_ppo and recipe.kl > 0,
        f"{actor}.kl_loss_coef": recipe.kl,
        f"{actor}.loss_agg_mode": "token-mean",
        f"{rollout}.name": "vllm",
        f"{rollout}.max_model_len": recipe.context_tokens,
        f"{rollout}.n": recipe.group,
        f"{rollout}.temperature": recipe.temperature,
        f"{rollout}.val_kwargs.temperature": recipe.validation_temperature,
        f"{rollout}.val_kwargs.do_sample": recipe.validation_temperature > 0,
        f"{rollout}.calculate_log_probs": True,
        f"{rollout}.agent.default_agent_loop": "tersely",
        "trainer.nnodes": nodes,
        "trainer.n_gpus_per_node": GPUS,
        "trainer.total_training_steps": recipe.steps,
        "trainer.total_epochs": count_epochs(recipe, count),
        "trainer.save_freq": SAVE_EVERY,
        "trainer.test_freq": VALIDATE_EVERY,
        "trainer.v1.trainer_mode": "sync",
        "+trainer.tersely_recipe": file,
        f"{environment}.VERL_USE_EXTERNAL_MODULES": f"'{MODULES}'",  # quoted, because of the comma
        f"{environment}.PYTHONPATH": ROOT,
    }
    if is_ppo:
        values |= {
            **_configure_model("critic.model", recipe.policy),
            "critic.optim.lr": recipe.critic_learning_rate,
            "critic.optim.lr_warmup_steps_ratio": recipe.critic_warm_up,
            "critic.cliprange_value": recipe.value_clip,
        }
    return [
        f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in values.items()
    ]


def _configure_model(name: str, policy: str) -> dict[str, Any]:
    """Return settings that load a model without flash-attn, which verl[vllm] does not install. verl removes
    padding by packing rollouts into one row, where only flash-attn is sure to keep them apart."""
    return {
        f"{name}.path": policy,
        f"+{name}.override_config.attn_implementation": "sdpa",
        f"{name}.use_remove_padding": False,
    }
