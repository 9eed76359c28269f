"""`tersely wrap` with small scripts as agents, in front of a stand-in for the providers."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("prometheus_client")

from tersely.cli import main
from tersely.cli.servers import wrap
from tersely_ledger import Ledger
from tersely_proxy.wrapping import ANTHROPIC, COPILOT, GEMINI, OPENAI, REFUSED, USED, _prepare
from tests.integrations.providers import Provider
from tests.integrations.providers import provider as provider
from tests.integrations.samples import KEY_ANSWER, KEY_QUESTION, make_page
from tests.servers import COMMAND

ROOT = Path(__file__).resolve().parents[2]
ASK = """
import json, os, sys, urllib.request
call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
messages = [
    {"role": "user", "content": QUESTION},
    {"role": "assistant", "content": "", "tool_calls": [call]},
    {"role": "tool", "tool_call_id": "c1", "content": PAGE},
]
for name, path in (("OPENAI_BASE_URL", "/chat/completions"), ("ANTHROPIC_BASE_URL", "/v1/messages")):
    request = urllib.request.Request(
        os.environ[name] + path, json.dumps({"model": "m", "messages": messages}).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as reply:
        print(reply.headers["x-tersely-status"], json.load(reply)["id"])
print(sys.argv[1:], os.environ["OPENAI_BASE_URL"])
sys.exit(7)
"""
WAIT = """
import signal, sys, time
def end(number, frame):
    print("got", number, flush=True)
    sys.exit(3)
signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGINT, end)
print("ready", flush=True)
while True:  # a signal right before a sleep is handled after it
    time.sleep(0.1)
"""


@pytest.fixture
def environment(provider: Provider) -> dict[str, str]:
    urls = {OPENAI: f"{provider.url}/v1", ANTHROPIC: provider.url}
    return {**os.environ, **urls}


def write_script(path: Path, code: str) -> str:
    page = make_page("room", KEY_ANSWER)
    path.write_text(f"#!{sys.executable}\nQUESTION, PAGE = {KEY_QUESTION!r}, {page!r}\n{code}")
    path.chmod(0o755)
    return str(path)


def start(*arguments: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "wrap", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_an_agent_runs_behind_its_own_proxy(
    provider: Provider, environment: dict[str, str], tmp_path: Path
) -> None:
    script, ledger = write_script(tmp_path / "agent", ASK), tmp_path / "ledger.db"
    options = ["--timeout", "60", "--over", "80", "--ledger-file", str(ledger), "--holdout", "0%"]
    agent = start(*options, script, "--over", "x", "-h", environment=environment)
    output, errors = agent.communicate(timeout=120)
    assert (agent.returncode, errors) == (7, "")
    *answers, last = output.splitlines()
    assert answers == ["compressed chatcmpl-1", "unchanged msg_1"]
    assert last.startswith("['--over', 'x', '-h'] http://127.0.0.1:")
    assert provider.url not in last
    assert "[shortened from" in json.dumps(provider.bodies[0])
    entries = Ledger(ledger).read()
    assert [entry.model for entry in entries] == ["gpt-stand-in", "claude-stand-in"]
    assert all(entry.usage for entry in entries)
    assert {entry.share for entry in entries} == {0}
    port = int(last.rpartition(":")[2])
    with socket.socket() as connection:
        assert connection.connect_ex(("127.0.0.1", port)) != 0, "the proxy has ended"


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_reach_the_agent(number: signal.Signals, environment: dict[str, str], tmp_path: Path) -> None:
    agent = start(write_script(tmp_path / "agent", WAIT), environment=environment)
    assert agent.stdout is not None
    assert agent.stdout.readline() == "ready\n"
    agent.send_signal(number)
    output, errors = agent.communicate(timeout=60)
    assert (agent.returncode, output, errors) == (3, f"got {int(number)}\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_signal_that_comes_while_the_agent_starts_reaches_it(
    environment: dict[str, str], tmp_path: Path
) -> None:
    code = (
        "import os, signal, subprocess, sys\n"
        "start = subprocess.Popen\n"
        "class Slow(start):\n"
        "    def __init__(self, *arguments, **options):\n"
        "        super().__init__(*arguments, **options)\n"
        "        if sys.argv[-1] in arguments[0]:\n"
        "            os.kill(os.getpid(), signal.SIGTERM)\n"
        "subprocess.Popen = Slow\n"
        "from tersely.cli import main\n"
        "sys.exit(main())"
    )
    script = write_script(tmp_path / "agent", "import time; time.sleep(50)")
    command = [sys.executable, "-c", code, "wrap", script]
    assert subprocess.run(command, env=environment, timeout=40, check=False).returncode == 128 + 15


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_an_agent_that_a_signal_ends_has_the_code_of_a_shell(
    environment: dict[str, str], tmp_path: Path
) -> None:
    script = write_script(tmp_path / "agent", "import os; os.kill(os.getpid(), 9)")
    agent = start(script, environment=environment)
    assert agent.communicate(timeout=60) == ("", "")
    assert agent.returncode == 128 + 9


@pytest.mark.parametrize("agent", REFUSED)
def test_agents_that_would_not_use_it_are_refused(
    agent: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(COPILOT, raising=False)
    assert main(["wrap", agent, "--resume"]) == 2
    assert REFUSED[agent] in capsys.readouterr().err


def test_copilot_runs_behind_a_proxy_with_a_provider_of_its_own(provider: Provider, tmp_path: Path) -> None:
    code = """
import json, os, urllib.request
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": QUESTION}]}).encode()
url = os.environ["COPILOT_PROVIDER_BASE_URL"] + "/chat/completions"
with urllib.request.urlopen(urllib.request.Request(url, body, {"content-type": "application/json"})) as reply:
    print(reply.headers["x-tersely-status"])
"""
    agent = start(
        write_script(tmp_path / "copilot", code),
        environment={**os.environ, COPILOT: f"{provider.url}/v1"},
    )
    assert agent.communicate(timeout=60) == ("unchanged\n", "")


def test_an_agent_that_goes_around_the_proxy_is_reported(environment: dict[str, str], tmp_path: Path) -> None:
    agent = start(write_script(tmp_path / "agent", ""), environment=environment)
    output, errors = agent.communicate(timeout=60)
    assert (agent.returncode, output) == (0, "")
    assert "agent sent no request to the proxy" in errors


@pytest.mark.parametrize("page", ["docs/server.md", "docs/frameworks.md"])
def test_the_documented_commands_start_their_agent(page: str) -> None:
    lines = [line for line in (ROOT / page).read_text().splitlines() if line.startswith("tersely wrap ")]
    assert lines
    for line in lines:
        given = wrap.make_context("wrap", shlex.split(line)[2:]).params
        assert given["command"][0] in USED
        assert given["ledger"] is ("--ledger" in line)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "AGENT"),
        (["no-such-agent"], "no command no-such-agent"),
        (["--holdout", "0.2", sys.executable], "--holdout needs --ledger"),
        (["--upstream", "ftp://x", sys.executable], "is not an HTTP address"),
    ],
)
def test_bad_usage_is_explained(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wrap", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_each_agent_is_told_in_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    urls = {OPENAI: "http://127.0.0.1:1", ANTHROPIC: "http://127.0.0.1:2"}
    monkeypatch.setenv("OPENCODE_CONFIG_CONTENT", '{"provider": {"openai": {"name": "x"}}, "model": "m"}')
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("no_proxy", "localhost")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    command, _ = _prepare("codex", ["codex", "exec", "Hello"], {OPENAI: urls[OPENAI]})
    assert command == ["codex", "-c", 'openai_base_url="http://127.0.0.1:1"', "exec", "Hello"]
    _, environment = _prepare("gemini", ["gemini"], {GEMINI: "http://127.0.0.1:3"})
    assert environment["GOOGLE_GEMINI_BASE_URL"] == "http://127.0.0.1:3"
    command, environment = _prepare("opencode", ["opencode"], urls)
    assert command == ["opencode"]
    assert json.loads(environment["OPENCODE_CONFIG_CONTENT"]) == {
        "model": "m",
        "provider": {
            "openai": {"name": "x", "options": {"baseURL": "http://127.0.0.1:1"}},
            "anthropic": {"options": {"baseURL": "http://127.0.0.1:2/v1"}},
        },
    }
    assert environment["NO_PROXY"] == "localhost,127.0.0.1"
