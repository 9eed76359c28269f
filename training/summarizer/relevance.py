"""`python -m training.summarizer.relevance --config CONFIG --data DATA --out RUN`: train RECON's stage 1.

A causal model learns which of ten passages a question needs (section 3.2). A linear output layer scores the
model's state at the end of each passage, after the question; the loss is cross-entropy over the passages. At
most one is relevant, so "none of them" is an eleventh class with score 0. Afterwards this layer is discarded,
and stage 2 starts from the trained weights: `python -m training.summarizer --start-from RUN/final`.

The paper uses MS MARCO, which may not be redistributed; here any set with one gold passage per question
works. It does not say how the passages are laid out: here each is read after the question without the others,
so that its score depends only on these two. Ten passages of one question share the paper's 2,048 tokens.

RUN/history.jsonl   the loss of each update; the held-out loss before and after
RUN/final/          the adapter, or the whole model if the rank is 0
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from benchmarks.shared.tasks import Example, load
from benchmarks.shared.tasks.rows import find_data_folder
from tersely.pack.render import title_line
from training.causal import Adapter
from training.checkpoint import remove_checkpoint
from training.run import Run
from training.settings import read_settings
from training.summarizer.examples import TASKS, find_gold
from training.summarizer.train import Training, find_parts, open_model, run_updates


@dataclass(frozen=True, slots=True)
class Candidates:
    """Settings of the questions and their passages."""

    questions: dict[str, int]
    """Questions of each set; those with several gold passages are skipped."""
    passages: int = 10
    unanswered: float = 0.1
    """Share of questions that lose their gold passage."""
    seed: int = 13


@dataclass(frozen=True, slots=True)
class RelevanceSettings:
    """Settings of stage 1. The defaults are those of RECON's appendix B.4; a batch counts questions."""

    data: Candidates
    seed: int = 13
    adapter: Adapter = field(default_factory=lambda: Adapter(rank=8, alpha=32, layers=1000))
    training: Training = field(default_factory=Training)


@dataclass(frozen=True, slots=True)
class Choice:
    """A question, its passages, and the index of the relevant one, or the number of passages if there is
    none."""

    question: str
    passages: tuple[str, ...]
    relevant: int


def make_choices(candidates: Candidates, data: Path | None = None) -> list[Choice]:
    """Make the choices of all sets in the random order of the seed."""
    data = find_data_folder(data)
    draw = random.Random(candidates.seed)
    choices: list[Choice] = []
    for name, count in candidates.questions.items():
        examples = load(
            TASKS[name],
            "train",
            data=data,
            limit=count,
            seed=candidates.seed,
            negatives=candidates.passages,
            neighbours="bm25",
        )
        choices += [c for e in examples if (c := _make_choice(candidates, e, draw)) is not None]
    draw.shuffle(choices)
    return choices


def _make_choice(candidates: Candidates, example: Example, draw: random.Random) -> Choice | None:
    gold = {doc for doc, _, _ in find_gold(example)}
    others = [doc for doc in range(len(example.documents)) if doc not in gold]
    has_gold = draw.random() >= candidates.unanswered
    count = candidates.passages - has_gold
    if len(gold) != 1 or len(others) < count:
        return None
    chosen = draw.sample(others, count) + (list(gold) if has_gold else [])
    draw.shuffle(chosen)
    documents = example.to_documents()
    passages = tuple(title_line(documents[doc]) + documents[doc].text for doc in chosen)
    relevant = chosen.index(*gold) if has_gold else len(chosen)
    return Choice(example.question, passages, relevant)


@dataclass(frozen=True, slots=True)
class EncodedChoice:
    """Token ids of the question with each passage, and the index of the relevant passage."""

    rows: tuple[tuple[int, ...], ...]
    relevant: int


def encode_choice(choice: Choice, tokenizer: Any, positions: int) -> EncodedChoice:
    """Encode a choice in at most `positions` tokens over all passages. A passage that is too long loses its
    end."""
    room = positions // len(choice.passages)
    rows = (
        tokenizer.encode(f"Question: {choice.question}\n\nPassage: {passage}", add_special_tokens=False)
        for passage in choice.passages
    )
    return EncodedChoice(tuple(tuple(row[:room]) for row in rows), choice.relevant)


def score_passages(model: Any, head: nn.Linear, choice: EncodedChoice) -> Tensor:
    """Score the passages, shape (passages,), in nats relative to "none of them"."""
    rows = [torch.tensor(row) for row in choice.rows]
    ids = pad_sequence(rows, batch_first=True).to(model.device)
    mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True).to(model.device)
    backbone, _ = find_parts(model)
    states = backbone(input_ids=ids, attention_mask=mask).last_hidden_state
    last = torch.tensor([len(row) - 1 for row in rows], device=model.device)
    return head(states[torch.arange(len(rows), device=model.device), last].float()).squeeze(1)


def relevance_loss(model: Any, head: nn.Linear, choice: EncodedChoice) -> Tensor:
    """Return the cross-entropy over the passages and "none of them"."""
    scores = score_passages(model, head, choice)
    return cross_entropy(
        torch.cat([scores, scores.new_zeros(1)]), torch.tensor(choice.relevant, device=scores.device)
    )


def train_relevance(
    settings: RelevanceSettings, choices: Sequence[Choice], run: Run, base: Path | None = None
) -> dict[str, Any]:
    """Train on the choices, write `run.final`, and return the facts of the run. Continues from the
    checkpoint."""
    model, tokenizer = open_model(settings.adapter, settings.seed, base)
    head = nn.Linear(model.config.hidden_size, 1).to(model.device)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    training = settings.training
    encoded = [encode_choice(choice, tokenizer, training.positions) for choice in choices]
    heldout, taught = encoded[: training.heldout], encoded[training.heldout :]
    order = [
        choice
        for n in range(training.epochs)
        for choice in random.Random(settings.seed + n).sample(taught, len(taught))
    ]
    batches = [order[i : i + training.batch] for i in range(0, len(order), training.batch)]

    def backward(batch: Sequence[EncodedChoice]) -> float:
        total = 0.0
        for choice in batch:
            loss = relevance_loss(model, head, choice) / len(batch)
            loss.backward()
            total += loss.item()
        return total

    done = run_updates(
        run, model, training, batches, backward, lambda: evaluate(model, head, heldout)["loss"], head
    )
    model.save_pretrained(str(run.final))
    facts = {
        "stage": 1,
        "questions": sum(map(len, batches[:done])),
        "minutes": run.clock.minutes(),
        "heldout_loss": [entry["heldout"] for entry in run.history if "heldout" in entry],
        "heldout_right": evaluate(model, head, heldout)["right"],
    }
    run.finish(facts)
    remove_checkpoint(run)
    return facts


@torch.no_grad()
def evaluate(model: Any, head: nn.Linear, choices: Sequence[EncodedChoice]) -> dict[str, float]:
    """Return `loss`, the mean in nats, and `right`.

    `right` is the share of the choices with a relevant passage in which it ranks first.
    """
    model.eval()
    losses = [relevance_loss(model, head, choice).item() for choice in choices]
    firsts = [
        int(score_passages(model, head, choice).argmax()) == choice.relevant
        for choice in choices
        if choice.relevant < len(choice.rows)
    ]
    model.train()
    return {"loss": round(sum(losses) / len(losses), 4), "right": round(sum(firsts) / len(firsts), 4)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.summarizer.relevance", description=__doc__)
    parser.add_argument("--config", type=Path, default=Path("training/configs/relevance_smollm2.toml"))
    parser.add_argument("--data", type=Path, help="data folder; TERSELY_DATA by default")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--base", type=Path, help="folder of a causal model; SmolLM2-135M by default")
    parser.add_argument("--max-minutes", type=float, help="end the training after this time")
    args = parser.parse_args()
    settings = read_settings(RelevanceSettings, args.config)
    run = Run(args.out, max_minutes=args.max_minutes, identity=asdict(settings))
    choices = make_choices(settings.data, args.data)
    print(json.dumps(train_relevance(settings, choices, run, args.base)))


if __name__ == "__main__":
    main()
