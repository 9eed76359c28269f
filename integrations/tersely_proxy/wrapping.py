"""Run a program and, as long as it runs, a separate proxy between it and the chat APIs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

import uvicorn

from tersely import Compressor, InvalidInputError, TerselyError
from tersely_http import TimedProtocol, listen
from tersely_proxy.app import build_app
from tersely_proxy.forwarding import ProxySettings

OPENAI, ANTHROPIC, GEMINI = "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"
UPSTREAMS = {
    OPENAI: "https://api.openai.com/v1",
    ANTHROPIC: "https://api.anthropic.com",
    GEMINI: "https://generativelanguage.googleapis.com",
}
"""Variables with the base URL of an API. The proxy calls the server given here if its variable is not set."""
COPILOT = "COPILOT_PROVIDER_BASE_URL"
"""Variable with the base URL of a provider that Copilot uses in place of GitHub."""
USED = {
    "copilot": (COPILOT,),
    "claude": (ANTHROPIC,),
    "codex": (OPENAI,),
    "gemini": (GEMINI,),
}
"""Variables that these agents use. Any other agent may use all of `UPSTREAMS`."""
REFUSED = {
    "cursor-agent": "Cursor's agent sends its requests to Cursor",
    "copilot": f"Copilot sends its requests to GitHub, unless {COPILOT} is set",
}
"""Agents that the proxy cannot help unless one of their variables in `USED` is set, each with the reason."""

_HOST = "127.0.0.1"
_START_S, _STOP_S = 30.0, 5.0
_FORWARDED = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")


def wrap(
    compressor: Compressor,
    command: Sequence[str],
    upstream: str | None,
    make_settings: Callable[[str], ProxySettings],
) -> int:
    """Run a command, and return its exit code: 128 plus the signal's number if a signal ended it.

    `upstream` replaces the servers that the environment or `UPSTREAMS` names; `make_settings` returns the
    settings of the proxy in front of one of them. Raises InvalidInputError for a command that is missing,
    or would not use the proxy.
    """
    agent = os.path.basename(command[0])
    if agent in REFUSED and not any(os.environ.get(name) for name in USED.get(agent, ())):
        raise InvalidInputError(f"{REFUSED[agent]}, so nothing would become shorter. Start it without wrap.")
    if shutil.which(command[0]) is None:
        raise InvalidInputError(f"There is no command {command[0]}. Install it, or pass its path.")
    names = USED.get(agent, tuple(UPSTREAMS))
    servers = {name: upstream or os.environ.get(name) or UPSTREAMS[name] for name in names}
    apps = {
        server: _Watched(build_app(compressor, make_settings(server)))
        for server in dict.fromkeys(servers.values())
    }
    with ExitStack() as stack:
        urls = {server: stack.enter_context(_serve(app)) for server, app in apps.items()}
        started = _prepare(agent, command, {name: urls[server] for name, server in servers.items()})
        code = _run(*started)
    if code == 0 and not any(app.is_used for app in apps.values()):
        print(f"tersely: {agent} sent no request to the proxy, so nothing became shorter.", file=sys.stderr)
    return code


def _prepare(agent: str, command: Sequence[str], urls: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment that lead the agent to the proxies."""
    program, *arguments = command
    environment = {**os.environ, **urls}
    if agent == "codex":  # newer versions ignore the variable
        arguments = ["-c", f'openai_base_url="{urls[OPENAI]}"', *arguments]
    elif agent == "opencode":  # it knows only OPENCODE_CONFIG_CONTENT
        config = _read_config(environment.get("OPENCODE_CONFIG_CONTENT", ""))
        providers = config.setdefault("provider", {})
        for provider, name in (("openai", OPENAI), ("anthropic", ANTHROPIC)):
            base = urls[name] + ("/v1" if name == ANTHROPIC else "")
            providers.setdefault(provider, {}).setdefault("options", {})["baseURL"] = base
        environment["OPENCODE_CONFIG_CONTENT"] = json.dumps(config)
    if any(environment.get(name) for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")):
        direct = environment.get("no_proxy") or environment.get("NO_PROXY")
        environment["no_proxy"] = environment["NO_PROXY"] = ",".join(filter(None, [direct, _HOST]))
    return [program, *arguments], environment


def _read_config(text: str) -> dict[str, Any]:
    try:
        config = json.loads(text or "{}")
    except ValueError as error:
        raise InvalidInputError(f"OPENCODE_CONFIG_CONTENT is not JSON ({error}). Fix or unset it.") from error
    return config if isinstance(config, dict) else {}


def _run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command in the foreground, and pass on the signals that this process gets."""
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []
    """Signals that arrived while the command was being started."""

    def forward(number: int, _: FrameType | None) -> None:
        if number == signal.SIGINT and sys.stdin.isatty():
            return  # the terminal sends it to the command too, and two of them end some agents
        if child is None:
            early.append(number)
        else:
            child.send_signal(number)

    numbers = [signal.SIGINT, *(getattr(signal, name) for name in _FORWARDED if hasattr(signal, name))]
    before = {number: signal.signal(number, forward) for number in numbers}
    try:
        child = subprocess.Popen(command, env=environment)
        for number in early:
            child.send_signal(number)
        code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 128 - code if code < 0 else code


class _Watched:
    """An ASGI application that remembers whether it got a request."""

    def __init__(self, app: Any) -> None:
        self._app, self.is_used = app, False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.is_used = self.is_used or scope["type"] == "http"
        await self._app(scope, receive, send)


@contextmanager
def _serve(app: Any) -> Generator[str]:
    """Serve an ASGI application from a thread on a free port; yield its URL."""
    with listen(_HOST, 0, "--port") as opened:
        # Errors are not logged: the agent has the terminal.
        config = uvicorn.Config(
            app, http=TimedProtocol, ws="none", log_config=None, log_level="critical", server_header=False,
            date_header=False, timeout_graceful_shutdown=int(_STOP_S),
        )  # fmt: skip
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
        thread.start()
        end = time.monotonic() + _START_S
        while not server.started:
            if not thread.is_alive() or time.monotonic() > end:
                raise TerselyError("The proxy has not started.")
            time.sleep(0.005)
        try:
            yield f"http://{_HOST}:{opened.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(2 * _STOP_S)
