"""A language model of two layers with random weights, and a tokenizer of letters, for dry runs and tests.
Nothing is downloaded."""

from __future__ import annotations

from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
_END = "<|end|>"


def make_tokenizer() -> Any:
    """Make a tokenizer with a token for each byte, one for the end of a message, and two for pairs of
    letters, so that some texts have several encodings."""
    words = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "se", "ar"]
    vocabulary = {word: number for number, word in enumerate(words)}
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[("s", "e"), ("a", "r")]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token=_END, pad_token=_END)
    tokenizer.chat_template = _TEMPLATE
    return tokenizer


def make_model(tokenizer: Any, seed: int = 0, positions: int = 4096, width: int = 32) -> LlamaForCausalLM:
    """Make the model, with the same weights for the same seed."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=positions,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(config).eval()
