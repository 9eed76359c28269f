"""A causal language model through transformers: batched greedy decoding on this machine."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any

from benchmarks.shared.cache import digest
from benchmarks.shared.precision import bf16_is_fast
from benchmarks.shared.readers.protocol import NEW_TOKENS, Prompt, first_line, prompt_version
from tersely.errors import InvalidInputError

BATCH_TOKENS = 4096
"""Prompt tokens decoded side by side, padding included."""


class CausalReader:
    """The model in `source`: a folder of transformers' format, a .gguf file, or an installed package that
    carries one. Prompts longer than the model's positions lose the end of their context."""

    def __init__(self, source: str) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        dtype = torch.bfloat16 if bf16_is_fast(self._device) else torch.float32
        path = _locate(source)
        where: dict[str, Any] = {}
        if path.suffix == ".gguf":
            where = {"gguf_file": path.name}
            extra = {"quantization_config": GgufConfig(dequantize=True)}
        else:
            extra = {}
        folder = str(path.parent if where else path)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder, **where)
        self.tokenizer.padding_side = "left"
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **where, **extra)
        self._model: Any = model.to(self._device).eval()
        self._longest = int(model.config.max_position_embeddings) - NEW_TOKENS
        self._shown = self._beginning()
        self._seen: Any = None
        """The model's keys and values of that beginning, once it was read."""
        weights = digest(*map(_checksum, _files(path))).hex()[:6]
        precision = str(dtype).rpartition(".")[2]
        self.name = f"causal-{path.name}-{weights}-{precision}-{prompt_version()}"

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """See `Reader.answer`; this one fails as a whole or not at all."""
        ids = [self._encode(p) for p in prompts]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        answers: list[str | None] = [None] * len(prompts)
        at = 0
        while at < len(order):
            size = 1
            while at + size < len(order) and (size + 1) * len(ids[order[at + size]]) <= BATCH_TOKENS:
                size += 1
            rows = order[at : at + size]
            for row, text in zip(rows, self._generate([ids[i] for i in rows]), strict=True):
                answers[row] = first_line(text)
            at += size
        return answers

    def _beginning(self) -> list[int]:
        """The ids with which every prompt begins: the instruction and the worked examples."""
        rows = [self.tokenizer(Prompt("q", c).render())["input_ids"] for c in ("", "a", "1")]
        same = takewhile(lambda ids: len(set(ids)) == 1, zip(*rows, strict=False))
        return [ids[0] for ids in same]

    def _encode(self, prompt: Prompt) -> list[int]:
        """Token ids of a prompt; of a context that is too long, its beginning."""
        ids = self.tokenizer(prompt.render())["input_ids"]
        if len(ids) <= self._longest:
            return ids
        context = self.tokenizer(prompt.context, add_special_tokens=False, return_offsets_mapping=True)
        room = len(context["input_ids"]) - (len(ids) - self._longest) - 1
        if room <= 0:
            raise InvalidInputError(f"the question alone is longer than {self.name} can read")
        end = context["offset_mapping"][room][0]
        cut = Prompt(prompt.question, prompt.context[:end])
        return self.tokenizer(cut.render())["input_ids"][: self._longest]

    def _generate(self, ids: list[list[int]]) -> list[str]:
        """What the model writes after each prompt. Their common beginning is read once for all calls."""
        import torch

        shown = self._shown if all(row[: len(self._shown)] == self._shown for row in ids) else []
        batch = self.tokenizer.pad({"input_ids": [row[len(shown) :] for row in ids]}, return_tensors="pt")
        before = torch.tensor([shown] * len(ids), dtype=torch.long)
        whole = torch.cat([before, batch["input_ids"]], dim=1).to(self._device)
        mask = torch.cat([torch.ones_like(before), batch["attention_mask"]], dim=1).to(self._device)
        with torch.inference_mode():
            if shown and self._seen is None:
                self._seen = self._model(input_ids=whole[:1, : len(shown)], use_cache=True).past_key_values
            cache = copy.deepcopy(self._seen) if shown else None
            if cache:
                cache.batch_repeat_interleave(len(ids))
            out = self._model.generate(
                input_ids=whole,
                attention_mask=mask,
                past_key_values=cache,
                do_sample=False,
                max_new_tokens=NEW_TOKENS,
                pad_token_id=self.tokenizer.pad_token_id,
            )
        return self.tokenizer.batch_decode(out[:, whole.shape[1] :], skip_special_tokens=True)


def _checksum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _files(path: Path) -> list[Path]:
    return sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


def _locate(source: str) -> Path:
    path = Path(source)
    if path.exists():
        return path
    spec = find_spec(source) if source.isidentifier() else None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        found = sorted(Path(folder).glob("*.gguf"))
        if found:
            return found[0]
    raise InvalidInputError(
        f"{source} is neither a folder, a .gguf file, nor an installed package that carries one"
    )
