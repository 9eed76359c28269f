"""An agent that was trained here, around its model. The model is scripted; tests/stack runs the real one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tersely import ArtifactError, Document, InvalidInputError, OfflineError, cli
from tersely.runtime.artifacts import load_artifact
from tersely_agents.agent import DocumentIndex, load_agent
from tersely_agents.agent.summary import write_grammar
from tersely_agents.agent.tools import finish_tool
from tersely_agents.agent.trained import describe_prompts, make_agent
from tersely_agents.chat import ScriptedChat
from tests.sdk.agents import COMPRESSOR, FINISH, FOUND, QUESTION, SEARCH, requests_of, tagged, write_trained

INDEX = DocumentIndex({"keys.md": Document("Ada holds the spare key of the lighthouse.", "Keys")})


def test_the_model_reads_no_more_of_a_search_than_in_training() -> None:
    long = {f"{n}.md": Document(f"Ada holds key {n} of the lighthouse. " * 30) for n in range(12)}
    chat = ScriptedChat([tagged(SEARCH), tagged(FINISH, FOUND)])
    agent = make_agent(chat, DocumentIndex(long), COMPRESSOR, 60)
    agent.run(QUESTION)
    assert COMPRESSOR.count_tokens(requests_of(agent)[1][0][1]["content"]) < 150


def test_a_turn_of_the_bundled_agent_has_room_for_every_level() -> None:
    limit = load_artifact("tersely-agent", kind="agent").config["max_tokens"]
    grammar = write_grammar([finish_tool(needs_explanation=True)], 10_000, limit)
    assert re.findall(r"(\d)</summary_level>", grammar) == ["1", "2", "3", "4", "5"]


def test_another_agent_or_another_kind_is_refused(tmp_path: Path) -> None:
    old = write_trained(tmp_path / "old", "agent", {"agent_summary_system": "00000000"})
    with pytest.raises(ArtifactError, match="prompts that tersely no longer has"):
        load_agent(INDEX, old, compressor=COMPRESSOR)
    other = write_trained(tmp_path / "other", "summarizer", describe_prompts())
    with pytest.raises(ArtifactError, match="'summarizer', not a 'agent'"):
        load_agent(INDEX, other, compressor=COMPRESSOR)


def test_the_base_model_comes_from_the_hub_unless_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    artifact = write_trained(tmp_path / "mine", "agent", describe_prompts(), base_file="owner/base/base.gguf")
    with pytest.raises(OfflineError, match=r"base\.gguf' is not here"):
        load_agent(INDEX, artifact, compressor=COMPRESSOR)
    with pytest.raises(InvalidInputError, match="no GGUF file"):
        load_agent(INDEX, artifact, compressor=COMPRESSOR, base=artifact / "config.json")


@pytest.mark.parametrize(
    ("further", "prompts", "code", "message"),
    [
        (["--strategy", "reset"], describe_prompts(), 2, "Leave --strategy out"),
        (["--chat-model", "other"], describe_prompts(), 2, "Leave it out with --local"),
        ([], {}, 3, "Train it again"),
    ],
)
def test_the_command_says_why_an_agent_cannot_run(
    further: list[str],
    prompts: dict[str, str],
    code: int,
    message: str,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    artifact = write_trained(tmp_path / "mine", "agent", prompts)
    command = ["agent", "--docs", str(folder), "-q", QUESTION, "--local", str(artifact), *further]
    assert cli.main(command) == code
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
