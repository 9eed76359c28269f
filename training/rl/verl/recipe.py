"""A paper's run at full scale: its settings, its environment, and verl's settings."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from tersely.compressor import Compressor
from tersely_agents.agent import Reading, SelectedSentences, StrategyName, WrittenSummary, read_passages
from tersely_agents.agent.recon import STOP
from tersely_agents.chat import OpenAIChat
from tersely_agents.experience import ExperienceBank
from tersely_agents.summaries import Summarizer
from training.rl.algorithms import grpo, hrr, supo
from training.rl.environments.search import SearchEnvironment, SearchTask, load_task_set
from training.rl.language.chat import Chat

GPUS = 8
"""GPUs of one node."""
VALIDATION = 100
"""Maximum number of questions to validate with; at most a tenth of all."""
SAVE_EVERY, VALIDATE_EVERY = 20, 20
"""Steps between two checkpoints, and between two validations. verl's defaults never save or validate."""
_BYTES = 16
"""Bytes of a parameter in training: weights, gradients, and Adam's moments and master weights (2 + 2 +
12)."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Settings of a paper's run. Comments in the configuration say which numbers are the paper's."""

    paper: str
    policy: str
    """A model on the hub, or a folder."""
    parameters: float
    """Parameters of the policy, in billions."""
    algorithm: Literal["ppo", "grpo", "hrr", "supo"]
    strategy: StrategyName
    reading: Literal["passages", "selected", "summary"]
    data: str
    """A set of `benchmarks.shared.tasks` whose training questions are used."""
    questions: int
    """Number of questions to read."""
    turns: int
    k: int
    reply_tokens: int
    context_tokens: int
    """Maximum number of tokens of a context with its reply."""
    batch: int
    """Number of questions per step."""
    mini_batch: int
    group: int
    """Number of rollouts per question."""
    steps: int
    learning_rate: float
    warm_up: float = 0.0
    """Share of the steps with a rising learning rate."""
    critic_learning_rate: float = 0.0
    critic_warm_up: float = 0.0
    clip: float = 0.2
    value_clip: float = 0.5
    kl: float = 0.0
    """Weight of the KL, in the reward with "ppo", else in the loss."""
    entropy: float = 0.0
    temperature: float = 1.0
    w: float = 0.2
    """Weight of the quality with "hrr" (ZipRL, equation 4)."""
    summarizer: str = ""
    """Frozen model on the server OPENAI_BASE_URL; with the reading "summary"."""
    bank: str = ""
    """A published edition of the experience bank."""

    @property
    def stop_texts(self) -> tuple[str, ...]:
        return STOP if self.strategy == "recon" else ()

    @property
    def step_tokens(self) -> int:
        """Maximum number of tokens that one step reads and writes."""
        return self.batch * self.group * self.context_tokens

    def gigabytes(self, gpus: int) -> float:
        """Return the memory of weights, gradients and optimiser on each of `gpus`; a critic counts like a
        policy."""
        models = 2 if self.algorithm == "ppo" else 1
        return models * self.parameters * _BYTES / gpus


def make_algorithm(recipe: Recipe) -> Callable[..., Any]:
    """Return the function from trajectories to targets. Raises ValueError for "ppo", which needs verl's
    critic."""
    known = {
        "grpo": grpo.make_targets,
        "hrr": partial(hrr.make_targets, w=recipe.w),
        "supo": supo.make_targets,
    }
    if recipe.algorithm not in known:
        raise ValueError(f"{recipe.algorithm} has no targets without a critic")
    return known[recipe.algorithm]


class Questions:
    """The questions of a recipe among the documents of all of them."""

    def __init__(self, environment: SearchEnvironment) -> None:
        self.environment = environment

    def pose(self, index: int) -> SearchTask:
        """Return the task of the question with this index."""
        return self.environment.make_task(self.environment.questions[index], random.Random(index), 1.0)


def load_environment(recipe: Recipe, tokenizer: Any, *, data: Path | None = None) -> Questions:
    """Load a recipe's environment, with the documents of its task set."""
    questions, documents = load_task_set(recipe.data, data=data, limit=recipe.questions)
    return Questions(make_environment(recipe, tokenizer, questions, documents))


def make_environment(recipe: Recipe, tokenizer: Any, questions: Any, documents: Any) -> SearchEnvironment:
    """Make a recipe's environment with these documents."""
    compressor = Compressor()
    return SearchEnvironment(
        questions,
        documents,
        Chat(tokenizer),
        strategy=recipe.strategy,
        read=make_reading(recipe, compressor),
        k=recipe.k,
        max_turns=recipe.turns,
        max_reply=recipe.reply_tokens,
        positions=recipe.context_tokens,
        compressor=compressor,
        experience=ExperienceBank(recipe.bank) if recipe.bank else None,
    )


def make_reading(recipe: Recipe, compressor: Compressor) -> Reading:
    """Return a reader for the agent. The summarizer samples as in RECON (appendix B.4). If the recipe names
    none, a summary consists of sentences of the passages."""
    if recipe.reading == "passages":
        return read_passages
    if recipe.reading == "selected":
        return SelectedSentences(compressor)
    model = OpenAIChat(recipe.summarizer, top_p=0.9, top_k=40) if recipe.summarizer else None
    return WrittenSummary(Summarizer(model, compressor=compressor))


def write_questions(recipe: Recipe, train: Path, validation: Path, *, data: Path | None = None) -> None:
    """Write data sets for verl with the indices of the recipe's questions, which the loop looks up. The last
    questions are for validation alone."""
    from datasets import Dataset

    questions, _ = load_task_set(recipe.data, data=data, limit=recipe.questions)
    rows = [
        {
            "data_source": recipe.data,
            "prompt": [{"role": "user", "content": question.text}],
            "extra_info": {"index": number},
        }
        for number, question in enumerate(questions)
    ]
    first = len(rows) - min(VALIDATION, len(rows) // 10)
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
        "actor_rollout_ref.model.path": recipe.policy,
        f"{actor}.optim.lr": recipe.learning_rate,
        f"{actor}.optim.lr_warmup_steps_ratio": recipe.warm_up,
        f"{actor}.ppo_mini_batch_size": recipe.mini_batch,
        f"{actor}.ppo_epochs": 1,
        f"{actor}.use_dynamic_bsz": True,
        # A part of a batch has to hold the longest rollout; 16,384 is verl's default.
        f"{actor}.ppo_max_token_len_per_gpu": max(16_384, recipe.context_tokens),
        f"{actor}.clip_ratio": recipe.clip,
        f"{actor}.entropy_coeff": recipe.entropy,
        f"{actor}.use_kl_loss": not is_ppo and recipe.kl > 0,
        f"{actor}.kl_loss_coef": recipe.kl,
        f"{actor}.loss_agg_mode": "token-mean",
        f"{rollout}.name": "vllm",
        f"{rollout}.n": recipe.group,
        f"{rollout}.temperature": recipe.temperature,
        f"{rollout}.calculate_log_probs": True,
        f"{rollout}.agent.default_agent_loop": "tersely",
        "trainer.nnodes": nodes,
        "trainer.n_gpus_per_node": GPUS,
        "trainer.total_training_steps": recipe.steps,
        "trainer.total_epochs": count_epochs(recipe, count),
        "trainer.save_freq": SAVE_EVERY,
        "trainer.test_freq": VALIDATE_EVERY,
        "trainer.v1.trainer_mode": "sync" if is_ppo else "tersely",
        "+trainer.tersely_recipe": file,
    }
    if is_ppo:
        values |= {
            "critic.model.path": recipe.policy,
            "critic.optim.lr": recipe.critic_learning_rate,
            "critic.optim.lr_warmup_steps_ratio": recipe.critic_warm_up,
            "critic.cliprange_value": recipe.value_clip,
        }
    return [
        f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in values.items()
    ]
