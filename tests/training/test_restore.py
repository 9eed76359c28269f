"""The weights of the bundled artifact, restored to continue training from them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tersely.runtime.artifacts import load_artifact
from tersely.runtime.session import EncoderSession
from tersely.score.layout import OUTPUT_NAMES
from training.export.restore import restore
from training.run import read_runs
from training.selector_model.config import SelectorConfig
from training.selector_model.model import build_selector
from training.selector_model.rounding import round_weight
from training.selector_model.trained import load_trained
from training.settings import read_settings

CONFIG = read_settings(SelectorConfig, Path("training/configs/selector_mini.toml"))


def test_restored_weights_compute_what_the_artifact_computes(tmp_path: Path) -> None:
    restore(CONFIG, None, tmp_path / "final")
    model, _ = load_trained(tmp_path / "final")
    shipped = load_artifact(None)
    assert read_runs(tmp_path / "final") == shipped.manifest["runs"]
    for name, module in model.encoder.encoder.named_modules():
        if isinstance(module, torch.nn.Linear):  # rounded once, so that another export changes nothing
            torch.testing.assert_close(round_weight(module.weight), module.weight, msg=name)
    ids = np.random.default_rng(3).integers(1000, 20000, (1, 40))
    places = [9, 20, 30]
    ids[0, [0, 8, 39]], ids[0, places] = (101, 3, 102), 2
    feed = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "segments": np.array([[0] * 8 + [1] * 12 + [2] * 10 + [3] * 10]),
        "sentence_positions": np.array([places]),
        "doc_positions": np.array([[8]]),
    }
    model.int8 = True
    with torch.inference_mode():
        ours = model.read(**{name: torch.from_numpy(value) for name, value in feed.items()})
    for logits, expected in zip(
        ours, EncoderSession(shipped.model_path, 1).run(feed, OUTPUT_NAMES), strict=True
    ):
        # A value at the edge of a step can be rounded to the next one; a wrong weight costs more than 1.
        np.testing.assert_allclose(logits.numpy(), expected, atol=0.2)


def test_share_of_the_base_model_moves_every_weight(tmp_path: Path) -> None:
    base, _, _ = build_selector(CONFIG)
    states = [base.encoder.state_dict()]
    for share in (0.0, 0.25):
        restore(CONFIG, None, tmp_path / str(share), share)
        model, _ = load_trained(tmp_path / str(share))
        states.append(model.encoder.state_dict())
    untouched, trained, mixed = states
    for name, value in mixed.items():
        expected = 0.75 * trained[name] + 0.25 * untouched[name]
        torch.testing.assert_close(value, expected, msg=name)


def test_refuses_the_settings_of_another_model(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not have the layout that"):
        restore(replace(CONFIG, query_length=32), None, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_refuses_a_share_outside_of_0_to_1(tmp_path: Path, share: float) -> None:
    with pytest.raises(ValueError, match=r"--base-share is .*; it must be from 0 to 1"):
        restore(CONFIG, None, tmp_path, share)
    assert not list(tmp_path.iterdir())
