"""Add the hook to an agent's settings, and remove it, without changing any other byte of the file."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tersely import InvalidInputError
from tersely_hook import client, copilot
from tersely_hook.answers import CURSOR_MATCHER, MATCHER
from tersely_hook.store import COMMAND

TIMEOUT_S = 5
Json = dict[str, Any]
Place = tuple[str | int, ...]
"""Keys and indices that lead to a value."""
_GROUP = 3
"""Length of the place of a matcher with its commands: "hooks", the event, an index."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_START = '{\n  "version": 1\n}\n'
"""Settings of Cursor or Copilot without hooks."""


def _claude_file() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude", "settings.json")


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent that lets a hook replace the output of a tool."""

    file: Callable[[], Path]
    event: str
    tools: str
    """Tools whose output the agent lets a hook replace."""
    entry: Callable[[str], Json]
    """A function that returns the entry of a command under an event of the settings."""
    start: str
    """Settings of an agent without a settings file."""
    kept: int
    """Length of the shortest place that may go with the hook: Cursor refuses settings without "hooks"."""


AGENTS = {
    "claude": Agent(
        _claude_file,
        "PostToolUse",
        "Bash, PowerShell, Grep, Glob, Read, WebFetch, WebSearch and MCP tools",
        lambda command: {
            "matcher": MATCHER,
            "hooks": [{"type": "command", "command": command, "timeout": TIMEOUT_S}],
        },
        "{}\n",
        kept=1,
    ),
    "cursor": Agent(
        lambda: Path.home() / ".cursor" / "hooks.json",
        "postToolUse",
        "MCP tools only; Cursor ignores what a hook says of any other",
        lambda command: {"command": command, "matcher": CURSOR_MATCHER, "timeout": TIMEOUT_S},
        _START,
        kept=2,
    ),
    "copilot": Agent(
        lambda: copilot.home() / "hooks" / "tersely.json",
        "postToolUse",
        "bash, powershell, view, grep, glob and MCP tools, in results of at most 20 KB",
        lambda command: {
            "type": "command",
            "command": command,
            "matcher": copilot.MATCHER,
            "timeout": TIMEOUT_S,
        },
        _START,
        kept=2,
    ),
}
REJECTED = {
    "codex": "Codex rejects a replaced output, and one that a hook blocks loses its exit code",
    "gemini": "Gemini CLI ignores a replaced output, and reports one that a hook blocks as an error",
}
"""Agents whose hooks cannot shorten anything, and the reasons."""


PERMISSION = f"Bash({COMMAND}:*)"
"""Entry of Claude Code's settings that lets it open originals without asking."""
COPILOT_PERMISSION = f"--allow-tool 'shell({COMMAND}:*)'"
"""Option of Copilot that lets it open originals without asking."""


def hook_command() -> str:
    """Return the command of the hook: the client, without Python's site packages, and the daemon's start."""
    python = sys.executable
    return shlex.join([python, "-I", "-S", os.path.abspath(client.__file__), python, "-m", "tersely_hook"])


def install(agent: str) -> bool:
    """Add the hook to the agent's settings. Return False if it is there already.

    Raises InvalidInputError if the settings cannot be read or hold something unexpected.
    """
    if sys.platform == "win32":
        raise InvalidInputError("The hook needs Unix sockets. Use `tersely proxy` on this system.")
    chosen = AGENTS[agent]
    command = hook_command()
    text = _read(chosen.file(), chosen.event) or chosen.start
    commands = [_value(text, found) for found in _find_commands(text, chosen)]
    if commands == [command]:
        return False
    text = _remove(text, chosen)  # of another environment
    root = _parse(text)
    entry: Any = chosen.entry(command)
    for keys, value in (
        (("hooks", chosen.event), entry),
        (("hooks",), {chosen.event: [entry]}),
        ((), {"hooks": {chosen.event: [entry]}}),
    ):
        node = root.find(keys)
        if node is not None:
            text = _append(text, node, len(keys), value)
            break
    _write(chosen.file(), text)
    return True


def uninstall(agent: str) -> bool:
    """Remove the hook from the agent's settings. Return False if it is not there."""
    chosen = AGENTS[agent]
    text = _read(chosen.file(), chosen.event)
    if not text or not any(_find_commands(text, chosen)):
        return False
    _write(chosen.file(), _remove(text, chosen))
    return True


def find_command(agent: str) -> str | None:
    """Return the hook's command in the agent's settings; None without a hook."""
    chosen = AGENTS[agent]
    text = _read(chosen.file(), chosen.event)
    found = next(_find_commands(text, chosen), None) if text else None
    return None if found is None else _value(text, found)


def has_plugin() -> bool:
    """Return whether Claude Code has the plugin of this repository, for the user or in the current folder."""
    plugins: Json = {}
    for settings in _read_claude():
        if isinstance(given := settings.get("enabledPlugins"), dict):
            plugins |= given
    return any(key.startswith("tersely@") and on for key, on in plugins.items())


def are_hooks_disabled() -> bool:
    """Return whether Claude Code runs no hooks in the current folder."""
    given = [settings["disableAllHooks"] for settings in _read_claude() if "disableAllHooks" in settings]
    return bool(given) and given[-1] is True


def _read_claude() -> Iterator[Json]:
    """Yield the settings of Claude Code: the user's, then those of the current folder, which win."""
    files = [_claude_file(), *(Path.cwd() / ".claude" / f"settings{kind}.json" for kind in ("", ".local"))]
    for path in dict.fromkeys(files):
        yield json.loads(_read(path, AGENTS["claude"].event) or "{}")


def _read(path: Path, event: str) -> str:
    """Return the settings in a file, or "" without any. Raises InvalidInputError for unexpected ones.

    event: the event of the agent whose hooks are read.
    """
    try:
        text = path.read_bytes().decode("utf-8")
        settings: Any = json.loads(text) if text.strip() else {}
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"{path} cannot be read as JSON ({error}). Nothing was changed.") from error
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    if not isinstance(hooks, dict) or not isinstance(hooks.get(event, []), list):
        raise InvalidInputError(f"{path} does not have hooks as the agent reads them. Nothing was changed.")
    return text if text.strip() else ""


def _write(path: Path, text: str) -> None:
    """Replace the file in one step. A link to it and its permissions stay."""
    json.loads(text)
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    number, new = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(number, "wb") as file:
            file.write(text.encode("utf-8"))
        os.chmod(new, mode)
        os.replace(new, path)
    except BaseException:
        os.unlink(new)
        raise


@dataclass
class _Node:
    """A JSON value in its text. `members` have the key or index of each value in it, and its start."""

    start: int
    end: int = 0
    members: list[tuple[str | int, int, _Node]] = field(default_factory=list)

    def find(self, place: Place) -> _Node | None:
        """Return the value that the keys and indices lead to."""
        node: _Node | None = self
        for key in place:
            node = next((inner for name, _, inner in node.members if name == key), None) if node else None
        return node


def _parse(text: str) -> _Node:
    """Return the values of a JSON text, which is valid, with their places."""
    root = _Node(0)
    open_nodes = [(root, False)]
    key: tuple[str, int] | None = None
    """The key whose value comes next, and where it starts."""
    for match in _TOKEN.finditer(text):
        token = match[0]
        node, is_object = open_nodes[-1]
        if token in "}]":
            node.end = match.end()
            open_nodes.pop()
        elif token in ",:":
            continue
        elif is_object and key is None:
            key = json.loads(token), match.start()
        else:
            inner = _Node(match.start(), match.end())
            name, start = key or (len(node.members), match.start())
            node.members.append((name, start, inner))
            key = None
            if token in "{[":
                open_nodes.append((inner, token == "{"))
    return root.members[0][2]


def _find_commands(text: str, agent: Agent) -> Iterator[Place]:
    """Yield the places of the hook's commands in valid settings."""
    settings: Any = json.loads(text)
    for at, group in enumerate(settings.get("hooks", {}).get(agent.event, [])):
        if not isinstance(group, dict):
            continue
        inner = group.get("hooks")
        places = (
            [(at, "hooks", number) for number in range(len(inner))] if isinstance(inner, list) else [(at,)]
        )
        for place in places:
            hook: Any = inner[place[-1]] if isinstance(inner, list) else group
            if isinstance(hook, dict) and "tersely_hook" in str(hook.get("command")):
                yield ("hooks", agent.event, *place)


def _value(text: str, place: Place) -> str:
    """Return the command of a hook."""
    value: Any = json.loads(text)
    for key in place:
        value = value[key]
    return value["command"]


def _append(text: str, node: _Node, depth: int, value: Any) -> str:
    """Add a value at the end of a list, or the members of an object at the end of another one."""
    unit = re.search(r"\n([ \t]+)", text)
    indent = unit[1] if unit else "  "
    lines = json.dumps([value] if text[node.start] == "[" else value, indent=indent).split("\n")[1:-1]
    added = "\n".join(indent * depth + line for line in lines)
    if node.members:
        last = node.members[-1][2].end
        return f"{text[:last]},\n{added}{text[last:]}"
    return f"{text[: node.start + 1]}\n{added}\n{indent * depth}{text[node.end - 1 :]}"


def _remove(text: str, agent: Agent) -> str:
    """Remove the hook's commands, and entries that are empty without them."""
    while found := next(_find_commands(text, agent), None):
        root = _parse(text)
        place = _widen(root, found, agent.kept)
        holder = _get(root, place[:-1])
        at = [name for name, _, _ in holder.members].index(place[-1])
        if at:
            start, end = holder.members[at - 1][2].end, holder.members[at][2].end
        elif len(holder.members) > 1:
            start, end = holder.members[0][1], holder.members[1][1]
        else:
            start, end = holder.start + 1, holder.end - 1
        text = text[:start] + text[end:]
    return text


def _widen(root: _Node, place: Place, kept: int) -> Place:
    """Return the place of the outermost value that the hook's command alone fills."""
    if len(place) > _GROUP and len(_get(root, place[:-1]).members) == 1:
        place = place[:_GROUP]  # its matcher means nothing without commands
    while kept < len(place) <= _GROUP and len(_get(root, place[:-1]).members) == 1:
        place = place[:-1]
    return place


def _get(root: _Node, place: Place) -> _Node:
    node = root.find(place)
    assert node is not None, "the place was found in the same text"
    return node
