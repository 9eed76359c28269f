"""Tiny encoders, and a data folder of texts written for the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.conftest import data as data
from tests.training.tiny import save_encoder


@pytest.fixture(scope="session", params=["bert", "modernbert"])
def tiny_encoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    save_encoder(request.param, folder)
    return folder
