"""Run a BERT encoder without padding, and compute attention without float32 copies.

All layers except attention work on the tokens of a batch as one list; attention gets rows of equal length. In
bf16 on a CPU a training step takes a quarter less time than with the encoder's `forward` (`training/LOG.md`).
The result is the same except for rounding.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from training.selector_model.rounding import round_inputs, round_rows, round_weight

_EXCLUDED = -1e9
"""Amount added to the attention logits of padding."""


def can_pack(encoder: Any) -> bool:
    """Return whether `encode_packed` supports this encoder: BERT with absolute positions, GELU, and no
    dropout."""
    config = encoder.config
    return (
        config.model_type == "bert"
        and config.hidden_act == "gelu"
        and getattr(config, "position_embedding_type", "absolute") == "absolute"
        and not any(isinstance(m, torch.nn.Dropout) and m.p > 0 and m.training for m in encoder.modules())
    )


def encode(encoder: Any, input_ids: Tensor, attention_mask: Tensor, *, int8: bool = False) -> Tensor:
    """Return the last hidden states (B, L, H), by `encode_packed` if it supports the encoder."""
    if can_pack(encoder):
        return encode_packed(encoder, input_ids, attention_mask, int8=int8)
    return encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


def encode_packed(encoder: Any, input_ids: Tensor, attention_mask: Tensor, *, int8: bool = False) -> Tensor:
    """Return the last hidden states (B, L, H), zeros at padding. Padding must be at the end of a row.

    With `int8`, everything is rounded as in the exported graph (`training.selector_model.rounding`).
    """
    batch, length = input_ids.shape
    width, heads = encoder.config.hidden_size, encoder.config.num_attention_heads
    mask = attention_mask.bool()
    rows = mask.flatten().nonzero()[:, 0]
    linear = _Rounded(rows // length, batch) if int8 else functional.linear
    positions = torch.arange(length, device=input_ids.device).expand(batch, length)[mask]
    table = encoder.embeddings
    words = table.word_embeddings(input_ids[mask])
    if int8:
        words = round_rows(words, table.word_embeddings.weight)
    x = words + table.position_embeddings(positions)
    x = table.LayerNorm(x + table.token_type_embeddings.weight[0])
    bias = torch.where(mask, 0.0, _EXCLUDED)[:, None, None, :]
    for layer in encoder.encoder.layer:
        own = layer.attention.self
        scale = (width // heads) ** -0.5
        weight = torch.cat([own.query.weight * scale, own.key.weight, own.value.weight])
        offset = torch.cat([own.query.bias * scale, own.key.bias, own.value.bias])
        states = _spread(linear(x, weight, offset), rows, batch * length)
        q, k, v = states.view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4).flatten(1, 2)
        logits = torch.bmm(q, k.transpose(1, 2)).view(batch, heads, length, length)
        shares = _Softmax.apply(logits + bias.to(logits.dtype))
        seen = torch.bmm(shares.flatten(0, 1), v).view(batch, heads, length, -1)
        seen = seen.transpose(1, 2).reshape(batch * length, width)[rows]
        out, wide, narrow = layer.attention.output.dense, layer.intermediate.dense, layer.output.dense
        x = layer.attention.output.LayerNorm(linear(seen, out.weight, out.bias) + x)
        inner = functional.gelu(linear(x, wide.weight, wide.bias))
        x = layer.output.LayerNorm(linear(inner, narrow.weight, narrow.bias) + x)
    return _spread(x, rows, batch * length).view(batch, length, width)


class _Rounded:
    """A linear layer of the int8 graph, for the tokens of some windows."""

    def __init__(self, window: Tensor, windows: int) -> None:
        self.window, self.windows = window, windows

    def __call__(self, inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        inputs = round_inputs(inputs, self.window, self.windows)
        return functional.linear(inputs, round_weight(weight), bias)


def _spread(states: Tensor, rows: Tensor, count: int) -> Tensor:
    """Spread (tokens, H) over (count, H): each token at its row, zeros elsewhere."""
    if len(rows) == count:
        return states
    return states.new_zeros(count, states.shape[1]).index_copy(0, rows, states)


class _Softmax(torch.autograd.Function):
    """Softmax over the last dimension in the type of its input; autocast would copy it to float32 and
    back."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor) -> Tensor:
        with torch.autocast(logits.device.type, enabled=False):
            shares = torch.softmax(logits, -1)
        ctx.save_for_backward(shares)
        return shares

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (shares,) = ctx.saved_tensors
        (grad,) = grads
        return torch._softmax_backward_data(grad, shares, -1, shares.dtype)
