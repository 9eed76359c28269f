"""A small version of a recipe: its agent, tools, reading, bank and algorithm with a random model of two
layers. The language models that it asks are scripted."""

from __future__ import annotations

import copy
import random
import re
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from trl import GRPOConfig

from tersely_agents.chat import Message, Reply
from tersely_agents.experience import Experience, ExperienceBank
from training.rl.algorithms import ppo
from training.rl.cold_start import demonstrate
from training.rl.critic import Critic, read_logprobs, read_values
from training.rl.engines.random_model import make_model, make_tokenizer
from training.rl.engines.trl_trainer import TrajectoryTrainer
from training.rl.environments.archive import make_archive
from training.rl.language.generate import TransformersPolicy
from training.rl.loop import teach
from training.rl.recipes import Recipe, make_algorithm, make_environment, make_evolution
from training.rl.rollout import run_episodes
from training.rl.settings import Updates
from training.rl.targets import Target
from training.rl.trajectory import Trajectory

REPLY, POSITIONS = 600, 16_000
"""Limits in tokens. They are high, because the tokenizer has a token for each byte."""
RESET = 280
"""SUPO's L, small enough for a reset at the second search."""
_RECORD = re.compile(r"The [^.\n]+ is [^.\n]+\.")
"""A record of the archive."""


def take_step(recipe: Recipe) -> str:
    """Take one optimiser step with TRL on a group of two rollouts: one by the random model and one by the
    expert, so that their rewards differ. With PPO, the critic takes a step too; a bank learns and is
    published. Returns lines that describe it.
    """
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        return _take_step(recipe, Path(folder))


def _take_step(recipe: Recipe, folder: Path) -> str:
    tokenizer = make_tokenizer()
    model = make_model(tokenizer, positions=POSITIONS)
    learner = PpoTargets(model, recipe) if recipe.algorithm == "ppo" else None
    small = replace(
        recipe, turns=10, context_tokens=POSITIONS, reply_tokens=REPLY, reset_tokens=RESET, retriever=""
    )
    if recipe.bank:
        small = replace(small, bank=str(folder / "bank.db"))
        with closing(ExperienceBank(small.bank)) as bank:
            bank.add(Experience("Search first", "Unknown offices", "Name the town.", "Who is it?", True))
    chat = QuotingChat()
    questions, documents = make_archive(8, 0)
    # The expert searches twice, so that a context fills.
    questions = [replace(q, documents=(p.documents[0], *q.documents)) for p, q in pairwise(questions)]
    environment = make_environment(small, tokenizer, questions, documents, summarizer=chat, judge=chat)
    evolution = make_evolution(small, environment.chat.read_messages, chat) if recipe.extractor else None
    seen: list[Trajectory] = []

    def roll_out(policy: Any, keys: Sequence[str], version: int) -> list[Trajectory]:
        task = environment.sample(random.Random(keys[0]), 1.0)
        sampler = TransformersPolicy(policy, tokenizer, max_reply=8, stop_texts=recipe.stop_texts)
        seen.extend(run_episodes(sampler, [task]))
        seen.append(demonstrate(environment, task, random.Random(0)))
        if evolution:
            evolution.learn(seen)
        return seen

    before = [parameter.detach().clone() for parameter in model.parameters()]
    args = GRPOConfig(
        output_dir=str(folder),
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
        kl=0.0 if learner else recipe.kl,
        processing_class=tokenizer,
    )
    trainer.train()
    moved = sum(float((p - q).abs().sum()) for p, q in zip(model.parameters(), before, strict=True))
    ends = " and ".join(f"{t.outcome} (reward {t.reward:g}, {len(t.turns)} turns)" for t in seen)
    said = [f"{recipe.paper}, {recipe.algorithm}: {ends}; the step moved the weights by {moved:.3g} in sum"]
    expert = seen[-1]
    if learner:
        said.append(f"the critic's loss was {learner.teach():.3g}")
    if recipe.strategy == "reset":
        said.append(f"the expert's context was reset {expert.facts['resets']} times")
    if recipe.strategy == "summary":
        said.append(f"the expert wrote {sum(t.quality is not None for t in expert.turns)} summaries")
    if recipe.reading == "summary":
        said.append(f"the summarizer wrote {chat.written} summaries")
    if recipe.bank:
        said.append(f"the expert recalled {len(expert.facts['recalled'])} lessons")
    if evolution:
        evolution.publish()
        with closing(ExperienceBank(evolution.editions.find(evolution.edition))) as bank:
            said.append(f"edition {evolution.edition} of the bank has {len(bank)} lessons")
    return "\n".join(said)


class QuotingChat:
    """A scripted chat model: a summarizer that quotes what it reads, an extractor of one lesson, and a strict
    judge."""

    name = "scripted"

    def __init__(self) -> None:
        self.written = 0

    def complete(self, messages: Sequence[Message], **options: Any) -> Reply:
        prompt = str(messages[-1]["content"])
        if "YES or NO" in prompt:
            return Reply("NO")
        if "takeaways" in prompt:
            return Reply('{"plan": "search", "steps": [], "takeaways": ["name the town"]}')
        if "EXPERIENCE 1" in prompt:
            return Reply(
                "EXPERIENCE 1:\nTITLE: Look up offices\nDESCRIPTION: Questions about offices\n"
                "CONTENT: Search for the office with its town.\nOUTCOME: success"
            )
        self.written += 1
        return Reply(" ".join(_RECORD.findall(prompt)))


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
