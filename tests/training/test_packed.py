"""Encoding without padding against the encoder's own forward pass, gradients included."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoModel

from training.selector_model.packed import can_pack, encode_packed


def load(folder: Path, dropout: float = 0.0) -> torch.nn.Module:
    encoder = AutoModel.from_pretrained(folder, attn_implementation="eager")
    for module in encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = dropout
    return encoder.train()


@pytest.mark.parametrize("lengths", [[7], [3, 9, 6], [1, 12]])
def test_states_and_gradients_are_those_of_the_encoder(bert: Path, lengths: list[int]) -> None:
    encoder = load(bert)
    mask = (torch.arange(max(lengths))[None, :] < torch.tensor(lengths)[:, None]).long()
    ids = torch.randint(5, 90, mask.shape, generator=torch.Generator().manual_seed(0)) * mask
    aim = torch.randn(*mask.shape, 32, generator=torch.Generator().manual_seed(1)) * mask[..., None]
    results: list[tuple[torch.Tensor, torch.Tensor]] = []
    for hidden in (
        encode_packed(encoder, ids, mask),
        encoder(input_ids=ids, attention_mask=mask).last_hidden_state,
    ):
        encoder.zero_grad()
        (hidden * aim).sum().backward()
        gradients = [p.grad.flatten().clone() for p in encoder.parameters() if p.grad is not None]
        results.append((hidden.detach() * mask[..., None], torch.cat(gradients)))
    (states, gradients), (expected_states, expected_gradients) = results
    torch.testing.assert_close(states, expected_states, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(gradients, expected_gradients, atol=1e-4, rtol=1e-3)


def test_packs_only_bert_without_dropout(bert: Path, modernbert: Path) -> None:
    assert can_pack(load(bert))
    assert not can_pack(load(bert, dropout=0.1))
    assert can_pack(load(bert, dropout=0.1).eval())
    assert not can_pack(load(modernbert))
