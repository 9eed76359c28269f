"""Encoding without padding gives what the encoder itself gives, gradients included."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoModel

from tests.training.tiny import save_encoder
from training.selector_model.packed import can_pack, encode_packed


def load(kind: str, folder: Path) -> torch.nn.Module:
    save_encoder(kind, folder)
    encoder = AutoModel.from_pretrained(folder, attn_implementation="eager")
    for module in encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return encoder.train()


@pytest.mark.parametrize("lengths", [[7], [5, 5], [3, 9, 6], [1, 12]])
def test_states_and_gradients_are_those_of_the_encoder(tmp_path: Path, lengths: list[int]) -> None:
    encoder = load("bert", tmp_path / "bert")
    assert can_pack(encoder)
    mask = (torch.arange(max(lengths))[None, :] < torch.tensor(lengths)[:, None]).long()
    ids = torch.randint(5, 90, mask.shape, generator=torch.Generator().manual_seed(0)) * mask
    aim = torch.randn(*mask.shape, 32, generator=torch.Generator().manual_seed(1)) * mask[..., None]
    gradients: list[torch.Tensor] = []
    states: list[torch.Tensor] = []
    for packed in (False, True):
        hidden = (
            encode_packed(encoder, ids, mask)
            if packed
            else encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        )
        encoder.zero_grad()
        (hidden * aim).sum().backward()
        used = [p.grad.flatten().clone() for p in encoder.parameters() if p.grad is not None]
        gradients.append(torch.cat(used))
        states.append(hidden.detach() * mask[..., None])
    torch.testing.assert_close(states[0], states[1], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-4, rtol=1e-3)


def test_other_encoders_are_left_to_themselves(tmp_path: Path) -> None:
    assert not can_pack(load("modernbert", tmp_path / "modernbert"))


def test_an_encoder_with_dropout_is_left_to_itself(tmp_path: Path) -> None:
    encoder = load("bert", tmp_path / "bert")
    next(m for m in encoder.modules() if isinstance(m, torch.nn.Dropout)).p = 0.1
    assert not can_pack(encoder)
    assert can_pack(encoder.eval())
