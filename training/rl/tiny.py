"""The tiny policy: a word-level transformer that two cores can train in minutes, and a sampler with a cache
for each episode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.rl.rollout import Generation

Cache = list[tuple[Tensor, Tensor]]
"""Keys and values of each layer, of shape (slots, heads, positions, width of a head)."""


@dataclass(frozen=True, slots=True)
class TinyConfig:
    """Sizes of the transformer."""

    layers: int = 3
    width: int = 96
    heads: int = 4
    embedding_std: float = 0.02
    """Standard deviation of the first embeddings. With 0.02, a policy learns late to copy a word that is in
    one of many places, because its states hardly show which words it read (training/LOG.md)."""


class TinyPolicy(nn.Module):
    """A decoder with rotary positions and tied embeddings; pre-norm, GELU.

    Args:
        vocabulary: number of words. positions: maximum number of tokens of a context with its reply.
    """

    def __init__(self, vocabulary: int, positions: int, config: TinyConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(vocabulary, config.width)
        self.positions = positions
        self.blocks = nn.ModuleList(_Block(config.width, config.heads) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        nn.init.normal_(self.tokens.weight, std=config.embedding_std)
        self.register_buffer("turns", _make_turns(positions, config.width // config.heads), persistent=False)

    def states(self, tokens: Tensor) -> Tensor:
        """Map (rows, length) token ids to (rows, length, width) states. Rows are padded on the right with any
        token."""
        x = self.tokens(tokens)
        turns = cast(Tensor, self.turns)[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x, turns)
        return self.norm(x)

    def forward(self, tokens: Tensor) -> Tensor:
        """Map (rows, length) token ids to (rows, length, vocabulary) logits of the next token."""
        return functional.linear(self.states(tokens), self.tokens.weight)

    def extend(self, tokens: Tensor, at: Tensor, slots: Tensor, cache: Cache) -> Tensor:
        """Read more tokens of some episodes whose earlier tokens are in the cache.

        Args:
            tokens: (rows, length), padded on the right. Cache entries of padding are overwritten before any
            token can see them. at: (rows,), number of tokens of each row in the cache. slots: (rows,), the
            cache slot of each row.

        Returns (rows, length, vocabulary) logits.
        """
        places = at[:, None] + torch.arange(tokens.shape[1])
        places.clamp_(max=self.positions - 1)
        x = self.tokens(tokens)
        turns = cast(Tensor, self.turns)[places][:, None]
        blocks = cast(Iterable[_Block], self.blocks)
        for block, (keys, values) in zip(blocks, cache, strict=True):
            x = block.extend(x, turns, places, slots, keys, values)
        return functional.linear(self.norm(x), self.tokens.weight)

    def make_cache(self, slots: int) -> Cache:
        config = self.config
        shape = (slots, config.heads, self.positions, config.width // config.heads)
        return [(torch.zeros(shape), torch.zeros(shape)) for _ in self.blocks]


class _Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm, self.feed_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project_in, self.project_out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor, turns: Tensor) -> Tensor:
        q, k, v = self._split(x, turns)
        return self._finish(x, functional.scaled_dot_product_attention(q, k, v, is_causal=True))

    def extend(
        self, x: Tensor, turns: Tensor, places: Tensor, slots: Tensor, keys: Tensor, values: Tensor
    ) -> Tensor:
        q, k, v = self._split(x, turns)
        keys[slots[:, None], :, places] = k.transpose(1, 2)
        values[slots[:, None], :, places] = v.transpose(1, 2)
        end = int(places.max()) + 1
        visible = torch.arange(end) <= places[:, None, :, None]
        attended = functional.scaled_dot_product_attention(
            q, keys[slots, :, :end], values[slots, :, :end], attn_mask=visible
        )
        return self._finish(x, attended)

    def _split(self, x: Tensor, turns: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows, length, width = x.shape
        parts = self.project_in(self.attention_norm(x)).view(rows, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        return _turn(q, turns), _turn(k, turns), v

    def _finish(self, x: Tensor, attended: Tensor) -> Tensor:
        x = x + self.project_out(attended.transpose(1, 2).reshape(x.shape))
        return x + self.feed(self.feed_norm(x))


def _make_turns(positions: int, width: int) -> Tensor:
    """Return (positions, width / 2, 2): cosine and sine of the rotation of each pair of a head at each
    position (RoFormer, equation 15)."""
    speeds = 10_000.0 ** (-torch.arange(0, width, 2) / width)
    angles = torch.arange(positions)[:, None] * speeds
    return torch.stack([angles.cos(), angles.sin()], dim=-1)


def _turn(x: Tensor, turns: Tensor) -> Tensor:
    """Rotate the two halves of each head."""
    a, b = x.chunk(2, dim=-1)
    cosine, sine = turns.unbind(-1)
    return torch.cat([a * cosine - b * sine, a * sine + b * cosine], dim=-1)


class Sampler:
    """Generator of replies for many episodes at once (`rollout.Policy`).

    Args:
        slots: number of episodes at once; their keys are 0 to slots - 1. stop: the token that ends a reply.
        max_reply: maximum number of tokens of a reply. random: draws the tokens; None takes the most probable
        one.
    """

    def __init__(
        self,
        model: TinyPolicy,
        *,
        slots: int,
        stop: int,
        max_reply: int,
        random: torch.Generator | None,
    ) -> None:
        self._model, self._stop, self._max_reply, self._random = model, stop, max_reply, random
        self._cache = model.make_cache(slots)
        self._read: list[list[int]] = [[] for _ in range(slots)]

    @torch.no_grad()
    def generate(self, contexts: dict[int, Sequence[int]]) -> dict[int, Generation]:
        """Continue each context. Raises ValueError for a context that leaves no room for a reply."""
        positions = self._model.positions
        if (longest := max(map(len, contexts.values()))) + self._max_reply > positions:
            raise ValueError(
                f"A context of {longest} tokens leaves no room for a reply of {self._max_reply} within"
                f" {positions} positions: give the policy more positions."
            )
        active = list(contexts)
        pending = {slot: self._unread(slot, contexts[slot]) for slot in active}
        tokens: dict[int, list[int]] = {slot: [] for slot in active}
        logprobs: dict[int, list[float]] = {slot: [] for slot in active}
        while active:
            distribution = functional.log_softmax(self._advance(active, pending), dim=-1)
            chosen = self._choose(distribution)
            chances = distribution.gather(1, chosen[:, None])[:, 0].tolist()
            for slot, token, chance in zip(active, chosen.tolist(), chances, strict=True):
                tokens[slot].append(token)
                logprobs[slot].append(chance)
                pending[slot] = [token]
            active = [s for s in active if tokens[s][-1] != self._stop and len(tokens[s]) < self._max_reply]
        return {slot: Generation(tokens[slot], logprobs[slot]) for slot in contexts}

    def _unread(self, slot: int, context: Sequence[int]) -> list[int]:
        """Return the end of the context that is not in the cache, at least its last token."""
        read, same = self._read[slot], 0
        for old, new in zip(read, context[:-1], strict=False):
            if old != new:
                break
            same += 1
        del read[same:]
        return list(context[same:])

    def _advance(self, active: list[int], pending: dict[int, list[int]]) -> Tensor:
        """Read the pending tokens, and return the logits after the last token of each row."""
        lengths = torch.tensor([len(pending[slot]) for slot in active])
        tokens = nn.utils.rnn.pad_sequence(
            [torch.tensor(pending[slot]) for slot in active], batch_first=True, padding_value=self._stop
        )
        at = torch.tensor([len(self._read[slot]) for slot in active])
        logits = self._model.extend(tokens, at, torch.tensor(active), self._cache)
        for slot in active:
            self._read[slot] += pending[slot]
        return logits[torch.arange(len(active)), lengths - 1]

    def _choose(self, distribution: Tensor) -> Tensor:
        if self._random is None:
            return distribution.argmax(-1)
        return torch.multinomial(distribution.exp(), 1, generator=self._random)[:, 0]
