"""One run of a language model that learns to search: cold start, then updates through TRL.

FOLDER/history.jsonl   a line for each update, and for the evaluations before and after
FOLDER/cold_start/     the adapter after the cold start
FOLDER/checkpoints/    TRL's, for a run that was stopped
FOLDER/final/          the adapter
"""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import torch
from peft import PeftModel
from trl import GRPOConfig

from tersely.agent.strategies.recon import STOP
from training.causal import Adapter, add_adapter, load_smollm2
from training.rl.algorithms import grpo, hrr, supo
from training.rl.engines.sft import collect_demonstrations, imitate, keep_good
from training.rl.engines.trl_trainer import TrajectoryTrainer
from training.rl.environments.archive import make_archive
from training.rl.environments.search import SearchEnvironment
from training.rl.language.chat import Chat
from training.rl.language.generate import TransformersPolicy
from training.rl.rollout import run_episodes
from training.rl.trajectory import OUTCOMES, Trajectory
from training.run import Run

ALGORITHMS = {"grpo": grpo.make_targets, "hrr": hrr.make_targets, "supo": supo.make_targets}
_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'].split('\n\n')[-1] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""SmolLM2's own marks. It leaves out the system message that SmolLM2's template adds to every prompt, and of
the agent's prompt all but the question: the cold start teaches the form, and a core reads few tokens."""


@dataclass(frozen=True, slots=True)
class Archive:
    """Records of the archive that is searched, and what the agent reads."""

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
    """How often a demonstration makes each of its mistakes."""


@dataclass(frozen=True, slots=True)
class Updates:
    algorithm: Literal["grpo", "hrr", "supo"] = "grpo"
    count: int = 60
    tasks: int = 2
    group: int = 4
    learning_rate: float = 1e-4
    evaluation_tasks: int = 48
    micro_batch: int = 8
    save_every: int = 20


@dataclass(frozen=True, slots=True)
class Settings:
    seed: int = 0
    adapter: Adapter = field(default_factory=Adapter)
    archive: Archive = field(default_factory=Archive)
    cold_start: ColdStart = field(default_factory=ColdStart)
    updates: Updates = field(default_factory=Updates)


def load_model() -> tuple[Any, Any]:
    """SmolLM2 and its tokenizer, with a shorter template."""
    model, tokenizer = load_smollm2()
    tokenizer.chat_template = _TEMPLATE
    return model, tokenizer


def train(settings: Settings, run: Run, model: Any, tokenizer: Any, *, show: bool = False) -> PeftModel:
    """Train an adapter and give the model with it back. A run that was stopped goes on from TRL's last
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
    policy = _start_cold(settings, run, environment, model, show)
    job = _Job(settings, run, environment, tokenizer)
    done = _count_done(run)
    run.cut_history(sum(_is_before(entry, done) for entry in run.history))
    if not run.history:
        job.evaluate(policy, 0)
    trainer = TrajectoryTrainer(
        policy,
        roll_out=job.roll_out,
        make_targets=ALGORITHMS[settings.updates.algorithm],
        keys=[str(number) for number in range(settings.updates.count * settings.updates.tasks)],
        args=_make_args(settings, run.folder, show),
        watch=job.record,
        processing_class=tokenizer,
    )
    trainer.train(resume_from_checkpoint=bool(done))
    job.evaluate(policy, settings.updates.count)
    policy.save_pretrained(run.final)
    return policy


def _count_done(run: Run) -> int:
    """Updates at TRL's last checkpoint."""
    checkpoints = (run.folder / "checkpoints").glob("checkpoint-*")
    return max((int(path.name.rpartition("-")[2]) for path in checkpoints), default=0)


def _is_before(entry: dict[str, Any], done: int) -> bool:
    """Whether the run goes on after this entry; the last evaluation is repeated."""
    return entry["update"] <= done and (entry["kind"] == "update" or not entry["update"])


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


def _make_args(settings: Settings, folder: Path, show: bool) -> GRPOConfig:
    updates = settings.updates
    rollouts, on_cpu = updates.tasks * updates.group, not torch.cuda.is_available()
    parts = max(1, rollouts // updates.micro_batch)
    return GRPOConfig(
        output_dir=str(folder / "checkpoints"),
        max_steps=updates.count,
        per_device_train_batch_size=rollouts // parts,
        gradient_accumulation_steps=parts,
        steps_per_generation=parts,
        num_generations=updates.group,
        learning_rate=updates.learning_rate,
        lr_scheduler_type="constant",
        max_grad_norm=1.0,
        beta=0.0,
        use_cpu=on_cpu,
        bf16=not on_cpu,
        gradient_checkpointing=False,
        seed=settings.seed,
        save_steps=updates.save_every,
        save_total_limit=1,
        logging_strategy="no",
        report_to=[],
        disable_tqdm=not show,
    )


class _Job:
    """The rollouts of a run, and the record of them."""

    def __init__(self, settings: Settings, run: Run, environment: SearchEnvironment, tokenizer: Any) -> None:
        self._settings, self._run, self._environment = settings, run, environment
        self._tokenizer = tokenizer
        self._started = self._rolled_out = time.perf_counter()

    def roll_out(self, model: Any, keys: Sequence[str], version: int) -> list[Trajectory]:
        """Trajectories of the tasks with these keys; equal keys are one task. All that is random comes from
        the seed, the keys and `version`."""
        self._started = time.perf_counter()
        seed, difficulty = self._settings.seed, self._settings.archive.difficulty
        tasks = {k: self._environment.sample(random.Random(f"{seed} {k}"), difficulty) for k in set(keys)}
        sampling = torch.Generator(model.device).manual_seed(1000 * seed + version)
        policy = TransformersPolicy(
            model,
            self._tokenizer,
            max_reply=self._environment.max_reply,
            stop_texts=STOP,
            random=sampling,
        )
        made = run_episodes(policy, [tasks[key] for key in keys], policy_version=version)
        self._rolled_out = time.perf_counter()
        return made

    def record(self, trajectories: Sequence[Trajectory]) -> None:
        """Of the rollouts of one update. `seconds` are those of the rollouts, `since` counts from the last
        line: so the difference is the time of an update."""
        updates = 1 + max((entry["update"] for entry in self._run.history), default=0)
        self._run.record(kind="update", update=updates, **self._describe(trajectories))

    def evaluate(self, model: Any, update: int) -> None:
        """On tasks that training does not see: the same at every evaluation of a seed."""
        count = self._settings.updates.evaluation_tasks
        made = self.roll_out(model, [f"evaluation {number}" for number in range(count)], version=0)
        self._run.record(kind="evaluation", update=update, **self._describe(made))

    def _describe(self, trajectories: Sequence[Trajectory]) -> dict[str, Any]:
        tokens = [sum(len(segment.tokens) for segment in t.segments) for t in trajectories]
        written = sum(turn.end - turn.start for t in trajectories for turn in t.turns)
        return {
            "reward": fmean(t.reward for t in trajectories),
            "found": fmean(t.facts["found"] for t in trajectories),
            "length": fmean(len(t.turns) for t in trajectories),
            "tokens": sum(tokens),
            "written": written,
            "seconds": round(self._rolled_out - self._started, 2),
            "clock": round(self._run.clock.seconds(), 1),
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            **{name: fmean(t.outcome == name for t in trajectories) for name in OUTCOMES},
        }
