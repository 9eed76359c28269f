"""One run of a language model that learns to search: cold start, then updates through TRL.

FOLDER/cold_start/     the adapter after the cold start; for other files see `updates`
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import torch
from peft import PeftModel

from tersely_agents.agent.recon import STOP
from training.causal import Adapter, add_adapter, load_smollm2
from training.rl.engines.sft import collect_demonstrations, imitate, keep_good
from training.rl.engines.updates import Practice, Updates, train_policy
from training.rl.environments.archive import make_archive
from training.rl.environments.search import SearchEnvironment
from training.rl.episode import Task
from training.rl.language.chat import Chat
from training.rl.trajectory import Trajectory
from training.run import Run

_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'].split('\n\n')[-1] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""SmolLM2's template without the system message that it adds to each prompt, and with only the question of
the agent's prompt. The cold start teaches the form, and short prompts are faster on a CPU."""


@dataclass(frozen=True, slots=True)
class Archive:
    """Settings of the archive, and limits of the texts that the agent reads."""

    records: int = 200
    k: int = 3
    turns: int = 3
    difficulty: float = 1.0
    max_reply: int = 24
    positions: int = 320


@dataclass(frozen=True, slots=True)
class ColdStart:
    demonstrations: int = 64
    epochs: float = 1.0
    batch: int = 2
    learning_rate: float = 1e-3
    slip: float = 0.5
    """Probability of each mistake in a demonstration."""


@dataclass(frozen=True, slots=True)
class Settings:
    seed: int = 0
    adapter: Adapter = field(default_factory=Adapter)
    archive: Archive = field(default_factory=Archive)
    cold_start: ColdStart = field(default_factory=ColdStart)
    updates: Updates = field(default_factory=Updates)


def load_model() -> tuple[Any, Any]:
    """Load SmolLM2 and its tokenizer, with a shorter template."""
    model, tokenizer = load_smollm2()
    tokenizer.chat_template = _TEMPLATE
    return model, tokenizer


def train(settings: Settings, run: Run, model: Any, tokenizer: Any, *, show: bool = False) -> PeftModel:
    """Train an adapter and return the model with it. A run that was stopped continues from TRL's last
    checkpoint."""
    torch.manual_seed(settings.seed)
    archive = settings.archive
    questions, documents = make_archive(archive.records, settings.seed)
    environment = SearchEnvironment(
        questions,
        documents,
        Chat(tokenizer),
        k=archive.k,
        max_turns=archive.turns,
        max_reply=archive.max_reply,
        positions=archive.positions,
        slip=settings.cold_start.slip,
    )

    def make_task(key: str) -> Task:
        return environment.sample(random.Random(f"{settings.seed} {key}"), archive.difficulty)

    policy = _start_cold(settings, run, environment, model, show)
    practice = Practice(make_task, archive.max_reply, _describe, STOP)
    train_policy(policy, tokenizer, practice, settings.updates, run, seed=settings.seed, show=show)
    return policy


def _describe(trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    return {"found": fmean(t.facts["found"] for t in trajectories)}


def _start_cold(
    settings: Settings, run: Run, environment: SearchEnvironment, model: Any, show: bool
) -> PeftModel:
    folder = run.folder / "cold_start"
    if (folder / "adapter_config.json").exists():
        return PeftModel.from_pretrained(model, folder, is_trainable=True)
    policy, cold = add_adapter(model, settings.adapter), settings.cold_start
    draw = random.Random(f"cold start {settings.seed}")
    shown = collect_demonstrations(environment, cold.demonstrations, draw, flawed=True)
    loss = imitate(
        policy,
        shown,
        folder,
        epochs=cold.epochs,
        batch=cold.batch,
        learning_rate=cold.learning_rate,
        seed=settings.seed,
        show=show,
    )
    policy.save_pretrained(folder)
    good = len(keep_good(shown))
    print(f"cold start: {len(shown)} demonstrations, {good} of them right, loss {loss:.3f} nats a token")
    return policy
