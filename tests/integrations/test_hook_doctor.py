"""`tersely hook doctor`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tersely.cli import main
from tersely_hook import settings
from tersely_hook.client import SWITCH
from tersely_ledger import Ledger, default_path
from tests.integrations.hook_home import open_home

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    yield from open_home(tmp_path, monkeypatch)


@pytest.fixture
def no_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the hook work without a call of it."""
    monkeypatch.setattr("tersely_hook.doctor._time_calls", lambda command: {"call": "5 ms"})


def test_doctor_calls_the_installed_hook(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tersely_hook.doctor._CALLS", 3)
    assert main(["hook", "doctor", "--json"]) == 3
    assert "tersely hook install" in capsys.readouterr().err
    assert main(["hook", "install"]) == 0
    assert "Bash(tersely_original:*)" in capsys.readouterr().out
    monkeypatch.setenv(SWITCH, "shadow")
    assert main(["hook", "doctor", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["claude"] == settings.AGENTS["claude"].tools
    assert facts["cursor"] == "not installed"
    assert facts["copilot"] == "not installed"
    assert facts["codex"].startswith("cannot: Codex rejects a replaced output")
    assert "ms, median of 3;" in facts["call"]
    assert facts["process"].endswith("MB of RAM")
    assert facts["originals"].startswith("1, ")
    assert facts["switch"] == f"{SWITCH}=shadow; this check runs without it"
    assert Ledger(default_path()).read() == []


def test_doctor_says_that_it_is_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], state: Path
) -> None:
    monkeypatch.setenv(SWITCH, "off")
    assert main(["hook", "doctor"]) == 0
    assert f"off by {SWITCH}=off" in capsys.readouterr().out
    assert not state.exists()


@pytest.mark.parametrize("value", ["nonsense", "holdout=7", "holdout=10%", "holdout=nan", "shadow=1"])
def test_doctor_refuses_a_switch_that_is_not_understood(
    value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(SWITCH, value)
    assert main(["hook", "doctor"]) == 3
    assert f"{SWITCH}={value} is not understood" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["holdout=0", "holdout=0.1", "holdout=1", "Shadow"])
def test_doctor_takes_every_switch_that_the_hook_takes(
    value: str, no_calls: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(SWITCH, value)
    main(["hook", "doctor"])
    assert "is not understood" not in capsys.readouterr().err


def test_doctor_says_why_the_daemon_does_not_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "tersely.py").write_text("import a_library_that_is_missing\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("tersely_hook.doctor._START_S", 3.0)
    assert main(["hook", "doctor"]) == 3
    assert "No module named 'a_library_that_is_missing'" in capsys.readouterr().err


def test_doctor_says_what_is_gone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    settings.install("claude")
    path = settings.AGENTS["claude"].file()
    gone = str(tmp_path / "venv" / "bin" / "python")
    path.write_text(path.read_text().replace(sys.executable, gone))
    assert main(["hook", "doctor"]) == 3
    assert f"The hook starts {gone}, which is gone. Run: tersely hook install" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_doctor_reads_the_settings_of_the_folder(
    name: str,
    no_calls: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    folder = tmp_path / "app" / ".claude"
    folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "app")
    (folder / name).write_text('{"enabledPlugins": {"tersely@tersely": true}}')
    monkeypatch.setattr("shutil.which", lambda command: None if command == "tersely" else "/usr/bin/python3")
    assert main(["hook", "doctor"]) == 3
    assert "The plugin needs tersely on the PATH." in capsys.readouterr().err
    monkeypatch.setattr("shutil.which", lambda command: f"/usr/bin/{command}")
    assert main(["hook", "doctor"]) == 0
    assert "as a plugin" in capsys.readouterr().out
    (folder / name).write_text('{"enabledPlugins": {"tersely@tersely": true}, "disableAllHooks": true}')
    assert main(["hook", "doctor"]) == 3
    assert '"disableAllHooks": true' in capsys.readouterr().err
