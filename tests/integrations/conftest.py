from __future__ import annotations

from pathlib import Path

import pytest

from tersely import Compressor
from tersely_hook.shortening import TextShortener
from tersely_hook.store import Originals, originals_folder
from tests.integrations.samples import HARBOUR, MUSEUM
from tests.properties import ignore_clocks

ignore_clocks()


@pytest.fixture(scope="session")
def bundled() -> Compressor:
    """Return a compressor with the bundled model."""
    return Compressor()


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    """Return a folder that a server may read, next to files that it may not read."""
    folder = tmp_path / "notes"
    (folder / "town").mkdir(parents=True)
    (folder / "town/museum.md").write_text(MUSEUM, encoding="utf-8")
    (folder / "town/harbour.md").write_text(HARBOUR, encoding="utf-8")
    (folder / "plan[1].md").write_text("A plan.", encoding="utf-8")
    (folder / "picture.md").write_bytes(b"\x89PNG\x00\xff")
    (tmp_path / "secret.md").write_text("The password is swordfish.", encoding="utf-8")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "away").symlink_to(tmp_path)
    return folder


@pytest.fixture
def originals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Originals:
    """Return the hook's originals, in a folder of this test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path / "copilot"))
    return Originals(originals_folder())


@pytest.fixture
def shortener(originals: Originals) -> TextShortener:
    return TextShortener(originals)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the path of a ledger that does not exist yet."""
    return tmp_path / "ledger.db"
