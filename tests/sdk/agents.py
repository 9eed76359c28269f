"""Agents with a scripted model, and the replies of such models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tersely import Compressor
from tersely.runtime.artifacts import write_manifest
from tersely_agents.agent import Agent, EpisodeState, FolderIndex, search_tools
from tersely_agents.chat import Reply, ScriptedChat, ToolCall, Usage
from tests.sdk.fakes import FakeScorer

COMPRESSOR = Compressor(FakeScorer())
QUESTION = "Who holds the spare key of the lighthouse?"


def tagged(call: str, summary: str = "", level: int = 1) -> str:
    parts = {"think": "Hm.", "summary_level": level, "summary": summary}
    return "".join(f"<{tag}>\n{text}\n</{tag}>\n" for tag, text in parts.items()) + call


def call_tag(name: str, **parameters: str) -> str:
    body = "".join(f"\n<parameter={key}>{value}</parameter>" for key, value in parameters.items())
    return f"<function={name}>{body}\n</function>"


SEARCH = call_tag("search", query="spare key lighthouse")
FINISH = call_tag("finish", answer="Ada", explanation="[notes/keys.md]", confidence="90%")
FOUND = "The spare key of the lighthouse is with Ada [docid: notes/keys.md]."


def make_agent(folder: Path, *script: Any, **options: Any) -> Agent:
    return Agent(ScriptedChat(script), search_tools(FolderIndex(folder)), compressor=COMPRESSOR, **options)


def write_trained(folder: Path, kind: str, prompts: dict[str, str], **further: str) -> Path:
    """Write the artifact of a trained agent or summarizer, with an unreadable adapter, and return its
    folder."""
    folder.mkdir()
    (folder / "adapter.gguf").write_bytes(b"GGUF" + b"\0" * 20)
    limits = {"search_tokens": 9, "preselect": 9, "max_tokens": 9}
    values = {"kind": kind, "adapter": "adapter.gguf", "prompts": prompts, **limits, **further}
    (folder / "config.json").write_text(json.dumps(values), "utf-8")
    write_manifest(folder)
    return folder


def requests_of(agent: Agent) -> list[tuple[list[Any], dict[str, Any]]]:
    assert isinstance(agent.model, ScriptedChat)
    return agent.model.requests


def tool_calls(*named: tuple[str, Any], text: str = "") -> Reply:
    made = tuple(
        ToolCall(f"c{i}-{name}", name, a if isinstance(a, str) else json.dumps(a))
        for i, (name, a) in enumerate(named)
    )
    return Reply(text, made, "tool_calls", Usage(100, 10))


def take_turn(agent: Agent, state: EpisodeState) -> EpisodeState:
    """Return the state after the next turn, corrections and summaries included."""
    after = state
    while after.outcome is None and len(after.trace) == len(state.trace):
        after = agent.step(after, agent.complete(agent.request(after)))
    return after
