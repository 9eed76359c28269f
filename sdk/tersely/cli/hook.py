"""`tersely hook`: shorter tool results in coding agents."""

from __future__ import annotations

import importlib
from typing import Any

import click

from tersely.cli import MODEL_MISSING, OK, print_message, show
from tersely.cli.options import COLOR, JSON
from tersely.errors import InvalidInputError

AGENT = click.argument("agent", default="claude", metavar="[AGENT]")


@click.group(no_args_is_help=False)
def hook() -> None:
    """Shorten long tool results in Claude Code and Copilot, and results of MCP tools in Cursor."""


@hook.command()
@AGENT
def install(agent: str) -> int:
    """Add the hook to the settings of AGENT: claude (default), copilot or cursor."""
    settings = _load_settings(agent)
    chosen = settings.AGENTS[agent]
    is_new = settings.install(agent)
    _stop()
    print(f"{'added to' if is_new else 'already in'} {chosen.file()}: {chosen.tools}")
    if agent == "claude":
        print(f'Claude Code asks before it opens an original. To allow it, add "{settings.PERMISSION}" to')
        print('"allow" of "permissions" in that file.')
    elif agent == "copilot":
        print("Copilot asks before it opens an original. To allow it, start it with the option")
        print(settings.COPILOT_PERMISSION)
    return OK


@hook.command()
@AGENT
def uninstall(agent: str) -> int:
    """Remove the hook from the settings of AGENT."""
    settings = _load_settings(agent)
    is_gone = settings.uninstall(agent)
    _stop()
    print(f"{'removed from' if is_gone else 'not in'} {settings.AGENTS[agent].file()}")
    return OK


@hook.command()
@JSON
@COLOR
def doctor(**options: Any) -> int:
    """Check where the hook is installed, and time a call of it."""
    values, problem = importlib.import_module("tersely_hook.doctor").check()
    print(show.to_json(values) if options["json"] else show.tabulate(values, options["color"]))
    return OK if problem is None else print_message(problem, MODEL_MISSING)


@hook.command(hidden=True)
def serve() -> int:
    """Run the hook's background process. The hook starts it, and it ends when it is idle."""
    return importlib.import_module("tersely_hook.daemon").serve()


def _stop() -> None:
    """End the running process, which may be of an older version."""
    importlib.import_module("tersely_hook.daemon").stop()


def _load_settings(agent: str) -> Any:
    """Return the module of the hook's settings. Raises InvalidInputError for an agent without a usable hook.

    The module is imported by name, because the SDK does not depend on its integrations.
    """
    settings = importlib.import_module("tersely_hook.settings")
    if agent in settings.REJECTED:
        raise InvalidInputError(
            f"{settings.REJECTED[agent]}. So nothing would be saved, and nothing was installed. "
            f"Use: tersely wrap {agent}"
        )
    if agent not in settings.AGENTS:
        names = ", ".join([*settings.AGENTS, *settings.REJECTED])
        raise InvalidInputError(f"There is no agent {agent!r}. Known are: {names}.")
    return settings
