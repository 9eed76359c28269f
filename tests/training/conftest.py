"""Tiny encoders and finished runs, on a data folder of texts written for the tests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.conftest import data as data
from tests.properties import ignore_clocks

ignore_clocks()


class TrainingModule(pytest.Module):
    """A test file that is skipped without torch."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        pytest.importorskip("torch", reason="training needs torch, from the dependency group `training`")
        return super().collect()


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> TrainingModule:
    return TrainingModule.from_parent(parent, path=module_path)


def _save_encoder(kind: str, factory: pytest.TempPathFactory) -> Path:
    from tests.training.tiny import save_encoder

    folder = factory.mktemp(kind)
    save_encoder(kind, folder)
    return folder


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _save_encoder("bert", tmp_path_factory)


@pytest.fixture(scope="session")
def modernbert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _save_encoder("modernbert", tmp_path_factory)


@pytest.fixture(scope="session")
def phase1(bert: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished Phase I run, which tests leave as it is."""
    from tests.training.tiny import make_config, train_phase1

    folder = tmp_path_factory.mktemp("phase1")
    train_phase1(make_config(bert), data, folder)
    return folder


@pytest.fixture(scope="session")
def cross_encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Return rerankers by the number of their logits."""
    from tests.training.tiny import save_cross_encoders

    one, two = (tmp_path_factory.mktemp("cross") for _ in range(2))
    save_cross_encoders(one, two)
    return {1: one, 2: two}


@pytest.fixture
def tiny_causal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the summarizer's training load a random model of two layers."""
    from training.rl.engines.random_model import make_model, make_tokenizer
    from training.summarizer import train

    def load_tiny(base: Path | None, **_: object) -> tuple[Any, Any]:
        tokenizer = make_tokenizer()
        return make_model(tokenizer), tokenizer

    monkeypatch.setattr(train, "load_causal", load_tiny)
