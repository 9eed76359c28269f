"""Train a summarizer by teacher forcing (RECON, section 3.2, stage 2): only the summary's tokens have a loss.

All examples of one aspect begin with the same system message. A batch has one aspect and reads that message
once: the examples share its keys and values, which saves a third of the time on a CPU.

FOLDER/lessons.jsonl   the examples
FOLDER/history.jsonl   the loss of each update, and of held-out examples before and after
FOLDER/final/          the adapter, or the whole model if the rank is 0
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import torch
from peft import PeftModel, get_peft_model_state_dict, set_peft_model_state_dict
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from transformers import DynamicCache

from training.causal import Adapter, add_adapter, load_causal
from training.checkpoint import remove_checkpoint, resume, save_checkpoint
from training.optimisation import adamw, keep_freed_memory, set_learning_rate, triangle
from training.run import Run, read_runs, show_progress
from training.summarizer.examples import Lesson, Recipe

T = TypeVar("T")

IGNORED = -100
"""Label of a token that is not learned."""


@dataclass(frozen=True, slots=True)
class Training:
    """Settings of the training. RECON's appendix B.4 has rank 8, alpha 32, all layers, batches of 16, a
    learning rate of 1e-4, a warmup of 5 % and one epoch. Fewer examples need larger steps."""

    learning_rate: float = 1e-4
    warmup: float = 0.05
    batch: int = 16
    epochs: int = 1
    positions: int = 2048
    """Maximum number of tokens of an example; longer ones are skipped."""
    heldout: int = 24
    """Number of examples whose questions are not trained on."""
    save_every: int = 40
    """Number of updates between checkpoints."""


@dataclass(frozen=True, slots=True)
class Settings:
    data: Recipe
    seed: int = 13
    adapter: Adapter = field(default_factory=lambda: Adapter(rank=8, alpha=32, layers=1000))
    training: Training = field(default_factory=Training)


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids of one example in three parts."""

    system: tuple[int, ...]
    prompt: tuple[int, ...]
    summary: tuple[int, ...]
    """Tokens of the summary, with the one that ends the message."""


def encode(lesson: Lesson, tokenizer: Any) -> Encoded:
    """Encode an example as the tokens that a chat model reads and writes at run time."""
    system, whole = (
        tokenizer.apply_chat_template(messages, add_generation_prompt=more, tokenize=False)
        for messages, more in ((lesson.messages[:1], False), (lesson.messages, True))
    )
    if not whole.startswith(system):
        raise ValueError("the chat template does not begin with the system message")
    parts = (system, whole[len(system) :], lesson.summary)
    ids = [tokenizer.encode(part, add_special_tokens=False) for part in parts]
    return Encoded(tuple(ids[0]), tuple(ids[1]), (*ids[2], tokenizer.eos_token_id))


def split_heldout(examples: Sequence[tuple[str, Encoded]], count: int) -> tuple[list[Encoded], list[Encoded]]:
    """Split off the first `count` examples, and drop others with the same questions.

    A teacher may have answered a question under several aspects. `examples` are pairs of the question's id
    and the encoded text.
    """
    questions = {question for question, _ in examples[:count]}
    taught = [example for question, example in examples[count:] if question not in questions]
    return [example for _, example in examples[:count]], taught


def make_batches(examples: Sequence[Encoded], size: int, draw: random.Random) -> list[list[Encoded]]:
    """Make batches of examples with the same system message and similar lengths, in random order."""
    batches: list[list[Encoded]] = []
    for _, group in groupby(sorted(examples, key=lambda e: e.system), key=lambda e: e.system):
        alike = sorted(group, key=lambda e: len(e.prompt) + len(e.summary))
        batches += [alike[i : i + size] for i in range(0, len(alike), size)]
    draw.shuffle(batches)
    return batches


def summary_loss(model: Any, batch: Sequence[Encoded]) -> Tensor:
    """Return the mean loss of the summaries' tokens in nats. The examples share their system message."""
    device, count = model.device, len(batch)
    system = torch.tensor([batch[0].system], device=device)
    cache = DynamicCache()
    backbone, head = find_parts(model)
    backbone(input_ids=system, past_key_values=cache, use_cache=True)
    cache.batch_repeat_interleave(count)
    rows = [torch.tensor([*e.prompt, *e.summary]) for e in batch]
    labels = [torch.tensor([*[IGNORED] * len(e.prompt), *e.summary]) for e in batch]
    ids = pad_sequence(rows, batch_first=True).to(device)
    wanted = pad_sequence(labels, batch_first=True, padding_value=IGNORED).to(device)
    real = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True).to(device)
    mask = torch.cat([torch.ones(count, system.shape[1], dtype=torch.long, device=device), real], 1)
    states = backbone(
        input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True
    ).last_hidden_state
    learned = wanted[:, 1:] != IGNORED
    # Compute logits only at these positions: the output layer is the largest matrix of a small model.
    return cross_entropy(head(states[:, :-1][learned]).float(), wanted[:, 1:][learned])


def train(
    settings: Settings,
    lessons: Sequence[Lesson],
    run: Run,
    base: Path | None = None,
    start_from: Path | None = None,
) -> dict[str, Any]:
    """Train on the examples, write `run.final`, and return the facts of the run. Continues from the
    checkpoint.

    start_from: the `final` folder of a run with the same adapter, such as one of stage 1.
    """
    model, tokenizer = open_model(settings.adapter, settings.seed, base)
    if start_from is not None:
        load_weights(model, start_from)
        run.origins = read_runs(start_from)
    training = settings.training
    examples = [(lesson.id, encode(lesson, tokenizer)) for lesson in lessons]
    heldout, taught = split_heldout(
        [e for e in examples if _count(e[1]) <= training.positions], training.heldout
    )
    batches = [
        b
        for n in range(training.epochs)
        for b in make_batches(taught, training.batch, random.Random(settings.seed + n))
    ]

    def backward(batch: Sequence[Encoded]) -> float:
        # Weights in float32 compute in bfloat16 where that is faster.
        mixes = model.device.type == "cuda" and not settings.adapter.rank
        with torch.autocast(model.device.type, torch.bfloat16, enabled=mixes):
            loss = summary_loss(model, batch)
        loss.backward()
        return loss.item()

    done = run_updates(run, model, training, batches, backward, lambda: _evaluate(model, heldout))
    model.save_pretrained(str(run.final))
    facts = {
        "examples": sum(map(len, batches[:done])),
        "examples_of": len(taught),
        "tokens": sum(_count(e) for batch in batches[:done] for e in batch),
        "minutes": run.clock.minutes(),
        "heldout_loss": [entry["heldout"] for entry in run.history if "heldout" in entry],
    }
    run.finish(facts)
    remove_checkpoint(run)
    return facts


def open_model(adapter: Adapter, seed: int, base: Path | None) -> tuple[Any, Any]:
    """Load a causal model in training mode, with a new adapter unless its rank is 0, and its tokenizer."""
    keep_freed_memory(large=False)
    torch.manual_seed(seed)
    model, tokenizer = load_causal(base, trains_all=not adapter.rank)
    model = add_adapter(model, adapter) if adapter.rank else model
    model.to("cuda" if torch.cuda.is_available() else "cpu").train()
    return model, tokenizer


def load_weights(model: Any, final: Path) -> None:
    """Load the weights that a run trained into `model`: its adapter, or all weights.

    Raises ValueError if the run trained an adapter of another shape, or another model.
    """
    if not isinstance(model, PeftModel):
        missing, unexpected = model.load_state_dict(load_file(final / "model.safetensors"), strict=False)
        tied = {name for name, _ in model.named_parameters(remove_duplicate=False)} - {
            name for name, _ in model.named_parameters()
        }
        if unexpected or set(missing) - tied:
            raise ValueError(f"{final} holds the weights of another model")
        return
    theirs = json.loads((final / "adapter_config.json").read_text(encoding="utf-8"))
    mine = model.peft_config["default"].to_dict()
    for key in ("r", "lora_alpha", "layers_to_transform"):
        if theirs[key] != mine[key]:
            raise ValueError(f"the adapter in {final} has {key} {theirs[key]}, not {mine[key]}")
    set_peft_model_state_dict(model, load_file(final / "adapter_model.safetensors"))


def run_updates(
    run: Run,
    model: Any,
    training: Training,
    batches: Sequence[T],
    backward: Callable[[T], float],
    evaluate: Callable[[], float],
    head: nn.Module | None = None,
) -> int:
    """Update the model with each batch until the run's time is up; return the number of updates. Continues
    from the checkpoint.

    backward: computes the gradients of a batch, and returns its loss.
    evaluate: returns the held-out loss, which is recorded before the first update and after the last.
    head: module to train with the model.
    """
    modules = [model] if head is None else [model, head]
    optimizer = adamw(nn.ModuleList(modules), training.learning_rate, weight_decay=0.0)
    parts = {"weights": _Weights(model), "optimizer": optimizer, **({"head": head} if head else {})}
    done = (resume(run, parts) or {"done": 0})["done"]
    if not done:
        run.record(update=0, heldout=evaluate())
    bar = show_progress("training", total=len(batches), done=done, unit="update")
    while done < len(batches):
        share = run.clock.share(done / len(batches))
        if share >= 1:
            break
        set_learning_rate(optimizer, training.learning_rate * triangle(share, training.warmup))
        loss = backward(batches[done])
        for module in modules:
            torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        done += 1
        run.record(update=done, loss=round(loss, 4), seconds=round(run.clock.seconds(), 1))
        bar.update()
        bar.set_postfix(loss=f"{loss:.3f}", run=run.clock.estimate_left(share))
        if done % training.save_every == 0:
            save_checkpoint(run, parts, {"done": done})
    bar.close()
    save_checkpoint(run, parts, {"done": done})
    run.record(update=done, heldout=evaluate())
    return done


class _Weights:
    """The trained weights of a model: its adapter's, or all."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def state_dict(self) -> Any:
        is_adapter = isinstance(self._model, PeftModel)
        return get_peft_model_state_dict(self._model) if is_adapter else self._model.state_dict()

    def load_state_dict(self, state_dict: Any) -> Any:
        if isinstance(self._model, PeftModel):
            return set_peft_model_state_dict(self._model, state_dict)
        return self._model.load_state_dict(state_dict)


def find_parts(model: Any) -> tuple[Any, Any]:
    """Return the part that computes the hidden states, and the output layer."""
    causal: Any = model.get_base_model() if isinstance(model, PeftModel) else model
    return causal.base_model, causal.get_output_embeddings()


def _count(example: Encoded) -> int:
    return len(example.system) + len(example.prompt) + len(example.summary)


@torch.no_grad()
def _evaluate(model: Any, examples: Sequence[Encoded]) -> float:
    """Return the mean loss in nats per token."""
    model.eval()
    losses = [(summary_loss(model, [e]).item(), len(e.summary)) for e in examples]
    model.train()
    return round(sum(loss * n for loss, n in losses) / sum(n for _, n in losses), 4)
