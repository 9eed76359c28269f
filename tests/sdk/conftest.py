from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tersely.runtime.artifacts import load_artifact
from tests.loopback import serve as serve
from tests.properties import ignore_clocks
from tests.sdk.cli_runner import NOTE

ignore_clocks()


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "note.md"
    path.write_text(NOTE, encoding="utf-8")
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a copy of the bundled model, with links to its graphs."""
    return Path(shutil.copytree(load_artifact().path, tmp_path / "model", copy_function=_copy_or_link))


def _copy_or_link(source: str, target: str) -> None:
    if source.endswith(".onnx"):
        os.symlink(Path(source).resolve(), target)
    else:
        shutil.copy(source, target)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two documents that an agent may search, and two files that are not documents."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "keys.md").write_text(
        "# Keys\n\nThe spare key of the lighthouse is with Ada. The boat house has no lock.", encoding="utf-8"
    )
    (tmp_path / "garden.txt").write_text("The pears are ripe in September.", encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "empty.md").write_text("  \n")
    return tmp_path
