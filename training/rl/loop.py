"""The whole training of a tiny policy, in one process: cold start, rollouts, targets, update, evaluation.

    run = Run(folder)
    policy = train(settings, run)

All randomness comes from the seed and is saved with the checkpoint: a run that was killed and restarted ends
with the same weights as one that was not."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from training.checkpoint import Part, remove_checkpoint, resume, save_checkpoint, save_whole
from training.rl.algorithms.ppo import value_loss
from training.rl.batches import Batch, make_batches
from training.rl.cold_start import imitate
from training.rl.critic import Critic, read_logprobs, read_values
from training.rl.episode import Environment, Learner, Task
from training.rl.losses import surrogate_loss
from training.rl.rollout import run_episodes
from training.rl.settings import Settings, Updates
from training.rl.targets import Target
from training.rl.tiny import Sampler, TinyPolicy
from training.rl.trajectory import OUTCOMES, Trajectory
from training.run import Run, show_progress

CHECKPOINT_EVERY = 10
"""Number of updates between two checkpoints."""


def train(
    settings: Settings,
    run: Run,
    *,
    environment: Environment | None = None,
    cold_start: Path | None = None,
    visible: bool = False,
) -> TinyPolicy:
    """Train a policy and return it, or load it if `run` is finished.

    Args:
        environment: the result of `settings.make_environment()`, for a caller that needs its learned state;
            None to make it here.
        cold_start: the file of the weights to start from, which `write_cold_start` writes if it is missing;
            None for a file in the run's folder.

    The run's history has a line for each update (`kind` "update") and each evaluation (`kind` "evaluation");
    its `final` folder gets the weights and the environment's learned state.
    """
    environment = environment or settings.make_environment()
    policy = make_policy(settings, environment)
    final = run.final / "policy.pt"
    learned: dict[str, Learner | TinyPolicy] = {"policy": policy}
    if isinstance(environment, Learner):
        learned["learner"] = environment
    if final.exists():
        states = torch.load(final, weights_only=True)
        for name, part in learned.items():
            part.load_state_dict(states[name])
        return policy
    start = cold_start or run.folder / "cold_start.pt"
    if not start.exists():
        start.parent.mkdir(parents=True, exist_ok=True)
        write_cold_start(settings, start, visible=visible)
    policy.load_state_dict(torch.load(start, weights_only=True))
    _update(settings, environment, policy, run, visible)
    run.final.mkdir(exist_ok=True)
    save_whole({name: part.state_dict() for name, part in learned.items()}, final)
    remove_checkpoint(run)
    return policy


def make_policy(settings: Settings, environment: Environment) -> TinyPolicy:
    """Make a policy with the random weights of the seed."""
    torch.manual_seed(settings.seed)
    return TinyPolicy(len(environment.vocabulary), environment.positions, settings.policy)


def write_cold_start(settings: Settings, file: Path, *, visible: bool = False) -> None:
    """Train a policy on demonstrations and write its weights."""
    environment = settings.make_environment()
    policy = make_policy(settings, environment)
    cold = settings.cold_start
    imitate(
        policy,
        environment,
        random.Random(f"cold start {settings.seed}"),
        steps=cold.steps,
        tasks=cold.tasks,
        learning_rate=cold.learning_rate,
        visible=visible,
    )
    save_whole(policy.state_dict(), file)


def _update(
    settings: Settings, environment: Environment, policy: TinyPolicy, run: Run, visible: bool
) -> None:
    plan = settings.updates
    make_targets = settings.make_algorithm()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=plan.learning_rate, weight_decay=0.0)
    critic = Critic(policy) if settings.has_critic else None
    reference = copy.deepcopy(policy).requires_grad_(False) if plan.beta or critic else None
    draw = random.Random(f"tasks {settings.seed}")
    sampling = torch.Generator().manual_seed(settings.seed)
    parts: dict[str, Part] = {
        "policy": policy,
        "optimizer": optimizer,
        "tasks": draw,
        "sampling": sampling,
    }
    if critic:
        critic_optimizer = torch.optim.AdamW(
            critic.parameters(), lr=plan.critic_learning_rate, weight_decay=0.0
        )
        parts |= {"critic": critic, "critic_optimizer": critic_optimizer}
    learner = environment if isinstance(environment, Learner) else None
    if learner:
        parts["learner"] = learner
    done = (resume(run, parts) or {"updates": 0})["updates"]
    for update in show_progress(
        "updates", range(done, plan.count), total=plan.count, done=done, visible=visible
    ):
        # A resumed run drops the entries after its checkpoint and evaluates again.
        if update % CHECKPOINT_EVERY == 0:
            save_checkpoint(run, parts, {"updates": update})
        if update % plan.evaluate_every == 0:
            _evaluate(settings, environment, policy, run, update)
        tasks = [environment.sample(draw, draw.random()) for _ in range(plan.tasks)]
        trajectories = roll_out(policy, environment, tasks * plan.group, sampling, version=update)
        figures = describe(trajectories)
        if learner:
            learner.learn(trajectories)
        if critic and reference:
            targets = make_targets(
                trajectories, read_values(critic, trajectories), read_logprobs(reference, trajectories)
            )
            figures["value_loss"] = teach(critic, targets, critic_optimizer, plan)
        else:
            targets = make_targets(trajectories)
        learn(policy, targets, optimizer, plan, reference)
        if learner:
            learner.publish()
        run.record(kind="update", update=update + 1, **figures)
    _evaluate(settings, environment, policy, run, plan.count)


def roll_out(
    policy: TinyPolicy,
    environment: Environment,
    tasks: Sequence[Task],
    sampling: torch.Generator | None,
    version: int = 0,
) -> list[Trajectory]:
    """Roll out one trajectory for each task; without `sampling`, take the most probable words."""
    sampler = Sampler(
        policy,
        slots=len(tasks),
        stop=environment.stop,
        max_reply=environment.max_reply,
        random=sampling,
    )
    edition = environment.edition if isinstance(environment, Learner) else None
    return run_episodes(sampler, tasks, policy_version=version, bank_version=edition)


def learn(
    policy: TinyPolicy,
    targets: Sequence[Target],
    optimizer: torch.optim.Optimizer,
    plan: Updates,
    reference: TinyPolicy | None = None,
) -> None:
    """Take `plan.epochs` steps on all targets, if there are any with an effect."""
    batches = list(make_batches(targets))
    for _ in range(plan.epochs if batches else 0):
        for batch in batches:
            _loss(policy, batch, plan, reference).backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), plan.max_norm)
        optimizer.step()
        optimizer.zero_grad()


def teach(
    critic: Critic, targets: Sequence[Target], optimizer: torch.optim.Optimizer, plan: Updates
) -> float:
    """Take `plan.epochs` steps of the critic on all targets; return the last loss."""
    loss = 0.0
    batches = list(make_batches(targets))
    for _ in range(plan.epochs):
        loss = 0.0
        for batch in batches:
            assert batch.old_values is not None
            assert batch.returns is not None
            part = value_loss(
                batch.values(critic), batch.old_values, batch.returns, batch.weights, plan.value_clip
            )
            part.backward()
            loss += part.item()
        torch.nn.utils.clip_grad_norm_(critic.parameters(), plan.max_norm)
        optimizer.step()
        optimizer.zero_grad()
    return loss


def _loss(policy: TinyPolicy, batch: Batch, plan: Updates, reference: TinyPolicy | None) -> torch.Tensor:
    loss = surrogate_loss(
        batch.logprobs(policy),
        batch.old_logprobs,
        batch.advantages,
        batch.weights,
        clip=plan.clip,
        reference=batch.logprobs(reference) if reference and plan.beta else None,
        beta=plan.beta,
    )
    if plan.entropy:
        loss = loss - plan.entropy * (batch.weights * batch.entropy(policy)).sum()
    return loss


def _evaluate(
    settings: Settings, environment: Environment, policy: TinyPolicy, run: Run, update: int
) -> None:
    """Record the sampled policy's results on tasks that are the same at each evaluation."""
    trajectories = roll_out(
        policy,
        environment,
        make_evaluation_tasks(environment, settings.seed, settings.updates.evaluation_tasks),
        torch.Generator().manual_seed(settings.seed),
        version=update,
    )
    run.record(kind="evaluation", update=update, **describe(trajectories))


def make_evaluation_tasks(environment: Environment, seed: int, count: int) -> list[Task]:
    """Make tasks of all difficulties, from random numbers that no training with this seed uses."""
    draw = random.Random(f"evaluation {seed}")
    return [environment.sample(draw, (index + 0.5) / count) for index in range(count)]


def describe(trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    """Return the metrics of a set of rollouts, each averaged over rollouts.

    `length` counts turns. `summarised` is the share with a summary, `success_summarised` their reward (None
    without any): SUPO's summarisation rate and conditional success rate. `quality` is the mean over all turns
    that have one."""
    summarised = [t.reward for t in trajectories if t.resets]
    qualities = [turn.quality for t in trajectories for turn in t.turns if turn.quality is not None]
    return {
        "reward": fmean(t.reward for t in trajectories),
        "length": fmean(len(t.turns) for t in trajectories),
        "summarised": len(summarised) / len(trajectories),
        "success_summarised": fmean(summarised) if summarised else None,
        "quality": fmean(qualities) if qualities else None,
        **{name: fmean(t.outcome == name for t in trajectories) for name in OUTCOMES},
    }
