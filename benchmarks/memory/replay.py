"""Replay a transcript through a memory, and count its costs and the facts that it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

from benchmarks.memory.memories import Count, Memory
from benchmarks.memory.transcripts import Transcript
from benchmarks.rows import Line, Lines
from tersely.messages import Json, get_call_ids, measure_tokens

CACHED_PRICE = 0.1
"""Price of an input token in a prompt cache, relative to one that is not in it."""


@dataclass(slots=True)
class Account:
    """Costs and facts of one replay, summed over the calls of the model."""

    contexts: list[int] = field(default_factory=list[int])
    """Tokens of the context of each call."""
    cached: int = 0
    """Number of tokens of the messages that the call before began with as well."""
    needed: int = 0
    """Number of facts that the model's answers take from earlier messages."""
    held: int = 0
    """Number of needed facts that the context holds."""
    orphans: int = 0
    """Number of calls without a result and results without a call."""
    seconds: list[float] = field(default_factory=list[float])
    """Seconds that the memory took for each message."""

    def add_call(
        self, context: Sequence[Json], before: Sequence[Json], facts: Sequence[str], count: Count
    ) -> None:
        """Count a call of the model. `before` is the context of the call before."""
        shared = 0
        while shared < min(len(before), len(context)) and before[shared] == context[shared]:
            shared += 1
        text = "\n".join(map(str, context)) if facts else ""
        self.contexts.append(measure_tokens(context, count))
        self.cached += measure_tokens(context[:shared], count)
        self.needed += len(facts)
        self.held += sum(_occurs(fact, text) for fact in facts)
        self.orphans += count_orphans(context)

    def to_line(self) -> Line:
        """Return the sums as a line of the rows."""
        return {
            "read": sum(self.contexts),
            "cached": self.cached,
            "longest": max(self.contexts, default=0),
            "needed": self.needed,
            "held": self.held,
            "orphans": self.orphans,
            "seconds": round(sum(self.seconds), 6),
        }


def sum_prices(lines: Lines, *, cache: bool) -> float:
    """Return the bill of all lines of replays, in input tokens at full price."""
    read, cached = (sum(line[name] for line in lines) for name in ("read", "cached"))
    return read - cached + cached * (CACHED_PRICE if cache else 1.0)


def replay(transcript: Transcript, memory: Memory, count: Count) -> Account:
    """Ask the memory for its context before each message of the assistant, then give it the message."""
    account = Account()
    before: list[Json] = []
    for place, message in enumerate(transcript.rest):
        started = perf_counter()
        if message["role"] == "assistant":
            context = memory.context()
            account.add_call(context, before, transcript.facts.get(place, ()), count)
            before = context
        memory.append(message)
        account.seconds.append(perf_counter() - started)
    return account


def count_orphans(context: Sequence[Json]) -> int:
    """Count tool calls without a result, and results without a call."""
    unanswered: list[str] = []
    orphans = 0
    for message in context:
        if message["role"] == "tool":
            if message["tool_call_id"] in unanswered:
                unanswered.remove(message["tool_call_id"])
            else:
                orphans += 1
        else:
            orphans += len(unanswered)
            unanswered = get_call_ids(message)
    return orphans + len(unanswered)


def _occurs(fact: str, text: str) -> bool:
    # `text` is the notation of messages, in which quotes and backslashes are escaped.
    return fact in text or repr(fact)[1:-1] in text
