"""Package a finished run as an artifact: graph, fusion layer, threshold, card and manifest."""

from __future__ import annotations

import json
import math
import platform
import random
import shutil
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.shared.export import quantise
from tersely.runtime.artifacts import load_artifact, write_manifest
from tersely.score.answerable import write_answerability
from tersely.score.calibration import write_calibration
from tersely.score.fusion import LEARNED_THRESHOLD, Decision, Fusion
from tersely.score.layout import LAYOUT_VERSION, Layout, LayoutConfig
from tersely.score.selector import Selector
from training.export.calibration import build_calibration
from training.export.card import render_card
from training.export.fit_answerable import FEWEST_CASES, fit_answerable, read_cases
from training.export.fit_fusion import choose_threshold, compute_idf, fit_fusion, make_inputs
from training.export.learned import measure_decision, score_by_keep_logit
from training.export.onnx import export_float, measure_parity
from training.export.sentence_graph import measure_retrieval, write_sentence_graph
from training.run import Clock, read_runs
from training.selector_model.batching import WindowBuilder
from training.selector_model.config import SelectorConfig
from training.selector_model.groups import Group, read_groups
from training.selector_model.model import SelectorModel
from training.selector_model.scores import summarise
from training.selector_model.trained import load_layout, load_trained

MAX_TORCH_GAP = 1e-3
"""Largest difference between a logit in torch and in ONNX float32 that counts as rounding."""

MIN_INT8_RANK = 0.9
"""Minimum mean rank correlation between the sentence orders of the trained model and of int8."""

TIMED = 10
"""Number of questions for the measurement of the model's speed."""
PASSES = 6
"""Cost of fitting a question, in multiples of the cost of reading it once."""
FEWEST_QUESTIONS = 60
"""Smallest number of questions for the fits, even if the time is short."""

TARGET_RECALL = 0.95
"""Share of labelled sentences that the default threshold keeps on held-out questions."""

TOOLS = ("torch", "transformers", "onnx", "onnxruntime", "tokenizers", "numpy", "sentencex")


def export_artifact(
    config: SelectorConfig,
    run: Path,
    target: Path,
    command: str,
    decision: Decision = "fitted",
    clock: Clock | None = None,
) -> Path:
    """Write the artifact of the run in a folder to `target`, and return `target`. The card names `command`.

    `decision` says whether the model keeps a sentence by a fusion and threshold that are fitted here, or by
    the keep logit it was trained for. If the time of `clock` is short, it is fitted to fewer questions.

    Raises RuntimeError, and writes nothing to `target`, if a graph disagrees with torch.
    """
    trained = run / "final"
    model, layout_config = load_trained(trained)
    model.int8 = bool(read_runs(trained)[-1].get("int8"))
    heldout = read_groups(run, "heldout")
    training = read_groups(run, "train")
    graphs = run / "onnx"
    export_float(model, graphs / "model.onnx", layout_config.max_length)
    layout = load_layout(trained)
    gaps, narrowing = quantise_and_check(model, layout, heldout, graphs)

    staging = run / "artifact"
    shutil.rmtree(staging, ignore_errors=True)
    (staging / "onnx").mkdir(parents=True)
    shutil.copy(graphs / "model_quantized.onnx", staging / "onnx")
    shutil.copy(trained / "tokenizer.json", staging)
    texts = {d.text[a:b] for g in training for d in g.documents for a, b in d.units}
    idf = compute_idf(layout.tokenize(sorted(texts)), layout.tokenizer.get_vocab_size())
    np.savez_compressed(staging / "lexical.npz", idf=idf.astype(np.float16))
    if decision == "fitted":
        Fusion.from_keep_logit().save(staging)
    if config.vectors:
        write_sentence_graph(config, staging, narrowing=narrowing)
    seal(staging, config, layout_config, LEARNED_THRESHOLD, decision)
    facts = {
        "base_model": config.base_model,
        "training_command": command,
        "data": sorted(config.data.questions),
        "runs": read_runs(trained),
        "parity": gaps,
        "int8_narrowing": narrowing,
        "embedding": measure_retrieval(staging, heldout, config.seed) if config.vectors else None,
        "tools": {"python": platform.python_version(), **{t: version(t) for t in TOOLS}},
    }
    few = choose_questions(Selector.load(load_artifact(staging)), heldout, clock or Clock(), config.seed)
    fit_decision(staging, config, layout_config, decision, few, facts)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(staging, target)
    return target


def choose_questions(selector: Selector, groups: Sequence[Group], clock: Clock, seed: int) -> Sequence[Group]:
    """Return as many questions as can be fitted in the time that is left, at the speed of the first ones."""
    if clock.seconds_left() == math.inf:
        return groups
    drawn = random.Random(seed).sample(groups, len(groups))
    began = clock.seconds()
    for group in drawn[:TIMED]:
        selector.first_pass(group.question, make_inputs(group))
    seconds = (clock.seconds() - began) / len(drawn[:TIMED])
    return drawn[: max(FEWEST_QUESTIONS, int(clock.seconds_left() / (PASSES * seconds + 1e-9)))]


def fit_decision(
    folder: Path,
    config: SelectorConfig,
    layout: LayoutConfig,
    decision: Decision,
    heldout: Sequence[Group],
    facts: dict[str, Any],
) -> None:
    """Fit fusion, threshold, calibration and judgement to held-out questions, and finish the artifact in
    `folder` with card and manifest.

    `facts` are the card's values that are already known.
    """
    selector = Selector.load(load_artifact(folder))
    if decision == "fitted":
        fusion, ablation, scored = fit_fusion(selector, heldout, config.seed)
        fusion.save(folder)
        selector.fusion = fusion
        threshold = choose_threshold(scored, TARGET_RECALL)
    else:
        scored = score_by_keep_logit(selector, heldout)
        ablation, threshold = {"encoder alone": summarise(scored)}, LEARNED_THRESHOLD
    write_calibration(folder, build_calibration(scored))
    cases = read_cases(selector, heldout, config.seed)
    if len(cases) >= FEWEST_CASES:
        write_answerability(folder, fit_answerable(cases))
    facts = facts | {
        "heldout": ablation,
        "own_decision": measure_decision(scored, threshold),
        "heldout_questions": dict(Counter(g.source for g in heldout)),
    }
    (folder / "README.md").write_text(render_card(config, decision, facts), encoding="utf-8")
    seal(folder, config, layout, threshold, decision, **facts)


def quantise_and_check(
    model: SelectorModel, layout: Layout, groups: list[Group], graphs: Path
) -> tuple[dict[str, float], bool]:
    """Write the int8 graph. Return the differences of both graphs from torch on some windows, and whether the
    narrowing layers are in int8 (see `quantise`): they are not if int8 would change the order too much.

    Raises RuntimeError if the differences are too large even then.
    """
    builder = WindowBuilder(layout, groups)
    windows = [w for g in groups[:12] for w in builder.build(g).windows[:4]]
    pad = layout.config.pad_id
    gaps: dict[str, float] = {}
    for narrowing in (True, False):
        quantise(graphs / "model.onnx", graphs / "model_quantized.onnx", narrowing=narrowing)
        gaps = measure_parity(model, graphs / "model.onnx", graphs / "model_quantized.onnx", windows, pad)
        if gaps["torch_vs_onnx"] > MAX_TORCH_GAP or gaps["batched_vs_single"] > MAX_TORCH_GAP:
            raise RuntimeError(f"the exported graph disagrees with torch: {gaps}")
        if not gaps["int8_rank"] < MIN_INT8_RANK:  # it is nan if no window has three sentences
            return gaps, narrowing
    raise RuntimeError(f"int8 changes the order of sentences too much: {gaps}")


def seal(
    folder: Path,
    config: SelectorConfig,
    layout: LayoutConfig,
    threshold: float,
    decision: Decision,
    **facts: Any,
) -> None:
    """Write configuration and manifest, so that the folder loads as an artifact."""
    values = {
        "kind": "selector",
        "name": config.name,
        "base_model": config.base_model,
        "layout_version": LAYOUT_VERSION,
        "layout": layout.to_dict(),
        "threshold": threshold,
    }
    (folder / "config.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    write_manifest(folder, decision=decision, **facts)
