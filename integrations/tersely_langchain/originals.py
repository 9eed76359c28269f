"""Originals of shortened tool results: where they are kept, and the tool with which a model opens them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.store.base import BaseStore

from tersely_agents.agent.tools import find_original
from tersely_agents.memory.shortening import join_texts
from tersely_agents.memory.store import original_id
from tersely_langchain.content import read_texts

TOOL_NAME = "open_original"
STATE_KEY = "tersely_originals"
"""Where an agent's state holds originals, by id."""


def keep_originals(
    originals: Mapping[str, str], store: BaseStore | None, thread: str | None
) -> dict[str, dict[str, str]]:
    """Keep originals (text by id) in the store, under the thread; without one of the two in the agent's
    state. Gives the update of the state."""
    if store is None or thread is None:
        return {STATE_KEY: dict(originals)} if originals else {}
    for key, text in originals.items():
        store.put(_namespace(thread), key, {"text": text}, index=False)
    return {}


def find_thread(config: Mapping[str, Any]) -> str | None:
    """The id of the thread of a run; None for a run without."""
    thread = config.get("configurable", {}).get("thread_id")
    return None if thread is None else str(thread)


def _namespace(thread: str) -> tuple[str, ...]:
    # Ids of threads may hold characters that a store does not allow.
    return ("tersely", "originals", hashlib.sha256(thread.encode("utf-8", "surrogatepass")).hexdigest()[:32])


def find_kept(key: str, state: Mapping[str, Any], store: BaseStore | None, thread: str | None) -> str | None:
    """The original that `keep_originals` has kept under this id; None where there is none."""
    if key in (kept := state.get(STATE_KEY) or {}):
        return kept[key]
    item = None if store is None or thread is None else store.get(_namespace(thread), key)
    return None if item is None else item.value["text"]


def _find(runtime: ToolRuntime, key: str) -> str | None:
    state = runtime.state if isinstance(runtime.state, dict) else {}
    found = find_kept(key, state, runtime.store, find_thread(runtime.config))
    return _find_in_history(state.get("messages") or (), key) if found is None else found


def _find_in_history(messages: Sequence[Any], key: str) -> str | None:
    """The text of a result that is whole in the history, and that the model was shown shortened."""
    texts = (join_texts(read_texts(m.content)) for m in messages if isinstance(m, ToolMessage))
    return next((text for text in texts if original_id(text) == key), None)


def _open_original(id: str, runtime: ToolRuntime, part: int = 1) -> str:  # noqa: A002  # the model's word
    """Shows a text that was shortened, part by part.

    Args:
        id: the id of the original, as the shortened text names it.
        part: which part; 1 by default.
    """
    return find_original(lambda key: _find(runtime, key), id, part)


class _OpenOriginal(StructuredTool):
    def __reduce__(self) -> str:
        return TOOL_NAME  # there is one; its schema is made at run time and cannot be pickled


open_original = _OpenOriginal.from_function(_open_original, name=TOOL_NAME, parse_docstring=True)
"""Opens the originals of this agent's thread: for the tools of an agent that uses `TerselyContextEdit`."""
