"""EFFCOMP Phase II, one run's state and the passes of an epoch (section 3.2, Algorithm 1)."""

from __future__ import annotations

import random
import time
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from tqdm import tqdm

from benchmarks.shared.readers import Reader
from training.optimisation import adamw
from training.selector.config import check_keys
from training.selector.environment import Outcome, State, judge
from training.selector.losses import balanced_bce
from training.selector.model import SelectorModel
from training.selector.policy import advantages, divergence, log_likelihood, policy_loss, sample
from training.selector.train import PART_TOKENS
from training.selector.trajectories import BestTrajectories
from training.selector.trunk import Trunk

Strategy = Literal["hybrid", "rl", "sl"]


@dataclass(frozen=True, slots=True)
class Phase2Config:
    """Defaults are the paper's (appendix B.2)."""

    questions: int
    """Training questions, after the filter; multi-hop ones are taken first."""
    validation: int
    """Held-out questions, not filtered: what compression gains counts like what it loses."""
    learning_rate: float = 1e-6
    alpha: float = 0.95
    """Weight of a right answer against compression (eq. 2)."""
    group: int = 8
    """Actions sampled per question."""
    epsilon: float = 0.2
    """Clip of the likelihood ratio (eq. 4)."""
    entropy_weight: float = 0.1
    """lambda (eq. 6)."""
    rollout_size: int = 128
    """Questions between two updates of the sampling policy; the last ones of an epoch may be fewer."""
    updates: int = 4
    """Passes over a rollout."""
    batch: int = 8
    """Questions of one optimiser step."""
    target_kl: float = 0.02
    """Divergence from the sampling policy that ends the passes over a rollout."""
    max_grad_norm: float = 0.5
    weight_decay: float = 0.01
    epochs: int = 3
    strategy: Strategy = "hybrid"
    """Both passes of an epoch, or one of them: the ablation of appendix D.8."""
    trained_layers: int | None = None
    """Encoder layers that learn, from the top; all by default."""
    seed: int = 13


def load_phase2_config(path: Path) -> Phase2Config:
    """Parse a TOML file. Raises ValueError naming an unknown or missing key."""
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        check_keys(Phase2Config, values)
        config = Phase2Config(**values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    if config.strategy not in get_args(Strategy):
        raise ValueError(f"{path}: strategy is {config.strategy!r}, not one of {get_args(Strategy)}")
    return config


class Phase2:
    """One run: states, the policy, the memory, and the passes of an epoch."""

    def __init__(
        self, config: Phase2Config, model: SelectorModel, pad_id: int, reader: Reader, train: Sequence[State]
    ) -> None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self.config, self.model, self.reader, self.states = config, model.to(device), reader, train
        self.trunk = Trunk(model, config.trained_layers, pad_id, PART_TOKENS[device])
        self.optimizer = adamw(model, config.learning_rate, config.weight_decay)
        self.memory = BestTrajectories()
        self.rng = random.Random(config.seed)
        self.generator = torch.Generator().manual_seed(config.seed)
        self.skipped = 0
        """Questions left out of a rollout because the reader failed on them."""

    def logits(self, states: Sequence[State]) -> list[Tensor]:
        """Keep logits (m,) of every state."""
        windows = [w for s in states for w in s.windows]
        keys = [(s.group.source, s.group.id, i) for s in states for i in range(len(s.windows))]
        found = iter(self.trunk.keep_logits(windows, keys))
        return [s.logits(torch.cat([next(found) for _ in s.windows])) for s in states]

    @torch.no_grad()
    def sampling_logits(self, states: Sequence[State]) -> list[Tensor]:
        """Logits of the policy as it is, on the CPU, a batch at a time."""
        parts = [states[i : i + self.config.batch] for i in range(0, len(states), self.config.batch)]
        return [x.cpu() for part in parts for x in self.logits(part)]

    def seed_memory(self) -> None:
        """The pretrained policy's most likely action of every question enters the memory, where the reader
        does not fail on it."""
        logits = self.sampling_logits(self.states)
        actions = [(x > 0).float() for x in logits]
        outcomes = judge(self.reader, list(zip(self.states, actions, strict=True)), self.config.alpha)
        for number, (action, outcome) in enumerate(zip(actions, outcomes, strict=True)):
            if outcome:
                self.memory.update(number, [action], [outcome.reward])

    def epoch(self) -> dict[str, Any]:
        """One pass of Algorithm 1's outer loop; what happened in it."""
        facts: dict[str, Any] = {}
        started = time.monotonic()
        order = list(range(len(self.states)))
        self.rng.shuffle(order)
        self.skipped = 0
        outcomes: list[Outcome] = []
        divergences: list[float] = []
        size = self.config.rollout_size
        for at in tqdm(range(0, len(order), size), desc="rollouts", mininterval=10):
            rollout, found = self.collect(order[at : at + size])
            outcomes += found
            if self.config.strategy != "sl":
                divergences.append(self.reinforce(rollout))
        facts["train"] = averages(outcomes)
        facts["skipped"] = self.skipped
        if divergences:
            facts["kl"] = round(sum(divergences) / len(divergences), 5)
        facts["rl_seconds"] = round(time.monotonic() - started)
        started = time.monotonic()
        if self.config.strategy != "rl":
            facts["learned"] = self.supervise()
        facts["sl_seconds"] = round(time.monotonic() - started)
        return facts

    def collect(self, numbers: Sequence[int]) -> tuple[list[Rollout], list[Outcome]]:
        """Sample a group of actions for each question, have them judged, remember the best."""
        states = [self.states[i] for i in numbers]
        logits = self.sampling_logits(states)
        groups = [sample(x, self.config.group, self.generator) for x in logits]
        pairs = [(s, a) for s, group in zip(states, groups, strict=True) for a in group]
        judged = judge(self.reader, pairs, self.config.alpha)
        rollouts: list[Rollout] = []
        outcomes: list[Outcome] = []
        for row, number in enumerate(numbers):
            mine = [o for o in judged[row * self.config.group : (row + 1) * self.config.group] if o]
            if len(mine) < self.config.group:
                self.skipped += 1
                continue
            outcomes += mine
            rewards = [o.reward for o in mine]
            self.memory.update(number, list(groups[row]), rewards)
            rollouts.append(Rollout(number, groups[row], logits[row], advantages(torch.tensor(rewards))))
        return rollouts, outcomes

    def reinforce(self, rollouts: list[Rollout]) -> float:
        """Update the policy on a rollout by eq. 6; the divergence from the policy that sampled it, as met on
        the last pass, each question before its own step."""
        c = self.config
        reached = 0.0
        for _ in range(c.updates):
            self.rng.shuffle(rollouts)
            seen: list[float] = []
            for at in range(0, len(rollouts), c.batch):
                batch = rollouts[at : at + c.batch]
                losses: list[Tensor] = []
                for rollout, logits in zip(
                    batch, self.logits([self.states[r.state] for r in batch]), strict=True
                ):
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
                    seen.append(float(divergence(old, logits.detach())))
                self._step(torch.stack(losses).mean())
            reached = sum(seen) / max(1, len(seen))
            if reached > c.target_kl:
                break
        return reached

    def supervise(self) -> int:
        """Learn every best action that is new since the last epoch, once; how many there were."""
        fresh = self.memory.take_fresh()
        self.rng.shuffle(fresh)
        for at in range(0, len(fresh), self.config.batch):
            batch = fresh[at : at + self.config.batch]
            logits = torch.cat(self.logits([self.states[number] for number, _ in batch]))
            labels = torch.cat([action for _, action in batch]).to(logits.device)
            self._step(balanced_bce(logits, labels))
        return len(fresh)

    def state(self) -> dict[str, Any]:
        """What `restore` needs to go on after an epoch."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "memory": self.memory.state(),
            "rng": self.rng.getstate(),
            "generator": self.generator.get_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.memory.restore(state["memory"])
        self.rng.setstate(state["rng"])
        self.generator.set_state(state["generator"])

    def validate(self, states: Sequence[State]) -> dict[str, Any]:
        """Reward, Acc and rate of the most likely actions, and labelled sentences kept, in all and by set."""
        actions = [(x > 0).float() for x in self.sampling_logits(states)]
        judged = judge(self.reader, list(zip(states, actions, strict=True)), self.config.alpha)
        if None in judged:
            raise RuntimeError(
                f"the reader failed on {judged.count(None)} of {len(judged)} validation questions, so epochs "
                "cannot be compared. Mend it and run the same command again: it goes on from here."
            )
        table: dict[str, list[tuple[Outcome, int, int]]] = defaultdict(list)
        for state, action, outcome in zip(states, actions, judged, strict=True):
            assert outcome is not None
            labels = torch.tensor([y for d in state.group.documents for y in d.labels])
            row = outcome, int(action[labels == 1].sum()), int((labels == 1).sum())
            table["all"].append(row)
            table[state.group.source].append(row)
        return {
            name: {
                **averages([o for o, _, _ in rows]),
                "support": round(100 * sum(k for _, k, _ in rows) / max(1, sum(n for _, _, n in rows)), 1),
                "questions": len(rows),
            }
            for name, rows in sorted(table.items())
        }

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
    """A question, its sampled actions (g, m), the logits (m,) that they were drawn from, advantages (g,)."""

    state: int
    actions: Tensor
    logits: Tensor
    advantages: Tensor


def averages(outcomes: Sequence[Outcome]) -> dict[str, float]:
    count = max(1, len(outcomes))
    return {
        "reward": round(sum(o.reward for o in outcomes) / count, 4),
        "acc": round(100 * sum(o.correct for o in outcomes) / count, 1),
        "rate": round(100 * sum(o.rate for o in outcomes) / count, 1),
    }
