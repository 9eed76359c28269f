"""A public class takes any argument, or refuses it with an error of tersely that says what to pass.

Each class is made with one senseless argument at a time, and used once if it was made.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tersely import CompressionOptions, Compressor, Document, InvalidInputError, TerselyError
from tersely.adapters import check_keep
from tersely.embedding import SentenceEmbedder
from tersely.rerank import CrossEncoder, DecisionEndpoint, Relevance, RerankEndpoint
from tersely.runtime import http
from tersely_agents.agent import (
    Agent,
    DocumentIndex,
    FolderIndex,
    SelectedSentences,
    Tool,
    WrittenSummary,
    reading_tool,
    search_tools,
)
from tersely_agents.chat import LocalChat, OpenAIChat, ScriptedChat
from tersely_agents.experience import Experience, ExperienceBank, Origin
from tersely_agents.memory import AgentMemory, MemoryStore
from tersely_agents.summaries import Summarizer
from tests.sdk.fakes import FakeScorer, Letters

SENSELESS: list[Any] = [
    *(None, 5, 0, -1, 1.5, float("nan"), True, "x", "", b"x", [], [5], {}, {"a": 5}),
    object(),
]


@dataclass
class Case:
    make: Callable[..., Any]
    given: dict[str, Any] = field(default_factory=dict[str, Any])
    use: Callable[[Any], object] | None = None
    leave: tuple[str, ...] = ()
    """Parameters that are not tried. Threads load a model, and are tried in `test_bad_calls.py`."""
    opens: bool = True
    """True if the given arguments are enough to make it."""


FIRST = [{"role": "user", "content": "Which bridge is old?"}]
COMPRESSOR = Compressor(FakeScorer())
PAGES = DocumentIndex({"a": Document("The bridge is old.")})
LESSON = {"title": "t", "description": "d", "content": "c", "problem": "p", "success": True}


def shorten(compressor: Compressor) -> None:
    compressor.compress("Which?", ["One. Two."], budget=2)


def run_agent(agent: Agent) -> None:
    agent.run("Which bridge is old?")


def offer(tool: Tool) -> None:
    run_agent(Agent(ScriptedChat(["no action"] * 9), [tool], compressor=COMPRESSOR, max_turns=1))


def keep(lesson: Experience) -> None:
    fill_bank(ExperienceBank(":memory:", Letters()), lesson)


def fill_bank(bank: ExperienceBank, lesson: Experience | None = None) -> None:
    bank.add(lesson or Experience(**LESSON))
    bank.recall("bridges")


def talk(memory: AgentMemory) -> None:
    memory.append({"role": "assistant", "content": "The stone one."})
    memory.prepare(None)


CASES = {
    "Compressor": Case(Compressor, {"model": FakeScorer()}, shorten, ("model",)),
    "Document": Case(Document, {"text": "One."}, lambda d: COMPRESSOR.compress("Which?", [d])),
    "CompressionOptions": Case(CompressionOptions),
    "ExperienceBank": Case(ExperienceBank, {"path": ":memory:", "embedder": Letters()}, fill_bank),
    "Experience": Case(Experience, LESSON, keep),
    "Origin": Case(Origin, use=lambda origin: keep(Experience(**LESSON, origin=origin))),
    "AgentMemory": Case(AgentMemory, {"first": FIRST, "limit": 600, "compressor": COMPRESSOR}, talk),
    "MemoryStore": Case(MemoryStore, {"path": ":memory:"}, lambda store: store.sessions()),
    "Agent": Case(
        Agent, {"model": ScriptedChat(["x"] * 999), "tools": [], "compressor": COMPRESSOR}, run_agent
    ),
    "Tool": Case(Tool, {"name": "t", "description": "d", "parameters": {}, "run": str}, offer),
    "DocumentIndex": Case(
        DocumentIndex, {"documents": {"a": Document("One.")}}, lambda index: index.search("one", 1)
    ),
    "FolderIndex": Case(FolderIndex, {"folder": "."}, opens=False),
    "search_tools": Case(search_tools, {"retriever": PAGES}),
    "reading_tool": Case(reading_tool, {"retriever": PAGES}, lambda tool: tool.run({"query": "bridge"})),
    "SelectedSentences": Case(
        SelectedSentences, {"compressor": COMPRESSOR}, lambda read: read("bridge", "bridge", [])
    ),
    "WrittenSummary": Case(
        WrittenSummary,
        {"summarizer": Summarizer(compressor=COMPRESSOR)},
        lambda read: read("bridge", "bridge", PAGES.search("bridge", 1)),
        ("summarizer",),
    ),
    "Summarizer": Case(
        Summarizer, {"compressor": COMPRESSOR}, lambda s: s.summarize("Which?", ["One. Two."])
    ),
    "SentenceEmbedder": Case(SentenceEmbedder, leave=("threads",)),
    "Relevance": Case(Relevance, leave=("threads",)),
    "CrossEncoder": Case(CrossEncoder, {"folder": "."}, opens=False),
    "RerankEndpoint": Case(
        RerankEndpoint,
        {"url": "http://127.0.0.1:9/rerank", "retries": 0, "timeout_s": 2.0},
        lambda reranker: reranker.rank("bridge", [Document("One.")]),
    ),
    "DecisionEndpoint": Case(
        DecisionEndpoint,
        {"url": "http://127.0.0.1:9/v1/systemone", "retries": 0, "timeout_s": 2.0},
        lambda reranker: reranker.rank("bridge", [Document("One.")]),
    ),
    "OpenAIChat": Case(
        OpenAIChat,
        {"model": "m", "base_url": "http://127.0.0.1:9/v1", "retries": 0, "timeout_s": 2.0},
        lambda model: model.complete(FIRST),
    ),
    "LocalChat": Case(LocalChat, {"model": "missing.gguf"}, leave=("model",), opens=False),
    "ScriptedChat": Case(ScriptedChat, {"script": ["x"]}),
}


def tried() -> list[tuple[str, str]]:
    keywords = inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL
    return [
        (name, parameter.name)
        for name, case in CASES.items()
        for parameter in inspect.signature(case.make).parameters.values()
        if parameter.kind not in keywords and parameter.name not in case.leave
    ]


@pytest.mark.parametrize(("name", "parameter"), tried())
def test_a_senseless_argument_is_taken_or_clearly_refused(
    name: str, parameter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(http, "_PAUSE_S", 0.01)
    case = CASES[name]
    for value in SENSELESS:
        message = None
        try:
            made = case.make(**{**case.given, parameter: value})
            if case.use is not None:
                case.use(made)
        except TerselyError as error:  # any other error fails the test
            message = str(error)
        assert message is None or len(message) > 20, value


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.opens])
def test_the_same_arguments_without_a_senseless_one_are_taken(name: str) -> None:
    CASES[name].make(**CASES[name].given)


def test_a_number_that_may_be_zero_is_refused_with_that_limit() -> None:
    assert check_keep(0) == 0
    with pytest.raises(InvalidInputError, match=r"keep is -1\. Pass a whole number of results, 0 or more\."):
        check_keep(-1)
