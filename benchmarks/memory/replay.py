"""Replays a transcript through a memory, and counts its costs and the facts that it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from benchmarks.memory.memories import Count, Memory
from benchmarks.memory.transcripts import Transcript
from tersely.messages import Json, get_call_ids, measure_tokens

CACHED_PRICE = 0.1
"""Price of an input token in a prompt cache, relative to one that is not in it."""
WRITTEN_PRICE = 5.0
"""Price of an output token, relative to an input token."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the model during a replay."""

    tokens: int
    """Of the context."""
    cached: int
    """Those of them that also began the call before, message for message."""
    needed: int
    """Facts that the model's answer takes from earlier messages."""
    held: int
    """Those of them that the context holds."""
    orphans: int


@dataclass(frozen=True, slots=True)
class Account:
    """What one replay cost and held."""

    calls: tuple[Call, ...]
    summary_read: int
    """Input tokens for summaries."""
    written: int
    """Output tokens for summaries."""
    seconds: tuple[float, ...]
    """Of the memory, for each message."""

    @property
    def read(self) -> int:
        """Input tokens of all calls, including those for summaries."""
        return sum(call.tokens for call in self.calls) + self.summary_read

    @property
    def cached(self) -> int:
        """Input tokens that a prompt cache would hold."""
        return sum(call.cached for call in self.calls)

    @property
    def needed(self) -> int:
        """Facts that had to be in a context."""
        return sum(call.needed for call in self.calls)

    @property
    def held(self) -> int:
        """Facts that were in it."""
        return sum(call.held for call in self.calls)

    @property
    def orphans(self) -> int:
        """Calls without a result and results without a call, over all contexts."""
        return sum(call.orphans for call in self.calls)

    @property
    def longest(self) -> int:
        """Tokens of the largest context."""
        return max((call.tokens for call in self.calls), default=0)


def sum_prices(accounts: Sequence[Account], *, cache: bool) -> float:
    """The bill of all accounts, in input tokens at full price."""
    read = sum(account.read for account in accounts)
    cached = sum(account.cached for account in accounts)
    written = sum(account.written for account in accounts)
    return read - cached + cached * (CACHED_PRICE if cache else 1.0) + written * WRITTEN_PRICE


def replay(transcript: Transcript, memory: Memory, count: Count) -> Account:
    """Ask the memory for its context before each message of the assistant, then give it the message."""
    calls: list[Call] = []
    seconds: list[float] = []
    before: list[Json] = []
    for place, message in enumerate(transcript.rest):
        started = perf_counter()
        if message["role"] == "assistant":
            context = memory.context()
            calls.append(_measure_call(context, before, transcript.facts.get(place, ()), count))
            before = context
        memory.append(message)
        seconds.append(perf_counter() - started)
    read, written = memory.summary_tokens
    return Account(tuple(calls), read, written, tuple(seconds))


def _measure_call(
    context: Sequence[Json], before: Sequence[Json], facts: Sequence[str], count: Count
) -> Call:
    shared = 0
    while shared < min(len(before), len(context)) and before[shared] == context[shared]:
        shared += 1
    text = "\n".join(map(str, context)) if facts else ""
    return Call(
        tokens=measure_tokens(context, count),
        cached=measure_tokens(context[:shared], count),
        needed=len(facts),
        held=sum(_occurs(fact, text) for fact in facts),
        orphans=count_orphans(context),
    )


def count_orphans(context: Sequence[Json]) -> int:
    """Tool calls without a result, and results without a call."""
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
    """`text` is the notation of messages, in which quotes and backslashes are escaped."""
    return fact in text or repr(fact)[1:-1] in text
