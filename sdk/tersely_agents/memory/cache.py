"""What a prompt cache can use of a prompt."""

from __future__ import annotations

from tersely.messages import Json, measure_tokens
from tersely_agents.memory.transcript import Count


class CacheMeter:
    """Compares every prompt with the one before."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._sent: list[Json] = []
        self.sent_tokens = 0
        """Tokens of the last prompt."""
        self.stable_tokens = 0
        """Those at its start that the prompt before had too, byte for byte: what a prompt cache holds."""

    def record(self, messages: list[Json], tokens: int) -> None:
        """Note a prompt of `tokens` tokens."""
        stable = 0
        while stable < min(len(messages), len(self._sent)) and messages[stable] == self._sent[stable]:
            stable += 1
        self.sent_tokens = tokens
        self.stable_tokens = tokens - measure_tokens(messages[stable:], self._count)
        self._sent = messages
