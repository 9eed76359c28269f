"""Methods and functions refuse bad arguments with an error of tersely, before anything changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tersely import Compressor, Document, InvalidInputError
from tersely.embedding import SentenceEmbedder
from tersely.rerank import CrossEncoder, Relevance, RerankEndpoint
from tersely_agents.chat import LocalChat, OpenAIChat, ScriptedChat
from tersely_agents.experience import (
    Attempt,
    Experience,
    ExperienceBank,
    condense,
    extract,
    format_experiences,
)
from tersely_agents.levels import choose_level
from tersely_agents.memory import AgentMemory, MemoryStore
from tersely_agents.summaries import Summarizer
from tests.sdk.fakes import FakeScorer, Letters

FIRST = [{"role": "user", "content": "Which bridge is old?"}]
LESSON = {"title": "t", "description": "d", "content": "c", "problem": "p", "success": True}
COMPRESSOR = Compressor(FakeScorer())
CHAT = ScriptedChat([])
ONE = [Document("One.")]
ATTEMPT = Attempt(FIRST, 1.0)

NO_TEXT: list[Any] = [None, 5, True, b"x", ["x"], {"a": 5}, object()]
NO_NAME = [*NO_TEXT, "\ud800"]
NO_TEXTS: list[Any] = [None, 5, "x", b"x", [5], [None], {"a": 5}, object()]
NO_FLAG: list[Any] = [None, 0, 1, "false", [], object()]
NO_PATH: list[Any] = [None, 5, True, b"x", ["x"], "", " ", "a\0b", object()]
NO_COUNT: list[Any] = [-1, 1.5, float("nan"), True, "5", [], object()]


NO_FOLDER = [5, 1.5, True, b"folder", ["folder"], {"a": 1}, object(), "nul\0"]
NO_THREADS = ["2", 1.5, 0, -1, True, float("nan"), [2], object()]


relevance = cache(Relevance)
embedder = cache(SentenceEmbedder)


def bank() -> ExperienceBank:
    return ExperienceBank(":memory:", Letters())


def memory(**options: Any) -> AgentMemory:
    return AgentMemory(FIRST, limit=600, compressor=COMPRESSOR, **options)


def store() -> MemoryStore:
    return MemoryStore(":memory:")


def add(values: Any, **options: Any) -> None:
    bank().add_all(values, **options)


def reset(summary: Any) -> None:
    own = memory()
    own.append({"role": "assistant", "content": "The stone one."})
    own.reset(summary)


def chat(**sampling: Any) -> OpenAIChat:
    return OpenAIChat("m", base_url="http://127.0.0.1:9/v1", retries=0, timeout_s=2.0, **sampling)


def rank(query: Any = "bridge", documents: Any = ONE) -> None:
    RerankEndpoint("http://127.0.0.1:9/rerank", retries=0, timeout_s=2.0).rank(query, documents)


CALLS: dict[str, tuple[Callable[[Any], object], list[Any]]] = {
    **{
        f"{make.__name__}: path or name": (make, NO_FOLDER)
        for make in (SentenceEmbedder, Relevance, CrossEncoder, LocalChat, Compressor)
    },
    **{
        f"{make.__name__}: threads": (lambda v, make=make: make(threads=v), NO_THREADS)
        for make in (SentenceEmbedder, Relevance, Compressor)
    },
    "CrossEncoder: threads": (lambda v: CrossEncoder(".", threads=v), NO_THREADS),
    "CrossEncoder: max_length": (lambda v: CrossEncoder(".", max_length=v), NO_THREADS),
    "Compressor: reranker": (lambda v: Compressor(FakeScorer(), reranker=v), [5, "x", object()]),
    "Compressor: token_counter": (lambda v: Compressor(FakeScorer(), token_counter=v), [5, "x", object()]),
    "compress: an option": (lambda v: COMPRESSOR.compress("q", ["x"], **{v: 5}), ["budgt", "query_"]),
    "compress_batch: an option": (lambda v: COMPRESSOR.compress_batch([("q", ["x"])], **{v: 5}), ["budgt"]),
    "compress_batch": (COMPRESSOR.compress_batch, [*NO_TEXTS, [("q",)], [("q", ["x"], 5)], ["qd"]]),
    "count_tokens": (COMPRESSOR.count_tokens, NO_TEXT),
    "summarize: aspect": (
        lambda v: Summarizer(compressor=COMPRESSOR).summarize("q", ["x"], aspect=v),
        [*NO_TEXT, "x"],
    ),
    "embed": (lambda v: embedder().embed(v), NO_TEXTS),
    "rank: query": (lambda v: rank(query=v), NO_TEXT),
    "rank: documents": (lambda v: rank(documents=v), [*NO_TEXTS, ["x"]]),
    "relevance: query": (lambda v: relevance().rank(v, ONE), NO_TEXT),
    "relevance: documents": (lambda v: relevance().rank("q", v), [*NO_TEXTS, ["x"]]),
    "choose_level": (choose_level, [None, "x", -0.1, 1.1, float("nan"), [], object()]),
    "format_experiences": (format_experiences, [*NO_TEXTS, ["x"], [Experience(**LESSON)]]),
    "condense: model": (lambda v: condense(v, "p", ATTEMPT), [None, 5, "x", ScriptedChat]),
    "condense: problem": (lambda v: condense(CHAT, v, ATTEMPT), [*NO_TEXT, "", " "]),
    "condense: attempt": (lambda v: condense(CHAT, "p", v), [*NO_TEXT, [ATTEMPT]]),
    "extract: attempts": (lambda v: extract(CHAT, "p", v), [*NO_TEXTS, ATTEMPT]),
    "extract: expected": (lambda v: extract(CHAT, "p", [ATTEMPT], expected=v), NO_TEXT[1:]),
    "extract: run": (lambda v: extract(CHAT, "p", [ATTEMPT], run=v), NO_TEXT[1:]),
    "attempt: messages": (lambda v: Attempt(v, 1.0), [*NO_TEXTS, ["x"], [{"content": "x"}]]),
    "attempt: reward": (lambda v: Attempt(FIRST, v), [None, "1", -0.1, 1.1, float("nan"), []]),
    "bank: experience": (lambda v: bank().add(v), [*NO_TEXT, "x", LESSON]),
    "bank: experiences": (add, [*NO_TEXTS, ["x"], Experience(**LESSON)]),
    "bank: over_success": (lambda v: add([Experience(**LESSON)], over_success=v), NO_FLAG),
    "bank: redact_secrets": (lambda v: ExperienceBank(":memory:", Letters(), redact_secrets=v), NO_FLAG),
    "bank: id": (lambda v: bank().add(Experience(**LESSON, id=v)), NO_NAME),
    "bank: problem": (lambda v: bank().recall("q", v), NO_TEXT[1:]),
    "bank: get": (lambda v: bank().get(v), NO_NAME),
    "bank: history": (lambda v: bank().history(v), NO_NAME),
    "bank: record_use": (lambda v: bank().record_use(v, True), [*NO_TEXTS, ["\ud800"]]),
    "bank: success of a use": (lambda v: bank().record_use(["x"], v), [None, 5, "no", [], object()]),
    "bank: revoke": (lambda v: bank().revoke(key=v), NO_NAME),
    "bank: revoke a run": (lambda v: bank().revoke(run=v), NO_NAME),
    "bank: revoke a model": (lambda v: bank().revoke(model=v), NO_NAME),
    "bank: export": (lambda v: bank().export_jsonl(v), NO_PATH),
    "bank: import": (lambda v: bank().import_jsonl(v), NO_PATH),
    "bank: path": (lambda v: ExperienceBank(v, Letters()), [*NO_PATH, *NO_FOLDER]),
    "bank: embedder": (lambda v: ExperienceBank(":memory:", v), [5, "x", [], {}, object(), Letters]),
    "bank: merge_threshold": (
        lambda v: ExperienceBank(":memory:", Letters(), merge_threshold=v),
        [None, "0.9", [], True, 0, -1, 1.1, float("nan")],
    ),
    "bank: query": (lambda v: bank().recall(v), [*NO_TEXT, ""]),
    "bank: k": (lambda v: bank().recall("q", k=v), [0, *NO_COUNT]),
    "bank: alpha": (lambda v: bank().recall("q", alpha=v), [None, "x", -0.1, 1.5, float("nan")]),
    "memory: session": (lambda v: memory(store=store(), session=v), NO_NAME),
    "memory: pin": (lambda v: memory().pin(v, "text"), NO_TEXT),
    "memory: text of a pin": (lambda v: memory().pin("key", v), NO_TEXT[1:]),
    "memory: original": (lambda v: memory().original(v), NO_TEXT),
    "memory: model": (lambda v: memory().prepare(v), [5, "x", [], object(), ScriptedChat]),
    "memory: tools": (lambda v: memory().prepare(None, tools=v), NO_TEXTS[1:]),
    "memory: summary": (reset, NO_TEXT[1:]),
    **{
        f"chat: {name}": (lambda v, name=name: chat(**{name: v}), values)
        for name, values in {
            "max_tokens": [0, *NO_COUNT],
            "temperature": ["hot", -0.1, float("nan"), True, []],
            "top_p": ["x", -1, float("inf"), []],
            "top_k": ["x", 1.5, True],
            "seed": ["x", 1.5, True],
            "stop": NO_TEXTS[1:],
            "temprature": [0.5],
            "tools": [[]],
        }.items()
    },
    "chat: messages": (lambda v: chat().complete(v), [*NO_TEXTS, ["x"]]),
    "chat: stop of a call": (lambda v: chat().complete(FIRST, stop=v), NO_TEXTS[1:]),
    "chat: tools of a call": (lambda v: chat().complete(FIRST, tools=v), [5, "x", ["x"], {"a": 5}]),
    "store: path": (MemoryStore, [*NO_PATH, *NO_FOLDER]),
    "store: redact_secrets": (lambda v: MemoryStore(":memory:", redact_secrets=v), NO_FLAG),
    "store: events of a session": (lambda v: store().events(v), NO_NAME),
    "store: session to append to": (lambda v: store().append(v, 0, [{}]), NO_NAME),
    "store: number": (lambda v: store().append("s", v, [{}]), NO_COUNT),
    "store: events": (lambda v: store().append("s", 0, v), [*NO_TEXTS, ["x"]]),
    "store: originals": (lambda v: store().append("s", 0, [], v), [5, "x", [5], [("a",)], [("a", 5)]]),
    "store: id of an original": (lambda v: store().original("s", v), NO_NAME),
    "store: delete": (lambda v: store().delete(v), NO_NAME),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_refuses_what_it_cannot_use(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, values = CALLS[name]
    for value in [*values, *(["x" * 10_000] if name.endswith("aspect") else [])]:
        with pytest.raises(InvalidInputError) as refusal:
            call(value)
        assert 20 < len(str(refusal.value)) < 400, value


def test_numbers_of_numpy_are_numbers_of_a_lesson() -> None:
    own = bank()
    lesson = Experience(**{**LESSON, "success": np.bool_(True)}, uses=np.int64(3), wins=np.int64(1))
    added = own.add(lesson)
    own.record_use([added.id], np.bool_(True))
    assert json.loads(json.dumps(own.get(added.id).to_dict()))["wins"] == 2


def test_a_pin_that_was_refused_leaves_a_session_that_opens(tmp_path: Path) -> None:
    """A key that JSON changes, or that cannot be a key any more, made the session unreadable."""
    kept = MemoryStore(tmp_path / "sessions.db")
    own = memory(store=kept)
    for key in ((1,), None, 5):
        with pytest.raises(InvalidInputError):
            own.pin(key, "text")
    assert AgentMemory(limit=600, compressor=COMPRESSOR, store=kept).transcript.pins == {}


def test_async_call_without_a_model_is_refused_early() -> None:
    import asyncio

    with pytest.raises(InvalidInputError, match=r"The model is a str\. Pass a model of tersely_agents\.chat"):
        asyncio.run(memory().aprepare("gpt"))
