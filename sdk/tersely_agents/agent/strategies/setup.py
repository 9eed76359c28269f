"""What an agent gives its strategies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tersely.compressor import Compressor
from tersely_agents.chat.protocol import Message
from tersely_agents.memory.memory import AgentMemory
from tersely_agents.memory.shortening import Shortener


@dataclass(frozen=True, slots=True)
class Setup:
    compressor: Compressor
    """Compresses and counts tokens."""
    model_name: str
    """For messages about the model."""
    result_tokens: int
    """Tokens of a tool result above which it is compressed."""
    memory: Callable[[list[Message]], AgentMemory] | None = None
    """Makes the memory that an episode starts from, for the strategy "reset"."""
    strict: bool = False
    """Whether a turn is what the model wrote, or the end; see `Agent`."""
    constrained: bool = False
    """Whether replies are generated under a grammar; see `Agent`."""

    @property
    def shortener(self) -> Shortener:
        return Shortener(self.compressor, self.compressor.count_tokens)
