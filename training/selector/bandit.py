"""Settings and trainer of EFFCOMP's Phase II (section 3.2, Algorithm 1)."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from benchmarks.shared.readers import Reader
from training.checkpoint import Part
from training.optimisation import adamw
from training.run import show_progress
from training.selector.environment import Feedback, Observation, get_feedback
from training.selector.losses import balanced_bce
from training.selector.policy import advantages, divergence, log_likelihood, policy_loss, sample
from training.selector.replay import ReplayBuffer
from training.selector.trunk import Trunk
from training.selector_model.batching import PART_TOKENS
from training.selector_model.model import SelectorModel

Strategy = Literal["hybrid", "rl", "sl"]


@dataclass(frozen=True, slots=True)
class Phase2Config:
    """Settings of Phase II; the defaults are the paper's (appendix B.2)."""

    questions: int
    """Number of training questions, after the filter; multi-hop ones are taken first."""
    validation: int
    """Number of held-out questions. They are not filtered, so that answers gained by compression count as
    much as lost ones."""
    learning_rate: float = 1e-6
    alpha: float = 0.95
    """Weight of a correct answer against compression (eq. 2)."""
    group: int = 8
    """Number of actions sampled per question."""
    epsilon: float = 0.2
    """Limit of the likelihood ratio (eq. 4)."""
    entropy_weight: float = 0.1
    """lambda (eq. 6)."""
    rollout_size: int = 128
    """Number of questions between two updates of the sampling policy; fewer at the end of an epoch."""
    updates: int = 4
    """Number of passes over a rollout."""
    batch: int = 8
    """Number of questions of one optimiser step."""
    target_kl: float = 0.02
    """Maximum divergence from the sampling policy; a larger one ends the passes over a rollout."""
    max_grad_norm: float = 0.5
    weight_decay: float = 0.01
    epochs: int = 3
    strategy: Strategy = "hybrid"
    """The passes of an epoch: "rl", "sl", or both ("hybrid"). Appendix D.8 compares them."""
    max_docs: int | None = None
    """Number of documents that step 1 keeps, best first (section 3). None keeps all, in their order."""
    trained_layers: int | None = None
    """Encoder layers that learn, from the top; all by default."""
    seed: int = 13


class Phase2:
    """Trainer of a policy, with its questions and its replay buffer."""

    def __init__(
        self,
        config: Phase2Config,
        model: SelectorModel,
        pad_id: int,
        reader: Reader,
        train: Sequence[Observation],
    ) -> None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self.config, self.model, self.reader, self.observations = config, model.to(device), reader, train
        self.trunk = Trunk(model, config.trained_layers, pad_id, PART_TOKENS[device])
        self.optimizer = adamw(model, config.learning_rate, config.weight_decay)
        self.replay = ReplayBuffer()
        self.rng = random.Random(config.seed)
        self.generator = torch.Generator().manual_seed(config.seed)
        self.skipped = 0
        """Number of questions that were skipped because the reader failed on them."""

    def compute_logits(self, observations: Sequence[Observation]) -> list[Tensor]:
        """Return the keep logits (m,) of each observation."""
        windows = [w for o in observations for w in o.windows]
        keys = [(o.group.source, o.group.id, i) for o in observations for i in range(len(o.windows))]
        rows = iter(self.trunk.keep_logits(windows, keys))
        return [o.gather_logits(torch.cat([next(rows) for _ in o.windows])) for o in observations]

    @torch.no_grad()
    def compute_sampling_logits(self, observations: Sequence[Observation]) -> list[Tensor]:
        """Return the keep logits (m,) of the current policy, without gradients, on the CPU."""
        size = self.config.batch
        parts = [observations[i : i + size] for i in range(0, len(observations), size)]
        return [x.cpu() for part in parts for x in self.compute_logits(part)]

    def fill_replay_buffer(self) -> None:
        """Store the pretrained policy's most likely action for each question. Skip questions on which the
        reader fails."""
        actions, feedback = self._evaluate(self.observations)
        for number, (action, result) in enumerate(zip(actions, feedback, strict=True)):
            if result:
                self.replay.update(number, [action], [result.reward])

    def train_epoch(self) -> dict[str, Any]:
        """Run one pass of Algorithm 1's outer loop, and return what the history records of it."""
        facts: dict[str, Any] = {}
        started = time.monotonic()
        order = list(range(len(self.observations)))
        self.rng.shuffle(order)
        self.skipped = 0
        feedback: list[Feedback] = []
        divergences: list[float] = []
        size = self.config.rollout_size
        for at in show_progress("rollouts", range(0, len(order), size)):
            rollouts, received = self.collect(order[at : at + size])
            feedback += received
            if self.config.strategy != "sl":
                divergences.append(self.reinforce(rollouts))
        facts["train"] = average(feedback)
        facts["skipped"] = self.skipped
        if divergences:
            facts["kl"] = round(sum(divergences) / len(divergences), 5)
        facts["rl_seconds"] = round(time.monotonic() - started)
        started = time.monotonic()
        if self.config.strategy != "rl":
            facts["learned"] = self.supervise()
        facts["sl_seconds"] = round(time.monotonic() - started)
        return facts

    def collect(self, numbers: Sequence[int]) -> tuple[list[Rollout], list[Feedback]]:
        """Sample a group of actions for each question, get the reader's feedback, store the best actions."""
        size = self.config.group
        observations = [self.observations[i] for i in numbers]
        logits = self.compute_sampling_logits(observations)
        groups = [sample(x, size, self.generator) for x in logits]
        pairs = [(o, a) for o, group in zip(observations, groups, strict=True) for a in group]
        results = get_feedback(self.reader, pairs, self.config.alpha)
        rollouts: list[Rollout] = []
        feedback: list[Feedback] = []
        for row, number in enumerate(numbers):
            own = [f for f in results[row * size : (row + 1) * size] if f]
            if len(own) < size:
                self.skipped += 1
                continue
            feedback += own
            rewards = [f.reward for f in own]
            self.replay.update(number, list(groups[row]), rewards)
            rollouts.append(Rollout(number, groups[row], logits[row], advantages(torch.tensor(rewards))))
        return rollouts, feedback

    def reinforce(self, rollouts: list[Rollout]) -> float:
        """Update the policy by eq. 6. Return the mean divergence from the sampling policy in the last pass,
        measured for each question before its step."""
        c = self.config
        mean = 0.0
        for _ in range(c.updates):
            self.rng.shuffle(rollouts)
            divergences: list[float] = []
            for at in range(0, len(rollouts), c.batch):
                batch = rollouts[at : at + c.batch]
                losses: list[Tensor] = []
                rows = self.compute_logits([self.observations[r.question] for r in batch])
                for rollout, logits in zip(batch, rows, strict=True):
                    old, actions = rollout.logits.to(logits.device), rollout.actions.to(logits.device)
                    losses.append(
                        policy_loss(
                            logits,
                            actions,
                            log_likelihood(old, actions),
                            rollout.advantages.to(logits.device),
                            epsilon=c.epsilon,
                            entropy_weight=c.entropy_weight,
                        )
                    )
                    divergences.append(float(divergence(old, logits.detach())))
                self._step(torch.stack(losses).mean())
            mean = sum(divergences) / max(1, len(divergences))
            if mean > c.target_kl:
                break
        return mean

    def supervise(self) -> int:
        """Learn each best action that is new since the last epoch once, and return how many were new."""
        new = self.replay.take_new()
        self.rng.shuffle(new)
        for at in range(0, len(new), self.config.batch):
            batch = new[at : at + self.config.batch]
            logits = torch.cat(self.compute_logits([self.observations[number] for number, _ in batch]))
            labels = torch.cat([action for _, action in batch]).to(logits.device)
            self._step(balanced_bce(logits, labels))
        return len(new)

    def parts(self) -> dict[str, Part]:
        """Return everything that a checkpoint saves."""
        return {
            "model": self.model,
            "optimizer": self.optimizer,
            "replay": self.replay,
            "rng": self.rng,
            "generator": self.generator,
        }

    def validate(self, observations: Sequence[Observation]) -> dict[str, Any]:
        """Score the most likely actions, over all questions and for each set.

        Returns the mean reward, and the percentages of correct answers, of tokens kept and of labelled
        sentences kept.

        Raises RuntimeError if the reader fails on a question.
        """
        actions, feedback = self._evaluate(observations)
        if None in feedback:
            raise RuntimeError(
                f"the reader failed on {feedback.count(None)} of {len(feedback)} validation questions, so "
                "epochs cannot be compared. Fix the reader and run the same command again; it continues "
                "from here."
            )
        table: dict[str, list[tuple[Feedback, int, int]]] = defaultdict(list)
        for observation, action, result in zip(observations, actions, feedback, strict=True):
            assert result is not None
            labels = torch.tensor([y for d in observation.group.documents for y in d.labels])
            row = result, int(action[labels == 1].sum()), observation.supports
            table["all"].append(row)
            table[observation.group.source].append(row)
        return {
            name: {
                **average([f for f, _, _ in rows]),
                "support": round(100 * sum(k for _, k, _ in rows) / max(1, sum(n for _, _, n in rows)), 1),
                "questions": len(rows),
            }
            for name, rows in sorted(table.items())
        }

    def _evaluate(self, observations: Sequence[Observation]) -> tuple[list[Tensor], list[Feedback | None]]:
        """Return the most likely action (m,) for each observation, and the reader's feedback on it."""
        actions = [(x > 0).float() for x in self.compute_sampling_logits(observations)]
        pairs = list(zip(observations, actions, strict=True))
        return actions, get_feedback(self.reader, pairs, self.config.alpha)

    def _step(self, loss: Tensor) -> None:
        if not torch.isfinite(loss.detach()):
            raise FloatingPointError(f"loss is {float(loss)}; lower learning_rate")
        loss.backward()
        trained = [p for group in self.optimizer.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(trained, self.config.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


@dataclass(frozen=True, slots=True)
class Rollout:
    """The actions sampled for one question."""

    question: int
    """Index among the training questions."""
    actions: Tensor
    """(g, m) 1 keeps a sentence, 0 drops it."""
    logits: Tensor
    """(m,) logits that the actions were sampled from."""
    advantages: Tensor
    """(g,)"""


def average(feedback: Sequence[Feedback]) -> dict[str, float]:
    """Return the mean reward, and the shares of correct answers and of tokens kept, in percent."""
    count = max(1, len(feedback))
    return {
        "reward": round(sum(f.reward for f in feedback) / count, 4),
        "acc": round(100 * sum(f.correct for f in feedback) / count, 1),
        "rate": round(100 * sum(f.rate for f in feedback) / count, 1),
    }
