"""A causal language model through transformers: batched greedy decoding on this machine."""

# torch and transformers are typed in part only.
# pyright: basic

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
from benchmarks.shared.readers.protocol import NEW_TOKENS, Prompt, Template, hash_prompt, take_first_line
from tersely.errors import InvalidInputError

BATCH_TOKENS = 4096
"""Number of prompt tokens decoded side by side, padding included."""


class CausalReader:
    """The model in `source`: a folder in transformers' format, a .gguf file, or an installed package with
    one.

    Prompts longer than the model's positions lose the end of their context.
    """

    trained_on: frozenset[str] = frozenset()
    """Empty, because this repository does not train the model."""

    def __init__(self, source: str, template: Template) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

        self._template: Template = template
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        dtype = torch.bfloat16 if bf16_is_fast(self._device) else torch.float32
        path = _locate(source)
        source_file: dict[str, Any] = {}
        settings: dict[str, Any] = {}
        if path.suffix == ".gguf":
            source_file = {"gguf_file": path.name}
            settings = {"quantization_config": GgufConfig(dequantize=True)}
        folder = str(path.parent if source_file else path)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder, **source_file)
        self.tokenizer.padding_side = "left"
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **source_file, **settings)
        self._model: Any = model.to(self._device).eval()
        self._longest = int(model.config.max_position_embeddings) - NEW_TOKENS
        self._prefix = self._find_prefix()
        """The ids with which every prompt begins: the instruction, and the worked examples."""
        self._prefix_cache: Any = None
        """The model's keys and values of the prefix, after the first call."""
        weights = digest(*map(_checksum, _list_files(path))).hex()[:6]
        precision = str(dtype).rpartition(".")[2]
        self.name = f"causal-{path.name}-{weights}-{precision}-{hash_prompt(template)}"

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """Return one answer for each prompt, in order; a failure raises and is never None."""
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
                answers[row] = take_first_line(text)
            at += size
        return answers

    def _find_prefix(self) -> list[int]:
        rows = [self._tokenize(Prompt(text, text)) for text in ("", "a", "1")]
        common = takewhile(lambda ids: len(set(ids)) == 1, zip(*rows, strict=False))
        return [ids[0] for ids in common]

    def _encode(self, prompt: Prompt) -> list[int]:
        """Return the token ids of a prompt. A context that is too long loses its end."""
        ids = self._tokenize(prompt)
        if len(ids) <= self._longest:
            return ids
        context = self.tokenizer(prompt.context, add_special_tokens=False, return_offsets_mapping=True)
        room = len(context["input_ids"]) - (len(ids) - self._longest) - 1
        if room <= 0:
            raise InvalidInputError(f"the question alone is longer than {self.name} can read")
        end = context["offset_mapping"][room][0]
        cut = Prompt(prompt.question, prompt.context[:end])
        return self._tokenize(cut)[: self._longest]

    def _tokenize(self, prompt: Prompt) -> list[int]:
        return self.tokenizer(prompt.render(self._template))["input_ids"]

    def _generate(self, ids: list[list[int]]) -> list[str]:
        """Continue each prompt. The common prefix is computed once for all calls."""
        import torch

        prefix = self._prefix if all(row[: len(self._prefix)] == self._prefix for row in ids) else []
        batch = self.tokenizer.pad({"input_ids": [row[len(prefix) :] for row in ids]}, return_tensors="pt")
        before = torch.tensor([prefix] * len(ids), dtype=torch.long)
        whole = torch.cat([before, batch["input_ids"]], dim=1).to(self._device)
        mask = torch.cat([torch.ones_like(before), batch["attention_mask"]], dim=1).to(self._device)
        with torch.inference_mode():
            if prefix and self._prefix_cache is None:
                first = self._model(input_ids=whole[:1, : len(prefix)], use_cache=True)
                self._prefix_cache = first.past_key_values
            cache = copy.deepcopy(self._prefix_cache) if prefix else None
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


def _list_files(path: Path) -> list[Path]:
    return sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


def _locate(source: str) -> Path:
    path = Path(source)
    if path.exists():
        return path
    spec = find_spec(source) if source.isidentifier() else None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        files = sorted(Path(folder).glob("*.gguf"))
        if files:
            return files[0]
    raise InvalidInputError(
        f"{source} is neither a folder, a .gguf file, nor an installed package that carries one"
    )
