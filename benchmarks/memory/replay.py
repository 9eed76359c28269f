"""Replays a transcript through a memory, and keeps account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

from benchmarks.memory.policies import Count, Memory
from benchmarks.memory.transcripts import Transcript
from tersely.chat.transcript import Json, call_ids, size

CACHED_PRICE = 0.1
"""Price of an input token that a prompt cache holds, against one that it does not."""
WRITTEN_PRICE = 5.0
"""Price of an output token, against an input token."""


@dataclass(slots=True)
class Account:
    """What a replay cost, and what it held when it was needed."""

    read: int = 0
    """Input tokens of all calls, those for summaries included."""
    cached: int = 0
    """Those of them that stood at the beginning of the call before, message for message."""
    written: int = 0
    """Output tokens for summaries."""
    held: int = 0
    needed: int = 0
    orphans: int = 0
    calls: int = 0
    longest: int = 0
    """Tokens of the largest context."""
    seconds: float = 0.0
    turn_seconds: list[float] = field(default_factory=list)

    def price(self, *, cache: bool) -> float:
        """In input tokens at full price."""
        fresh = self.read - self.cached
        return fresh + self.cached * (CACHED_PRICE if cache else 1.0) + self.written * WRITTEN_PRICE

    def __iadd__(self, other: Account) -> Account:
        for name in ("read", "cached", "written", "held", "needed", "orphans", "calls", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.longest = max(self.longest, other.longest)
        self.turn_seconds += other.turn_seconds
        return self


def replay(transcript: Transcript, memory: Memory, count: Count) -> Account:
    """Before each assistant message the memory is asked what the model would see; then it gets the
    message."""
    account = Account()
    before: list[Json] = []
    for place, message in enumerate(transcript.rest):
        started = perf_counter()
        if message["role"] == "assistant":
            context = memory.context()
            account.calls += 1
            shared = 0
            while shared < min(len(before), len(context)) and before[shared] == context[shared]:
                shared += 1
            tokens = size(context, count)
            account.read += tokens
            account.cached += size(context[:shared], count)
            account.longest = max(account.longest, tokens)
            account.orphans += orphans(context)
            wanted = transcript.facts.get(place, ())
            shown = "\n".join(map(str, context)) if wanted else ""
            account.needed += len(wanted)
            account.held += sum(_shown(fact, shown) for fact in wanted)
            before = context
        memory.append(message)
        account.turn_seconds.append(perf_counter() - started)
    read, account.written = memory.summary_tokens
    account.read += read
    account.seconds = sum(account.turn_seconds)
    return account


def orphans(context: Sequence[Json]) -> int:
    """Tool calls without a result, and results without a call."""
    waiting: list[str] = []
    found = 0
    for message in context:
        if message["role"] == "tool":
            if message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                found += 1
        else:
            found += len(waiting)
            waiting = call_ids(message)
    return found + len(waiting)


def _shown(fact: str, text: str) -> bool:
    """`text` is the messages' own notation, in which quotes and backslashes are escaped."""
    return fact in text or repr(fact)[1:-1] in text
