"""A data folder in the benchmarks' format, with texts written for these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.towns import write_data_folder


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with both splits of every task, a handful of questions each."""
    root = tmp_path_factory.mktemp("data")
    write_data_folder(root)
    return root
