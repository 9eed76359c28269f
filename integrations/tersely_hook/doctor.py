"""Check the hook: where it is installed, and whether a call of it shortens a result."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import statistics
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tersely_hook.client import SWITCH, folder, is_off
from tersely_hook.records import CHECK_SESSION
from tersely_hook.settings import (
    AGENTS,
    REJECTED,
    are_hooks_disabled,
    find_command,
    has_plugin,
    hook_command,
)
from tersely_hook.store import Originals, originals_folder, shell_command

_CALLS = 20
_ON = ("", "1", "on", "true", "yes", "shadow", "holdout")
"""Values of the switch that leave the hook on; `holdout=R` is another one."""
_START_S = 15.0
_LINES = 500


def check() -> tuple[dict[str, Any], str | None]:
    """Return facts about the hook, and its problem, if there is one."""
    commands = {agent: find_command(agent) for agent in AGENTS}
    states = {
        agent: AGENTS[agent].tools if command else "not installed" for agent, command in commands.items()
    }
    plugin = has_plugin()
    if plugin:
        states["claude"] += "; as a plugin" if commands["claude"] else " in the settings; as a plugin"
    facts: dict[str, Any] = states | {agent: f"cannot: {why}" for agent, why in REJECTED.items()}
    if is_off():
        return facts | {"switch": f"off by {SWITCH}={os.environ[SWITCH]}"}, None
    facts["switch"] = _describe_switch()
    if (wrong := _find_switch_problem()) is not None:
        return facts, wrong
    for agent, command in commands.items():
        if command and (gone := _find_gone(command)):
            return facts, f"The hook starts {gone}, which is gone. Run: tersely hook install {agent}"
    command = next((command for command in commands.values() if command), hook_command())
    timed = _time_calls(shlex.split(command))
    facts |= timed | _describe_store()
    problem = None
    missing = [name for name in ("python3", "tersely") if plugin and shutil.which(name) is None]
    if are_hooks_disabled():
        problem = 'Claude Code runs no hooks, because its settings have "disableAllHooks": true. Remove that.'
    elif missing and not commands["claude"]:
        problem = f"The plugin needs {' and '.join(missing)} on the PATH. Add it or run: tersely hook install"
    elif "call" not in timed:
        problem = (
            f"No result was shortened within {_START_S:g} s. The process says: {_read('log') or 'nothing'}"
        )
    elif not plugin and not any(commands.values()):
        problem = "The hook works, but no agent uses it. Run: tersely hook install"
    return facts, problem


def _find_switch_problem() -> str | None:
    """Return the error in the value of the switch; None if it is understood."""
    mode = os.environ.get(SWITCH, "").lower()
    name, _, share = mode.partition("=")
    with suppress(ValueError):
        if mode in _ON or (name == "holdout" and 0 <= float(share) <= 1):
            return None
    return f"{SWITCH}={mode} is not understood. Set it to off, shadow or holdout=0.1."


def _describe_switch() -> str:
    mode = os.environ.get(SWITCH)
    return f"{SWITCH}={mode}; this check runs without it" if mode else f"on ({SWITCH}=off switches it off)"


def _find_gone(command: str) -> str | None:
    """Return a file of a command that no longer exists; None if all do."""
    files = filter(os.path.isabs, shlex.split(command))
    return next((file for file in files if not os.path.exists(file)), None)


def _time_calls(command: Sequence[str]) -> dict[str, Any]:
    """Return the time of a call and the size of the process; nothing if no result is shortened."""
    lines = [
        f"12:{at // 60:02d}:{at % 60:02d} INFO worker {at % 7} took request {at}" for at in range(_LINES)
    ]
    text = "\n".join([*lines[:200], "12:03:20 ERROR worker 4 timed out", *lines[200:]])
    sample = {
        "session_id": CHECK_SESSION,
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "journalctl", "description": "Find out which worker timed out"},
        "tool_response": {"stdout": text, "stderr": "", "interrupted": False, "isImage": False},
    }
    end = time.monotonic() + _START_S
    while not (first := _call(command, sample)[0]):
        if time.monotonic() > end:
            return {}
        time.sleep(0.2)
    short = first["hookSpecificOutput"]["updatedToolOutput"]["stdout"]
    times = sorted(_call(command, sample)[1] * 1000 for _ in range(_CALLS))
    return {
        "call": f"{statistics.median(times):.0f} ms, median of {_CALLS}; the slowest {times[-1]:.0f} ms",
        "sample": f"{len(text):,} -> {len(short):,} characters",
        "process": _measure_process(),
    }


def _call(command: Sequence[str], sample: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """Return the hook's answer and the seconds of the call."""
    start = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != SWITCH}
    done = subprocess.run(
        command, input=json.dumps(sample).encode(), env=environment, capture_output=True, check=False
    )
    seconds = time.perf_counter() - start
    with suppress(ValueError):
        return json.loads(done.stdout), seconds
    return {}, seconds


def _measure_process() -> str:
    done = subprocess.run(
        ["ps", "-o", "rss=", "-p", _read("lock")], capture_output=True, text=True, check=False
    )
    return f"{int(done.stdout) // 1024} MB of RAM" if done.stdout.strip().isdigit() else "unknown"


def _describe_store() -> dict[str, Any]:
    count, size = Originals(originals_folder()).measure()
    key = "0" * 12
    return {
        "originals": f"{count}, {size:,} bytes in {originals_folder()}",
        "command": shell_command(key).replace(key, "ID"),
    }


def _read(name: str) -> str:
    """Return the last line of a small file of the process."""
    try:
        lines = Path(folder(), name).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return ""
    return next((line for line in reversed(lines) if line.strip()), "").strip()
