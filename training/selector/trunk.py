"""Run the selector with frozen lower layers. Their hidden states are computed once, so that a step costs only
the trained layers: with one of MiniLM's six layers trained, it is about ten times as fast.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from tersely.score.layout import Window, batches, collate
from training.selector_model.model import SelectorModel


def _return_input(hidden_states: Tensor, *_: Any, **__: Any) -> Tensor:
    """Replace the forward pass of a frozen layer with a known output."""
    return hidden_states


class Trunk:
    """A selector with frozen lowest layers.

    trained_layers: encoder layers to train, from the top; None for all, embeddings included.
    part_tokens: maximum number of tokens in a forward pass, padding included.
    """

    def __init__(
        self, model: SelectorModel, trained_layers: int | None, pad_id: int, part_tokens: int
    ) -> None:
        self.model = model
        self._layers = find_layers(model.encoder)
        if trained_layers is not None and not 0 < trained_layers < len(self._layers):
            raise ValueError(
                f"trained_layers is {trained_layers}, but the encoder has {len(self._layers)} layers: "
                f"give 1 to {len(self._layers) - 1}, or leave it out to train them all"
            )
        self._frozen = 0 if trained_layers is None else len(self._layers) - trained_layers
        self._pad_id, self._part_tokens = pad_id, part_tokens
        self._hidden: dict[Hashable, Tensor] = {}
        if self._frozen:
            for parameter in model.encoder.parameters():
                parameter.requires_grad = False
            for layer in self._layers[self._frozen :]:
                for parameter in layer.parameters():
                    parameter.requires_grad = True

    def keep_logits(self, windows: Sequence[Window], keys: Sequence[Hashable]) -> list[Tensor]:
        """Return the logits of each window's [SEN] markers, (its sentences,). A window has the same key in
        every call."""
        out: list[Tensor | None] = [None] * len(windows)
        for rows in batches([len(w.input_ids) for w in windows], self._part_tokens):
            chosen = [windows[i] for i in rows]
            logits = self._forward(chosen, [keys[i] for i in rows])
            for row, index in enumerate(rows):
                out[index] = logits[row, : len(windows[index].sentences)]
        return [x for x in out if x is not None]

    def _forward(self, windows: Sequence[Window], keys: Sequence[Hashable]) -> Tensor:
        device = next(self.model.parameters()).device
        arrays = {k: torch.from_numpy(v).to(device) for k, v in collate(windows, self._pad_id).items()}
        if not self._frozen:
            return self.model(**arrays)[0].float()
        if any(key not in self._hidden for key in keys):
            self._store_hidden(windows, keys, arrays)
        width = arrays["input_ids"].shape[1]
        rows = [self._hidden[key].to(device).float() for key in keys]
        hidden = torch.stack([nn.functional.pad(row, (0, 0, 0, width - len(row))) for row in rows])
        with self._skip_frozen(), self._before_top(lambda _: hidden):
            return self.model(**arrays)[0].float()

    def _store_hidden(
        self, windows: Sequence[Window], keys: Sequence[Hashable], arrays: dict[str, Tensor]
    ) -> None:
        def store(hidden: Tensor) -> Tensor:
            for row, (window, key) in enumerate(zip(windows, keys, strict=True)):
                self._hidden[key] = hidden[row, : len(window.input_ids)].to("cpu", torch.float16)
            return hidden

        with torch.no_grad(), self._before_top(store):
            self.model(**arrays)

    @contextmanager
    def _before_top(self, change: Any) -> Iterator[None]:
        """Pass the input of the first trained layer through `change`."""

        def hook(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            if args:
                return (change(args[0]), *args[1:]), kwargs
            return args, {**kwargs, "hidden_states": change(kwargs["hidden_states"])}

        handle = self._layers[self._frozen].register_forward_pre_hook(hook, with_kwargs=True)
        try:
            yield
        finally:
            handle.remove()

    @contextmanager
    def _skip_frozen(self) -> Iterator[None]:
        frozen = list(self._layers)[: self._frozen]
        for layer in frozen:
            layer.forward = _return_input
        try:
            yield
        finally:
            for layer in frozen:
                del layer.forward


def find_layers(encoder: nn.Module) -> nn.ModuleList:
    """Return the encoder's layers: its longest list of modules."""
    return max((m for m in encoder.modules() if isinstance(m, nn.ModuleList)), key=len)
