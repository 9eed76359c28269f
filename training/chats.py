"""Chat models that training asks: teachers, summarizers, extractors and judges."""

from __future__ import annotations

from typing import Unpack

from tersely_agents.chat import ChatModel, LocalChat, OpenAIChat
from tersely_agents.chat.protocol import Sampling


def open_chat(spec: str, **sampling: Unpack[Sampling]) -> ChatModel:
    """Open a chat model: `openai:URL#MODEL` is a server, `local` is SmolLM2 in this process, `local:FILE`
    another GGUF file."""
    kind, _, source = spec.partition(":")
    url, _, model = source.partition("#")
    if kind == "openai" and url and model:
        return OpenAIChat(model, base_url=url, timeout_s=300, **sampling)
    if kind == "local":
        return LocalChat(source or None, timeout_s=3600, **sampling)
    raise ValueError(f"no chat model is called {spec!r}: use openai:URL#MODEL, local or local:FILE")
