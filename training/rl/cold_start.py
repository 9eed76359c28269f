"""The cold start: supervised training on a scripted expert's replies.

The loss covers only the tokens that the expert wrote, not prompts or the environment's answers. A trajectory
is cut into segments like a rollout, so that after a reset the policy learns from the context that it will see
(ZipRL, appendix A, cuts into turns; the paper does not say whether observations are masked).
"""

from __future__ import annotations

import random

import torch

from training.optimisation import set_learning_rate, triangle
from training.rl.batches import make_batches
from training.rl.episode import Environment, Task
from training.rl.rollout import Generation, Recorder
from training.rl.targets import Target, spread_over_turns
from training.rl.tiny import TinyPolicy
from training.rl.trajectory import Segment, Trajectory, Turn
from training.run import show_progress


def record_demonstration(
    environment: Environment, task: Task, draw: random.Random, *, flawed: bool = False
) -> tuple[tuple[Segment, ...], float]:
    """Return the segments of the expert's rollout, with log-probabilities 0, and its reward.

    SUPO drops a turn that would overfill the context. Here such a turn is a segment of its own. Without these
    segments, answers would be the only replies that the policy sees in an almost full context, and it would
    learn to answer there.
    """
    dropped_turns: list[Segment] = []
    trajectory = demonstrate(environment, task, draw, flawed=flawed, dropped_turns=dropped_turns)
    return (*trajectory.segments, *dropped_turns), trajectory.reward


def demonstrate(
    environment: Environment,
    task: Task,
    draw: random.Random,
    *,
    flawed: bool = False,
    dropped_turns: list[Segment] | None = None,
) -> Trajectory:
    """Return the expert's rollout, with log-probabilities 0. It has no dropped turns; they are appended to
    `dropped_turns`."""
    episode, recorder = task.start(), Recorder()
    context = episode.context()
    for reply in environment.demonstrate(episode, draw, flawed=flawed):
        recorder.read(context)
        quality = episode.step(reply)
        recorder.write(Generation(reply, [0.0] * len(reply)), quality)
        if episode.dropped_turn:
            recorder.drop_turn()
            if dropped_turns is not None:
                tokens = (*context, *reply)
                turn = Turn(len(context), len(tokens))
                dropped_turns.append(Segment(tokens, (0.0,) * len(tokens), (turn,)))
        if episode.outcome is not None:
            break
        context = episode.context()
    outcome = episode.outcome or "turns"
    return Trajectory(task.id, recorder.finish(), episode.reward, outcome, facts=dict(episode.facts))


def imitate(
    policy: TinyPolicy,
    environment: Environment,
    draw: random.Random,
    *,
    steps: int,
    tasks: int = 32,
    learning_rate: float = 2e-3,
    visible: bool = False,
) -> float:
    """Train `policy` for `steps` steps, each on `tasks` demonstrations of all difficulties; return the last
    loss in nats per token. The demonstrations are flawed (`Environment.demonstrate`)."""
    optimizer = torch.optim.AdamW(policy.parameters(), lr=learning_rate, weight_decay=0.01)
    loss = 0.0
    for step in show_progress("cold start", range(steps), visible=visible):
        segments: list[Segment] = []
        for _ in range(tasks):
            task = environment.sample(draw, draw.random())
            segments += record_demonstration(environment, task, draw, flawed=True)[0]
        set_learning_rate(optimizer, learning_rate * triangle((step + 0.5) / steps, 0.1))
        loss = fit(policy, segments, optimizer)
    return loss


def fit(policy: TinyPolicy, segments: list[Segment], optimizer: torch.optim.Optimizer) -> float:
    """Take one step of cross-entropy on the written tokens of `segments`; return the loss in nats per
    token."""
    written = sum(turn.end - turn.start for segment in segments for turn in segment.turns)
    loss = 0.0
    for batch in make_batches([_make_target(segment, 1 / written) for segment in segments]):
        part = -(batch.weights * batch.logprobs(policy)).sum()
        part.backward()
        loss += part.item()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return loss


def _make_target(segment: Segment, weight: float) -> Target:
    turns = len(segment.turns)
    return Target(
        segment, spread_over_turns(segment, [1.0] * turns), spread_over_turns(segment, [weight] * turns)
    )
