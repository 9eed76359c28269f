"""Batched replies of a causal language model in this process, with exact log-probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from training.rl.rollout import Generation

_TAIL = 16
"""Number of tokens at the end of a reply that are searched for a stop text."""


class TransformersPolicy:
    """Sampler of a model of transformers (`rollout.Policy`).

    Args:
        model: any causal language model, adapters included. It is not changed. tokenizer: reads the stop
        texts. max_reply: maximum number of tokens of a reply. stop_texts: texts that end a reply, besides the
        end of the message; they stay in the reply. temperature: 0 takes the most probable token.
        Log-probabilities are those of the sampled distribution, or with 0 those at temperature 1. rows:
        number of replies generated at once. random: draws the tokens; None for torch's own generator.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        max_reply: int,
        stop_texts: Sequence[str] = (),
        temperature: float = 1.0,
        rows: int = 16,
        random: torch.Generator | None = None,
    ) -> None:
        self._model, self._tokenizer, self._random = model, tokenizer, random
        self._max_reply, self._stop_texts, self._rows = max_reply, tuple(stop_texts), rows
        self._temperature = temperature

    def generate(self, contexts: Mapping[int, Sequence[int]]) -> dict[int, Generation]:
        """Continue each context. Contexts of similar length share a batch, and equal ones are read once."""
        training = self._model.training
        self._model.eval()
        try:
            found = {k: g for keys in self._batches(contexts) for k, g in self._continue(keys, contexts)}
        finally:
            self._model.train(training)
        return {key: found[key] for key in contexts}

    def _batches(self, contexts: Mapping[int, Sequence[int]]) -> Iterator[list[int]]:
        keys = sorted(contexts, key=lambda key: len(contexts[key]))
        for start in range(0, len(keys), self._rows):
            yield keys[start : start + self._rows]

    @torch.no_grad()
    def _continue(
        self, keys: list[int], contexts: Mapping[int, Sequence[int]]
    ) -> Iterator[tuple[int, Generation]]:
        tokens: dict[int, list[int]] = {key: [] for key in keys}
        chances: dict[int, list[float]] = {key: [] for key in keys}
        logits, cache, mask = self._read_prompts(keys, contexts)
        active = keys
        while True:
            chosen, logprobs = self._choose(logits)
            for key, token, chance in zip(active, chosen.tolist(), logprobs.tolist(), strict=True):
                tokens[key].append(token)
                chances[key].append(chance)
            going = [row for row, key in enumerate(active) if not self._is_over(tokens[key])]
            if not going:
                break
            if len(going) < len(active):
                cache.batch_select_indices(torch.tensor(going, device=mask.device))
            active = [active[row] for row in going]
            mask = torch.cat([mask[going], mask.new_ones(len(going), 1)], 1)
            logits, cache = self._read(chosen[going, None], mask, cache)
        for key in keys:
            yield key, Generation(tokens[key], chances[key])

    def _read_prompts(
        self, keys: list[int], contexts: Mapping[int, Sequence[int]]
    ) -> tuple[Tensor, Any, Tensor]:
        """Return (rows, vocabulary) logits after each key's context, the cache and the mask with a row for
        each key."""
        distinct = {tuple(contexts[key]): None for key in keys}
        places = {context: row for row, context in enumerate(distinct)}
        pending, mask = self._pad(list(distinct))
        logits, cache = self._read(pending, mask, None)
        rows = torch.tensor([places[tuple(contexts[key])] for key in keys], device=mask.device)
        cache.batch_select_indices(rows)
        return logits[rows], cache, mask[rows]

    def _read(self, tokens: Tensor, mask: Tensor, cache: Any) -> tuple[Tensor, Any]:
        """Return (rows, vocabulary) logits after the tokens, and the cache with them."""
        places = (mask.cumsum(1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
        output = self._model(
            input_ids=tokens,
            attention_mask=mask,
            position_ids=places,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return output.logits[:, -1].float(), output.past_key_values

    def _pad(self, contexts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Return (rows, length) token ids, padded on the left, and their mask."""
        length = max(len(context) for context in contexts)
        device = self._model.device
        filler = self._tokenizer.eos_token_id
        tokens = [[filler] * (length - len(context)) + list(context) for context in contexts]
        mask = [[0] * (length - len(context)) + [1] * len(context) for context in contexts]
        return torch.tensor(tokens, device=device), torch.tensor(mask, device=device)

    def _choose(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Return token ids and log-probabilities, each of shape (rows,)."""
        distribution = torch.log_softmax(logits / (self._temperature or 1.0), dim=-1)
        if self._temperature:
            chosen = torch.multinomial(distribution.exp(), 1, generator=self._random)[:, 0]
        else:
            chosen = distribution.argmax(-1)
        return chosen, distribution.gather(1, chosen[:, None])[:, 0]

    def _is_over(self, tokens: list[int]) -> bool:
        if tokens[-1] == self._tokenizer.eos_token_id or len(tokens) >= self._max_reply:
            return True
        tail = self._tokenizer.decode(tokens[-_TAIL:]) if self._stop_texts else ""
        return any(text in tail for text in self._stop_texts)
