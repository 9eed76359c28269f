"""Replies of a causal language model on a GPU, where each decoding step replays one CUDA graph.

The rows of a batch keep their places until the last one ends, because the shapes in a graph are fixed. On an
H100, a step of 128 rows of a model of half a billion parameters with an adapter takes 11 ms in place of 60 to
190 (`training/LOG.md`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers.cache_utils import Cache
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from training.rl.language.generate import TransformersPolicy
from training.rl.rollout import Generation

_ATTENTION = "grouped"
_BLOCK = 256
"""The number of columns is a multiple of this one, so that few batches need a new graph."""
_WARM_UPS = 2
"""Number of steps before the capture of a graph, for allocations that a graph must not hold."""


class SlotsPolicy(TransformersPolicy):
    """Sampler like `TransformersPolicy`, with the same replies except for rounding, for a model on a GPU."""

    def __init__(self, model: Any, tokenizer: Any, *, rows: int = 128, **options: Any) -> None:
        super().__init__(model, tokenizer, rows=rows, **options)
        self._decoder: _Decoder | None = None

    @torch.no_grad()
    def _continue(
        self, keys: list[int], contexts: Mapping[int, Sequence[int]]
    ) -> Iterator[tuple[int, Generation]]:
        logits, cache, mask = self._read_prompts(keys, contexts)
        decoder = self._find_decoder(mask.shape[1] + self._max_reply)
        decoder.start(cache, mask)
        replies: list[list[int]] = [[] for _ in keys]
        chances: list[list[float]] = [[] for _ in keys]
        going = set(range(len(keys)))
        while True:
            chosen, logprobs = self._choose(logits)
            tokens, values = chosen.tolist(), logprobs.tolist()
            for row in tuple(going):
                replies[row].append(tokens[row])
                chances[row].append(values[row])
                if self._is_over(replies[row]):
                    going.remove(row)
            if not going:
                break
            logits = decoder.step(chosen)
        for key, reply, chance in zip(keys, replies, chances, strict=True):
            yield key, Generation(reply, chance)

    def _find_decoder(self, columns: int) -> _Decoder:
        if self._decoder is None or self._decoder.columns < columns:
            self._decoder = None  # frees its memory first
            self._decoder = _Decoder(self._model, self._rows, -(-columns // _BLOCK) * _BLOCK)
        return self._decoder


@dataclass(frozen=True, slots=True)
class _Layer:
    """Keys and values (rows, groups, columns, width) of one layer."""

    keys: Tensor
    values: Tensor


class _Slots(Cache):
    """Keys and values of a fixed number of rows and columns. A step writes them in column `column`."""

    def __init__(self, config: Any, rows: int, columns: int, like: Tensor) -> None:
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        shape = (rows, config.num_key_value_heads, columns, width)
        layers: list[Any] = [
            _Layer(like.new_zeros(shape), like.new_zeros(shape)) for _ in range(config.num_hidden_layers)
        ]
        super().__init__(layers=layers)
        self._columns = columns
        self.column = torch.zeros(1, dtype=torch.long, device=like.device)

    def fill(self, cache: Any) -> None:
        """Copy the states of prompts into the first rows and columns."""
        for own, layer in zip(self.layers, cache.layers, strict=True):
            count, _, length, _ = layer.keys.shape
            own.keys[:count, :, :length] = layer.keys
            own.values[:count, :, :length] = layer.values

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        layer = self.layers[layer_idx]
        layer.keys.index_copy_(2, self.column, key_states)
        layer.values.index_copy_(2, self.column, value_states)
        return layer.keys, layer.values

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self._columns


class _Decoder:
    """Decoder of up to `rows` replies, each with its prompt in up to `columns` tokens."""

    def __init__(self, model: Any, rows: int, columns: int) -> None:
        self._model, self.columns = model, columns
        embeddings = model.get_input_embeddings().weight
        zeros = torch.zeros(rows, 1, dtype=torch.long, device=embeddings.device)
        self._tokens, self._places = zeros, zeros.clone()
        self._mask = torch.zeros(rows, 1, 1, columns, dtype=torch.bool, device=embeddings.device)
        self._cache = _Slots(model.config, rows, columns, embeddings.detach())
        self._graph: torch.cuda.CUDAGraph | None = None
        self._logits: Tensor | None = None

    def start(self, cache: Any, mask: Tensor) -> None:
        """Begin replies to prompts whose states are in `cache`, with their mask (prompts, length)."""
        self._cache.fill(cache)
        self._cache.column.fill_(mask.shape[1])
        self._mask.zero_()
        self._mask[: len(mask), 0, 0, : mask.shape[1]] = mask.bool()
        self._mask[len(mask) :, ..., 0] = True  # a row without any column would give NaN
        self._places.zero_()
        self._places[: len(mask), 0] = mask.sum(1)

    def step(self, tokens: Tensor) -> Tensor:
        """Return the logits (prompts, vocabulary) after one more token for each prompt."""
        self._tokens[: len(tokens), 0] = tokens
        if not self._tokens.is_cuda:
            logits = self._read()
        else:
            if self._graph is None:
                self._graph = self._capture()
            self._graph.replay()
            assert self._logits is not None
            logits = self._logits
        self._places += 1
        self._cache.column += 1
        return logits[: len(tokens)]

    def _read(self) -> Tensor:
        self._mask.index_fill_(3, self._cache.column, True)
        config = self._model.config
        usual, config._attn_implementation = config._attn_implementation, _ATTENTION
        try:
            output = self._model(
                input_ids=self._tokens,
                attention_mask=self._mask,
                position_ids=self._places,
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=1,
            )
        finally:
            config._attn_implementation = usual
        return output.logits[:, -1].float()

    def _capture(self) -> torch.cuda.CUDAGraph:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UPS):
                self._read()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._logits = self._read()
        return graph


def _attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    scaling: float | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Compute attention for one token of each row. The heads that share keys are the rows of one product:
    transformers would copy the keys for each head."""
    rows, heads, _, width = query.shape
    groups = key.shape[1]
    shared = query.reshape(rows, groups, heads // groups, width)
    mask = attention_mask.expand(rows, groups, heads // groups, -1)
    out = functional.scaled_dot_product_attention(shared, key, value, attn_mask=mask, scale=scaling)
    return out.reshape(rows, 1, heads, width), None


ALL_ATTENTION_FUNCTIONS.register(_ATTENTION, _attend)
