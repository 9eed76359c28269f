"""Phase I of EFFCOMP: train the encoder with its output layers for keep and relevance.

`train` saves checkpoints and validates. It chooses the device and the precision: bf16 on CUDA, bf16 on a CPU
with instructions for it, else float32. `accelerate launch` spreads a run over several GPUs.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast, reduce, set_seed
from tokenizers import Tokenizer

from tersely.score.layout import Layout
from training.checkpoint import resume, save_checkpoint
from training.optimisation import adamw, keep_freed_memory, precision, set_learning_rate, triangle
from training.run import Run, read_runs, show_progress, write_text
from training.selector.distillation import Teacher
from training.selector.losses import centred_regression, compute_parts, weigh
from training.selector.validate import compute_selection_score, validate
from training.selector_model.batching import (
    PART_TOKENS,
    Batch,
    Item,
    WindowBuilder,
    batch_groups,
    draw_order,
    make_batch,
)
from training.selector_model.config import SelectorConfig
from training.selector_model.groups import read_groups
from training.selector_model.model import SelectorModel, build_selector, compute_logits
from training.selector_model.scores import Metrics
from training.selector_model.trained import load_weights, save_trained


def train(config: SelectorConfig, run: Run, *, start_from: Path | None = None) -> Metrics:
    """Train on the groups of `run`, save the best epoch in `run.final`, and return its validation metrics.

    Continues from the checkpoint of `run` if there is one. `start_from` is the `final` folder of an earlier
    run; training starts from its weights, those of the output layers included. If the run's clock has a
    limit, the learning-rate schedule fits the remaining time.
    """
    keep_freed_memory()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    accelerator = Accelerator(mixed_precision=precision(device), cpu=device == "cpu")
    set_seed(config.seed)
    run.writes = accelerator.is_main_process
    if config.train.distillation and start_from is None:
        raise ValueError("distillation needs the weights of a teacher: name them with --start-from")
    model, tokenizer, layout_config = build_selector(config)
    teacher = None
    if start_from is not None:
        model.load_state_dict(load_weights(start_from))
        run.origins = read_runs(start_from)
        if config.train.distillation:
            teacher = Teacher(model, config, layout_config).to(accelerator.device)
    layout = Layout(Tokenizer.from_str(tokenizer.backend_tokenizer.to_str()), layout_config)
    groups, heldout = (read_groups(run.folder, part) for part in ("train", "heldout"))
    random.Random(config.seed).shuffle(heldout)
    data = config.data
    builder, validation = (WindowBuilder(layout, rows, data.labels) for rows in (groups, heldout))
    trainable = [i for i, group in enumerate(groups) if builder.teaches(group, data.longest)]
    if not trainable:
        raise ValueError("no question is left to train on; check labels and longest in [data]")
    model.to(accelerator.device)
    trainer = Trainer(accelerator, model, config, builder, trainable, run, teacher)
    save_weights = partial(save_trained, model, tokenizer, layout_config)
    trainer.resume()
    while trainer.epoch < config.train.epochs and not trainer.is_over:
        trainer.train_epoch()
        if accelerator.is_main_process:
            done = validate(model, validation, PART_TOKENS[device], data.longest)
            score = compute_selection_score(done, config.train.best)
            facts = {"validation": done.metrics, "loss": done.loss}
            run.record_validation(score, save_weights, epoch=trainer.epoch + 1, **facts)
        accelerator.wait_for_everyone()
        trainer.start_next_epoch()
    file = run.final / "validation.json"
    if accelerator.is_main_process:
        run.finish(trainer.describe())
        write_text(file, json.dumps(run.best()["validation"], indent=2))
    accelerator.wait_for_everyone()
    return json.loads(file.read_text())


class Trainer:
    """Trainer of a model. Its position is the epoch, the place in it, and the steps and questions so far.

    trainable: indices of the groups to train on.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        model: SelectorModel,
        config: SelectorConfig,
        builder: WindowBuilder,
        trainable: Sequence[int],
        run: Run,
        teacher: Teacher | None = None,
    ) -> None:
        self.accelerator, self.model, self.config, self.teacher = accelerator, model, config, teacher
        self.builder, self.trainable, self.run = builder, trainable, run
        self.optimizer = adamw(model, config.train.learning_rate, config.train.weight_decay)
        self.epoch = self.place = self.step = self.questions = 0
        self.is_over = False
        """True if the clock has reached its limit."""

    def resume(self) -> None:
        position = resume(self.run, self._list_states())
        if position:
            self.epoch, self.place = position["epoch"], position["place"]
            self.step, self.questions = position["step"], position["questions"]

    def describe(self) -> dict[str, Any]:
        """Return facts about this run for the model card."""
        return {
            "seed": self._seed(),
            "questions": self.questions,
            "minutes": self.run.clock.minutes(),
            "learning_rate": self.config.train.learning_rate,
            "int8": self.config.train.int8,
            "distillation": self.config.train.distillation,
        }

    def train_epoch(self) -> None:
        """Train on the rest of the epoch, but not beyond the clock's limit. Then save a checkpoint."""
        c, seed = self.config.train, self._seed()
        order = draw_order(self.builder.groups, self.trainable, self.config.data, seed, self.epoch)
        total = c.epochs * len(order)
        device = self.accelerator.device
        pad_id, part_tokens = self.builder.layout.config.pad_id, PART_TOKENS[device.type]
        bar = show_progress(
            f"epoch {self.epoch + 1}",
            total=len(order),
            done=self.place,
            unit="q",
            visible=self.accelerator.is_main_process,
        )
        batches = batch_groups(
            self.builder,
            order,
            self.config.data,
            seed=seed,
            epoch=self.epoch,
            start=self.place,
            max_tokens=c.batch_tokens,
            max_groups=c.batch_questions,
        )
        for chunk in _split_by_process(batches, self.accelerator.num_processes):
            progress = self._compute_progress(total)
            set_learning_rate(self.optimizer, c.learning_rate * triangle(progress, c.warmup))
            items, _ = chunk[self.accelerator.process_index]
            losses = self.update(make_batch(items, pad_id, part_tokens))
            count = sum(len(items) for items, _ in chunk)
            self.place = chunk[-1][1]
            self.questions += count
            self.step += 1
            self.run.record(step=self.step, share=progress, **losses)
            bar.update(count)
            left = self.run.clock.estimate_left(progress)
            bar.set_postfix(loss=f"{losses['loss']:.3f}", step=self.step, run=left)
            if progress >= 1.0:
                self.is_over = True
                break
            if self.step % c.checkpoint_steps == 0:
                self._save_checkpoint()
        bar.close()
        self.place = len(order)
        self._save_checkpoint()

    def start_next_epoch(self) -> None:
        self.epoch, self.place = self.epoch + 1, 0
        self._save_checkpoint()

    def update(self, batch: Batch) -> dict[str, float]:
        """Take one optimiser step; return the loss and its parts."""
        c = self.config.train
        with self.accelerator.autocast():
            keep, relevance = compute_logits(self.model, batch, self.accelerator.device)
        parts = compute_parts(keep, relevance, batch)
        loss = weigh(parts, c)
        if self.teacher is not None:
            with self.accelerator.autocast():
                targets = self.teacher.compute_targets(batch, keep.device)
            group = batch.keep_group.to(keep.device)
            parts["teacher"] = centred_regression(keep, targets, group, batch.groups)
            loss = loss + c.distillation * parts["teacher"]
        if not math.isfinite(float(loss.detach())):
            raise FloatingPointError(f"loss is {float(loss)} at step {self.step}; lower learning_rate")
        loss.backward()
        if self.accelerator.num_processes > 1:
            for parameter in self.model.parameters():
                if parameter.grad is not None:  # the unused pooler has no gradient
                    parameter.grad = reduce(parameter.grad, "mean")
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), c.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=False)
        return {"loss": float(loss.detach()), **{k: float(v.detach()) for k, v in parts.items()}}

    def _seed(self) -> int:
        """Return a seed that no earlier run had, so that the questions come in a different order."""
        return self.config.seed + len(self.run.origins)

    def _compute_progress(self, total: int) -> float:
        """Return the progress of the run in [0, 1], agreed on by all processes."""
        progress = self.run.clock.share(self.questions / total)
        agreed = torch.tensor([progress], dtype=torch.float64, device=self.accelerator.device)
        return float(broadcast(agreed))

    def _list_states(self) -> dict[str, Any]:
        return {"model": self.model, "optimizer": self.optimizer}

    def _save_checkpoint(self) -> None:
        if self.accelerator.is_main_process:
            names = ("epoch", "place", "step", "questions")
            save_checkpoint(self.run, self._list_states(), {name: getattr(self, name) for name in names})


def _split_by_process(
    batches: Iterable[tuple[list[Item], int]], processes: int
) -> Iterator[list[tuple[list[Item], int]]]:
    """Yield chunks of one batch for each process; drop a last chunk that has fewer."""
    chunk: list[tuple[list[Item], int]] = []
    for batch in batches:
        chunk.append(batch)
        if len(chunk) == processes:
            yield chunk
            chunk = []
