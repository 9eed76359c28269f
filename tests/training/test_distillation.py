"""Distillation: targets against the base model's own forward pass, and a run that follows its teacher."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.training.tiny import copy_groups, make_config
from training.run import Run
from training.selector.distillation import SENTENCE_WEIGHT, WINDOW_WEIGHT, Teacher
from training.selector.train import train
from training.selector_model.batching import WindowBuilder, make_batch
from training.selector_model.groups import read_groups
from training.selector_model.model import build_selector, compute_logits
from training.selector_model.trained import load_layout, load_weights


def _cosine(a: Tensor, b: Tensor) -> float:
    return float(a @ b / (a.norm() * b.norm()))


def test_targets_add_cosines_of_question_and_document_read_apart(phase1: Path, bert: Path) -> None:
    config = make_config(bert)
    torch.manual_seed(0)
    model, _, layout_config = build_selector(config)
    torch.nn.init.normal_(model.keep.weight)
    layout = load_layout(phase1 / "final")
    groups = read_groups(phase1, "train")[:3]
    builder = WindowBuilder(layout, groups)
    items = [builder.build(group) for group in groups]
    batch = make_batch(items, layout_config.pad_id, 4096)
    device = torch.device("cpu")
    teacher = Teacher(model, config, layout_config)
    targets = teacher.compute_targets(batch, device)
    with torch.no_grad():
        keep, _ = compute_logits(model, batch, device)

    def read(ids: list[int]) -> Tensor:
        """Return the base model's states (L, H), those of [CLS] and [SEP] included."""
        whole = [layout_config.cls_id, *ids, layout_config.sep_id]
        with torch.no_grad():
            return teacher.base(input_ids=torch.tensor([whole])).last_hidden_state[0]

    expected: dict[tuple[int, tuple[int, ...]], float] = {}
    for number, (group, item) in enumerate(zip(groups, items, strict=True)):
        query = read(builder.tokenize(group.question)).mean(0)
        for window in item.windows:
            (at,) = window.documents
            ids = list(builder.tokenize(group.documents[at].title or ""))
            places: list[list[int]] = []
            for _, sentence in window.sentences:
                a, b = group.documents[at].units[sentence]
                own = builder.tokenize(group.documents[at].text[a:b])
                places.append([len(ids) + 1 + i for i in range(len(own))])
                ids += own
            states = read(ids)
            whole = [i for place in places for i in place]
            near_window = _cosine(states[whole].mean(0), query)
            for (_, sentence), place in zip(window.sentences, places, strict=True):
                near = _cosine(states[place].mean(0), query)
                expected[number, (at, sentence)] = SENTENCE_WEIGHT * near + WINDOW_WEIGHT * near_window
    owned = sorted(
        ((number, pair) for number, item in enumerate(items) for w in item.windows for pair in w.sentences)
    )
    assert owned == sorted(expected)
    added = sorted((targets - keep).tolist())
    assert added == pytest.approx(sorted(expected.values()), abs=1e-3)


def test_a_run_with_a_teacher_moves_towards_it(phase1: Path, bert: Path, tmp_path: Path) -> None:
    def follow(weight: float) -> float:
        """Return the mean distance from the teacher over the last steps."""
        config = make_config(bert)
        config = replace(config, train=replace(config.train, epochs=6, distillation=weight))
        run = Run(tmp_path / f"{weight}")
        copy_groups(phase1, run.folder)
        train(config, run, start_from=phase1 / "final")
        losses = [entry["teacher"] for entry in run.history if "teacher" in entry]
        return sum(losses[-3:]) / 3

    # A weight that changes nothing shows the distance that the labels alone lead to.
    assert follow(1.0) < 0.8 * follow(1e-9)


def test_the_teacher_stays_as_it_was(phase1: Path, bert: Path, tmp_path: Path) -> None:
    config = make_config(bert)
    config = replace(config, train=replace(config.train, epochs=1, distillation=1.0))
    run = Run(tmp_path)
    copy_groups(phase1, run.folder)
    before = load_weights(phase1 / "final")
    train(config, run, start_from=phase1 / "final")
    after = load_weights(run.final)
    assert any(not torch.equal(before[name], after[name]) for name in before)
    assert run.history[0]["teacher"] > 0
    model, _, layout_config = build_selector(config)
    model.load_state_dict(before)
    teacher = Teacher(model, config, layout_config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    for name, value in before.items():
        assert torch.equal(teacher.start.state_dict()[name], value)
