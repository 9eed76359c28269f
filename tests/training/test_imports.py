"""Every training module can be imported, also the programs that no other test runs."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import training

NEEDS_VERL = "training.rl.verl."
MODULES = [m.name for m in pkgutil.walk_packages(training.__path__, "training.")]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.startswith(NEEDS_VERL)])
def test_module_can_be_imported(name: str) -> None:
    importlib.import_module(name)
