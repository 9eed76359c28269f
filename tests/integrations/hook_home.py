"""A home of its own for the tests of the hook."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tersely_hook import client
from tersely_hook.client import SWITCH

ROOT = Path(__file__).resolve().parents[2]


def open_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield the hook's folder, in a home of its own; end a daemon that was started."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "s"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(str(ROOT / name) for name in ("sdk", "integrations")))
    for name in ("CLAUDE_CONFIG_DIR", "COPILOT_HOME", SWITCH):
        monkeypatch.delenv(name, raising=False)
    folder = Path(client.folder())
    yield folder
    log = folder / "log"
    end = time.monotonic() + 5.0
    while log.exists() and not log.read_text() and not find_daemon(folder) and time.monotonic() < end:
        time.sleep(0.05)  # it was started, and may not serve yet
    if process := find_daemon(folder):
        os.kill(process, signal.SIGKILL)


def find_daemon(folder: Path) -> int | None:
    lock = folder / "lock"
    text = lock.read_text().strip() if lock.exists() else ""
    if not text:
        return None
    try:
        os.kill(int(text), 0)
    except ProcessLookupError:
        return None
    return int(text)
