"""Padded batches of targets, and the log-probabilities that a policy gives to their tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from training.rl.critic import Critic
from training.rl.targets import Target
from training.rl.tiny import TinyPolicy

MAX_TOKENS = 4096
"""Maximum number of tokens in a batch, padding included; larger batches do not make a small model faster."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of tokens, and flat tensors with the position and the values of each token that the policy
    wrote."""

    tokens: Tensor
    """(rows, length), padded on the right."""
    rows: Tensor
    """(written,)"""
    columns: Tensor
    """(written,), never 0: the first token of a segment belongs to its prompt."""
    old_logprobs: Tensor
    advantages: Tensor
    weights: Tensor
    old_values: Tensor | None
    returns: Tensor | None

    def logprobs(self, policy: TinyPolicy) -> Tensor:
        """Return (written,) log-probabilities of the tokens under `policy`."""
        logits, written = self._read(policy), self.tokens[self.rows, self.columns]
        return -functional.cross_entropy(logits, written, reduction="none")

    def entropy(self, policy: TinyPolicy) -> Tensor:
        """Return (written,) entropies of the choice of each token, in nats."""
        distribution = self._read(policy).log_softmax(-1)
        return -(distribution.exp() * distribution).sum(-1)

    def values(self, critic: Critic) -> Tensor:
        """Return (written,) values of `critic` before each token."""
        return critic(self.tokens)[self.rows, self.columns - 1]

    def _read(self, policy: TinyPolicy) -> Tensor:
        states = policy.states(self.tokens)[self.rows, self.columns - 1]
        return functional.linear(states, policy.tokens.weight)


def make_batches(targets: Sequence[Target]) -> Iterator[Batch]:
    """Yield batches of targets of similar length. Targets whose advantages are all zero are skipped unless a
    critic learns from them, because they change nothing."""
    moving = [target for target in targets if any(target.advantages) or target.returns]
    rows: list[Target] = []
    for target in sorted(moving, key=lambda target: len(target.segment.tokens)):
        if rows and (len(rows) + 1) * len(target.segment.tokens) > MAX_TOKENS:
            yield _pad(rows)
            rows = []
        rows.append(target)
    if rows:
        yield _pad(rows)


def _pad(targets: Sequence[Target]) -> Batch:
    tokens = pad_sequence([torch.tensor(t.segment.tokens) for t in targets], batch_first=True)
    mask = pad_sequence([torch.tensor(t.segment.mask) for t in targets], batch_first=True)
    rows, columns = mask.nonzero(as_tuple=True)

    def gather(values: Sequence[Sequence[float]]) -> Tensor:
        padded = pad_sequence([torch.tensor(row, dtype=torch.float32) for row in values], batch_first=True)
        return padded[rows, columns]

    values = [t.values for t in targets if t.values]
    returns = [t.returns for t in targets if t.returns]

    return Batch(
        tokens,
        rows,
        columns,
        gather([t.segment.logprobs for t in targets]),
        gather([t.advantages for t in targets]),
        gather([t.weights for t in targets]),
        gather(values) if values else None,
        gather(returns) if returns else None,
    )
