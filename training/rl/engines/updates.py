"""Updates of a language model through TRL: rollouts, an algorithm's targets, and the record of both.

FOLDER/history.jsonl   a line for each update, and for the evaluations before and after
FOLDER/checkpoints/    TRL's, for a run that was stopped
FOLDER/final/          the adapter
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import torch
from peft import PeftModel
from transformers import TrainerCallback
from trl import GRPOConfig

from tersely.runtime.workers import usable_cores
from training.rl.algorithms import grpo, hrr, supo
from training.rl.engines.trl_trainer import TrajectoryTrainer
from training.rl.episode import Task
from training.rl.language.generate import TransformersPolicy
from training.rl.language.slots import SlotsPolicy
from training.rl.rollout import run_episodes
from training.rl.trajectory import OUTCOMES, Trajectory
from training.run import Clock, Run, show_progress
from training.summarizer.train import load_weights

ALGORITHMS = {"grpo": grpo.make_targets, "hrr": hrr.make_targets, "supo": supo.make_targets}


@dataclass(frozen=True, slots=True)
class Updates:
    algorithm: Literal["grpo", "hrr", "supo"] = "grpo"
    count: int = 60
    tasks: int = 2
    group: int = 4
    """Number of rollouts of each task."""
    learning_rate: float = 1e-4
    evaluation_tasks: int = 48
    evaluation_temperature: float = 1.0
    """Temperature of the evaluation. 0 takes the most probable tokens."""
    micro_batch: int = 8
    """Number of rollouts in a backward pass."""
    save_every: int = 20


@dataclass(frozen=True, slots=True)
class Practice:
    """Tasks that a policy practises on, and the functions that record its figures."""

    make_task: Callable[[str], Task]
    """The task of a key. Training keys are "0", "1" and so on, evaluation keys "evaluation 0" and so on."""
    max_reply: int
    """Maximum number of tokens of a reply."""
    describe: Callable[[Sequence[Trajectory]], dict[str, Any]]
    """A function that returns the figures that the history records about rollouts, besides reward, outcomes
    and cost."""
    stop_texts: Sequence[str] = ()
    """Texts that end a reply, besides the end of the message."""


def train_policy(
    policy: PeftModel,
    tokenizer: Any,
    practice: Practice,
    updates: Updates,
    run: Run,
    *,
    seed: int,
    show: bool = False,
) -> None:
    """Train the adapter of `policy`, and write it to `run.final`. A run that was stopped continues from TRL's
    last checkpoint. An update begins only if there is time for it and for the final evaluation."""
    policy.to("cuda" if torch.cuda.is_available() else "cpu")
    job = _Job(practice, updates, run, tokenizer, seed)
    done = _count_done(run)
    run.cut_history(sum(_is_before(entry, done) for entry in run.history))
    if run.history:
        run.clock.seconds_before = run.history[-1]["clock"]
    else:
        job.evaluate(policy, 0)
    if done:
        load_weights(policy, _name_checkpoint(run, done))
    evaluation = run.history[0]["seconds"]
    rollouts = updates.tasks * updates.group
    # Assume that learning from the first update takes as long as its rollouts.
    guess = 2 * evaluation * rollouts / updates.evaluation_tasks
    if done < updates.count and run.clock.has_time_for(guess + evaluation):
        job.bar = show_progress("updates", total=updates.count, done=done, unit="update", visible=show)
        trainer = TrajectoryTrainer(
            policy,
            roll_out=job.roll_out,
            make_targets=ALGORITHMS[updates.algorithm],
            keys=[str(number) for number in range(updates.count * updates.tasks)],
            args=_make_args(updates, run.folder / "checkpoints", seed),
            watch=job.record,
            processing_class=tokenizer,
            callbacks=[_TimeLimit(run.clock, evaluation)],
        )
        trainer.train(resume_from_checkpoint=bool(done))
        done = trainer.state.global_step
        job.bar.close()
    if done:
        job.evaluate(policy, done)
    policy.save_pretrained(run.final)


def _count_done(run: Run) -> int:
    """Return the number of updates at TRL's last checkpoint."""
    checkpoints = (run.folder / "checkpoints").glob("checkpoint-*")
    return max((int(path.name.rpartition("-")[2]) for path in checkpoints), default=0)


def _name_checkpoint(run: Run, done: int) -> Path:
    return run.folder / f"checkpoints/checkpoint-{done}"


def _is_before(entry: dict[str, Any], done: int) -> bool:
    """Return whether the run continues after this entry; the last evaluation is repeated."""
    return entry["update"] <= done and (entry["kind"] == "update" or not entry["update"])


def _make_args(updates: Updates, folder: Path, seed: int) -> GRPOConfig:
    rollouts, on_cpu = updates.tasks * updates.group, not torch.cuda.is_available()
    parts = max(1, rollouts // updates.micro_batch)
    return GRPOConfig(
        output_dir=str(folder),
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
        seed=seed,
        save_steps=updates.save_every,
        save_total_limit=1,
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )


class _TimeLimit(TrainerCallback):
    """Callback that ends the training while there is time for the final evaluation."""

    def __init__(self, clock: Clock, reserve: float) -> None:
        self._clock, self._reserve = clock, reserve
        self._began = 0.0

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._began = self._clock.seconds()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        update = self._clock.seconds() - self._began
        if not self._clock.has_time_for(update + self._reserve):
            control.should_save = control.should_training_stop = True


class _Job:
    """The rollouts of a run and their record."""

    def __init__(self, practice: Practice, updates: Updates, run: Run, tokenizer: Any, seed: int) -> None:
        self._practice, self._updates, self._run = practice, updates, run
        self._tokenizer, self._seed = tokenizer, seed
        self._started = self._rolled_out = time.perf_counter()
        self.bar: Any = None

    def roll_out(
        self, model: Any, keys: Sequence[str], version: int, temperature: float = 1.0
    ) -> list[Trajectory]:
        """Roll out the tasks with these keys; equal keys are one task. Randomness depends only on the seed,
        the keys and `version`."""
        self._started = time.perf_counter()
        tasks = {key: self._practice.make_task(key) for key in set(keys)}
        policy_class = SlotsPolicy if model.device.type == "cuda" else TransformersPolicy
        policy = policy_class(
            model,
            self._tokenizer,
            max_reply=self._practice.max_reply,
            stop_texts=self._practice.stop_texts,
            temperature=temperature,
            random=torch.Generator(model.device).manual_seed(1000 * self._seed + version),
        )
        made = run_episodes(
            policy, [tasks[key] for key in keys], policy_version=version, threads=usable_cores()
        )
        self._rolled_out = time.perf_counter()
        return made

    def record(self, trajectories: Sequence[Trajectory]) -> None:
        """Record the rollouts of one update. `seconds` is the time of the rollouts, `clock` the time of the
        run."""
        done = 1 + max((entry["update"] for entry in self._run.history), default=0)
        entry = self._run.record(kind="update", update=done, **self._describe(trajectories))
        share = self._run.clock.share(done / self._updates.count)
        self.bar.set_postfix(reward=f"{entry['reward']:.3f}", run=self._run.clock.estimate_left(share))
        self.bar.update()

    def evaluate(self, model: Any, update: int) -> None:
        """Evaluate on tasks that are not used for training, the same in each evaluation of a seed."""
        keys = [f"evaluation {number}" for number in range(self._updates.evaluation_tasks)]
        made = self.roll_out(model, keys, 0, self._updates.evaluation_temperature)
        self._run.record(kind="evaluation", update=update, **self._describe(made))

    def _describe(self, trajectories: Sequence[Trajectory]) -> dict[str, Any]:
        tokens = [sum(len(segment.tokens) for segment in t.segments) for t in trajectories]
        written = sum(turn.end - turn.start for t in trajectories for turn in t.turns)
        return {
            "reward": fmean(t.reward for t in trajectories),
            **self._practice.describe(trajectories),
            "length": fmean(len(t.turns) for t in trajectories),
            "tokens": sum(tokens),
            "written": written,
            "seconds": round(self._rolled_out - self._started, 2),
            "clock": round(self._run.clock.seconds(), 1),
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            **{name: fmean(t.outcome == name for t in trajectories) for name in OUTCOMES},
        }
