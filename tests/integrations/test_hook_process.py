"""The hook's client and its daemon as processes, and the settings that start them."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tersely import __version__
from tersely.cli import main
from tersely_hook import client, settings
from tersely_hook.answers import MATCHER
from tersely_hook.client import START_S, SWITCH
from tests.integrations.hook_home import ROOT, find_daemon, open_home
from tests.integrations.hook_inputs import LOG, make_input

PLUGIN = ROOT / "integrations" / "tersely_hook"
CLIENT = [sys.executable, "-I", "-S", client.__file__]
DAEMON = [sys.executable, "-m", "tersely_hook"]
LIGHT = {"socket", "json", "subprocess", "re", "enum", "numpy", "tersely", "tersely_hook"}
WAIT_S = 60.0
MAX_RAM = 200_000_000

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    yield from open_home(tmp_path, monkeypatch)


def call(payload: Any = None, start: list[str] | None = None, **variables: str) -> dict[str, Any]:
    """Return the client's answer to a hook input."""
    request = payload if isinstance(payload, bytes) else json.dumps(payload or make_input("Bash")).encode()
    done = subprocess.run(
        [*CLIENT, *(DAEMON if start is None else start)],
        input=request,
        capture_output=True,
        env=os.environ | variables,
        timeout=WAIT_S,
        check=True,
    )
    assert done.stderr == b""
    assert done.stdout.endswith(b"\n")
    return json.loads(done.stdout)


def wait_for(check: Callable[[], Any]) -> Any:
    end = time.monotonic() + WAIT_S
    while not (result := check()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return result


def test_first_call_starts_the_daemon_and_later_ones_use_it(state: Path) -> None:
    assert call() == {}
    answer = wait_for(call)
    assert "login request timed out" in answer["hookSpecificOutput"]["updatedToolOutput"]["stdout"]
    first = find_daemon(state)
    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wait_for(lambda: call() == answer)  # on a busy machine some calls get no answer in time
    assert find_daemon(state) == first
    for path in (state, state / "originals"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for path in (state / "socket", state / "log", state / "lock"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077
    (original,) = (state / "originals").iterdir()
    assert original.read_text() == LOG
    ram = subprocess.run(["ps", "-o", "rss=", "-p", str(first)], capture_output=True, text=True, check=True)
    assert int(ram.stdout) * 1024 < MAX_RAM
    assert (state / "log").read_text() == ""


def test_a_daemon_that_was_killed_is_started_again(state: Path) -> None:
    call()
    wait_for(call)
    first = find_daemon(state)
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: find_daemon(state) is None)
    assert call() == {}
    assert find_daemon(state) is None  # it is not started again at once
    os.utime(state / "log", (time.time() - START_S,) * 2)
    assert call() == {}
    assert wait_for(call)
    assert find_daemon(state) != first


def test_a_second_daemon_ends_at_once(state: Path) -> None:
    call()
    wait_for(call)
    assert subprocess.run(DAEMON, timeout=WAIT_S, check=False).returncode == 1
    assert wait_for(call)


def test_uninstalling_ends_the_daemon(state: Path) -> None:
    assert main(["hook", "uninstall"]) == 0  # without one
    call()
    wait_for(call)
    assert main(["hook", "uninstall"]) == 0
    wait_for(lambda: find_daemon(state) is None)
    (state / "log").unlink(missing_ok=True)  # the end of a test waits for a daemon that has a log


def test_an_idle_daemon_ends(state: Path) -> None:
    code = "import tersely_hook.daemon as d; d._Server.timeout = 0.1; raise SystemExit(d.serve())"
    assert subprocess.run([sys.executable, "-c", code], timeout=WAIT_S, check=False).returncode == 0
    assert not (state / "socket").exists()


def test_one_variable_switches_it_off(state: Path) -> None:
    assert call(**{SWITCH: "off"}) == {}
    assert not state.exists()


@pytest.mark.parametrize("start", [["/nowhere/python"], ["false"], []])
def test_a_daemon_that_cannot_be_started_changes_nothing(start: list[str], state: Path) -> None:
    assert call(start=start) == {}
    assert call(start=start) == {}
    (state / "log").unlink(missing_ok=True)


@pytest.mark.parametrize(
    "request_text",
    [b"", b"{", b"\xff", b"[]", b"x" * (client.MAX_BYTES + 1)],
    ids=["empty", "cut", "no UTF-8", "a list", "too long"],  # pytest puts the name into the environment
)
def test_broken_inputs_change_nothing(request_text: bytes) -> None:
    assert call(request_text) == {}
    assert call(request_text) == {}


@pytest.mark.parametrize("answer", [None, b"", b'{"hookSpecificOutput": {"hook'])
def test_a_daemon_that_hangs_or_dies_changes_nothing(answer: bytes | None, state: Path) -> None:
    state.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(state / "socket"))
        server.listen()
        is_answered = threading.Event()

        def serve() -> None:
            connection = server.accept()[0]
            with connection:
                if answer is None:
                    is_answered.wait(WAIT_S)
                else:
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        assert call() == {}
        is_answered.set()
        thread.join()


def test_a_folder_that_others_can_open_is_not_used(state: Path) -> None:
    state.mkdir(parents=True)
    state.chmod(0o755)
    assert call() == {}
    assert list(state.iterdir()) == []
    assert subprocess.run(DAEMON, capture_output=True, timeout=WAIT_S, check=False).returncode == 1


def test_the_client_loads_nothing_that_takes_long() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import client; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(PLUGIN)], capture_output=True, text=True, check=True
    )
    assert not LIGHT & set(loaded.stdout.split())


def test_the_plugin_runs_the_same_client_for_the_same_tools() -> None:
    marketplace = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    (listed,) = marketplace["plugins"]
    assert (ROOT / listed["source"]).resolve() == PLUGIN
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    assert listed["name"] == manifest["name"] == marketplace["name"] == "tersely"
    assert manifest["version"] == __version__
    (group,) = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]["PostToolUse"]
    assert group["matcher"] == MATCHER
    (hook,) = group["hooks"]
    command = shlex.split(hook["command"].replace("${CLAUDE_PLUGIN_ROOT}", str(PLUGIN)))
    assert Path(command[3]) == Path(client.__file__)
    assert command[4:] == ["tersely", "hook", "serve"]


OTHER = '{"matcher": "Edit", "hooks": [{"type": "command", "command": "lint // x"}]}'
SETTINGS = {
    "none": None,
    "empty": "{}\n",
    "compact": '{"model":"opus","env":{"A":"\\u00e9}"}}',
    "tabs": '{\n\t"hooks": {\n\t\t"Stop": []\n\t}, "x": "\u00e9 \\" }{"\n}',
    "others": f'{{\n  "hooks": {{\n    "EVENT": [{OTHER}]\n  }},\n  "b": [1, {{"c": null}}]\n}}\n',
    "spaces": f'{{\n    "hooks": {{\n        "EVENT": [\n    {OTHER},\n\n{OTHER}\n        ]\n    }}\n}}',
}


@pytest.mark.parametrize("agent", settings.AGENTS)
@pytest.mark.parametrize("name", SETTINGS)
def test_installing_and_uninstalling_leaves_every_other_byte(
    agent: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = settings.AGENTS[agent]
    path, before = chosen.file(), SETTINGS[name]
    if before is not None:
        before = before.replace("EVENT", chosen.event)
        path.parent.mkdir(parents=True)
        path.write_text(before, encoding="utf-8")
        path.chmod(0o640)
    assert main(["hook", "install", agent]) == 0
    installed = path.read_text(encoding="utf-8")
    values = json.loads(installed)
    assert settings.hook_command() in json.dumps(values["hooks"][chosen.event][-1])
    assert main(["hook", "install", agent]) == 0
    assert path.read_text(encoding="utf-8") == installed
    assert "already in" in capsys.readouterr().out
    assert main(["hook", "uninstall", agent]) == 0
    after = path.read_text(encoding="utf-8")
    if agent != "claude" and before is None:
        assert json.loads(after) == {"version": 1, "hooks": {}}
    elif agent != "claude" and name in ("empty", "compact"):
        assert json.loads(after) == json.loads(before or "{}") | {"hooks": {}}
    else:
        assert after == (before or "{}\n")
    assert stat.S_IMODE(path.stat().st_mode) == (0o600 if before is None else 0o640)
    assert main(["hook", "uninstall", agent]) == 0
    assert "not in" in capsys.readouterr().out
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_command_of_another_environment_is_replaced() -> None:
    path = settings.AGENTS["claude"].file()
    settings.install("claude")
    text = path.read_text()
    other = settings.hook_command().replace(sys.executable, "/old/python")
    hooks = [{"type": "command", "command": other}, {"command": "mine"}]
    path.write_text(json.dumps({"hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": hooks}]}}))
    settings.install("claude")
    groups = json.loads(path.read_text())["hooks"]["PostToolUse"]
    assert groups == [
        {"matcher": "Bash", "hooks": [{"command": "mine"}]},
        json.loads(text)["hooks"]["PostToolUse"][0],
    ]


def test_settings_behind_a_link_stay_there(tmp_path: Path) -> None:
    path = settings.AGENTS["claude"].file()
    path.parent.mkdir()
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    path.symlink_to(real)
    settings.install("claude")
    assert path.is_symlink()
    assert "tersely_hook" in real.read_text()


@pytest.mark.parametrize("text", ["[]", "{", '{"hooks": []}', '{"hooks": {"PostToolUse": {}}}', "// no\n{}"])
def test_unexpected_settings_are_not_changed(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = settings.AGENTS["claude"].file()
    path.parent.mkdir()
    path.write_text(text)
    for command in ("install", "uninstall"):
        assert main(["hook", command]) == 2
        assert "Nothing was changed." in capsys.readouterr().err
    assert path.read_text() == text


@pytest.mark.parametrize("agent", [*settings.REJECTED, "emacs"])
def test_an_agent_that_takes_no_replaced_output_is_refused(
    agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hook", "install", agent]) == 2
    error = capsys.readouterr().err
    assert (f"nothing was installed. Use: tersely wrap {agent}" in error) is (agent in settings.REJECTED)
    assert list(tmp_path.iterdir()) == []
