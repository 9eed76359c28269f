"""All memories over the same transcripts, and tersely against each of the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.memory.memories import DropOldest, Everything, MaskObservations, Memory, Tersely
from benchmarks.memory.replay import Account, replay, sum_prices
from benchmarks.memory.rows import Lead, MemoryRow, SetRow
from benchmarks.memory.transcripts import Transcript
from benchmarks.progress import Progress
from benchmarks.shared.statistics import Estimate, Floats, bootstrap, bootstrap_difference
from tersely import Compressor
from tersely.messages import measure_tokens
from tersely_agents.chat import ChatModel

WINDOWS = (1, 2, 3, 5)
"""Tool results that masking leaves."""

Makers = Mapping[str, Callable[[Transcript], Memory]]
"""How each memory is made, by its name in the table."""


def list_memories(compressor: Compressor, rooms: Sequence[int]) -> Makers:
    """The memories that need no model; `rooms` are tokens beyond the first prompt.

    tersely gets twice the first prompt, to which it gives half of its limit.
    """
    count = compressor.count_tokens
    makers: dict[str, Callable[[Transcript], Memory]] = {"everything": lambda t: Everything(t.first)}
    for window in WINDOWS:
        makers[f"last {window} tool results"] = lambda t, w=window: MaskObservations(t.first, w)
    for room in rooms:
        makers[f"newest, {room} tokens"] = lambda t, r=room: DropOldest(
            t.first, measure_tokens(t.first, count) + r, count
        )
    for room in rooms:
        makers[f"tersely, {room} tokens"] = lambda t, r=room: Tersely(
            t.first, 2 * measure_tokens(t.first, count) + r, compressor
        )
    return makers


def list_memories_with_model(compressor: Compressor, room: int, chat: ChatModel) -> Makers:
    """tersely and LangChain with the same model."""
    from benchmarks.memory.langchain_memory import LangChainSummaries

    count = compressor.count_tokens
    return {
        "everything": lambda t: Everything(t.first),
        f"LangChain, {room} tokens": lambda t: LangChainSummaries(
            t.first, measure_tokens(t.first, count) + room, chat, count
        ),
        f"tersely, {room} tokens": lambda t: Tersely(
            t.first, 2 * measure_tokens(t.first, count) + room, compressor, chat
        ),
        f"tersely without a model, {room} tokens": lambda t: Tersely(
            t.first, 2 * measure_tokens(t.first, count) + room, compressor
        ),
    }


def compare(
    title: str, transcripts: Sequence[Transcript], makers: Makers, compressor: Compressor, seed: int
) -> SetRow:
    """A row for each memory, over the same transcripts."""
    accounts: dict[str, list[Account]] = {name: [] for name in makers}
    progress = Progress(len(makers) * len(transcripts))
    for name, make in makers.items():
        for transcript in transcripts:
            accounts[name].append(replay(transcript, make(transcript), compressor.count_tokens))
            progress.step(name)
    progress.close()
    rows = [_make_row(name, own, seed) for name, own in accounts.items()]
    ours = {row.system: accounts[row.system] for row in rows if row.is_ours}
    return SetRow(
        title=title,
        transcripts=len(transcripts),
        messages=sum(len(t.first) + len(t.rest) for t in transcripts),
        facts=sum(len(facts) for t in transcripts for facts in t.facts.values()),
        rows=tuple(
            row if row.is_ours else replace(row, against=_compare(row, accounts[row.system], ours, seed))
            for row in rows
        ),
    )


def _make_row(name: str, accounts: Sequence[Account], seed: int) -> MemoryRow:
    held, needed = _count_facts(accounts)
    seconds = sum(sum(account.seconds) for account in accounts)
    messages = sum(len(account.seconds) for account in accounts)
    return MemoryRow(
        system=name,
        billed=round(sum_prices(accounts, cache=False)),
        billed_with_cache=round(sum_prices(accounts, cache=True)),
        held=_to_percent(bootstrap(held, needed, seed)),
        orphans=sum(account.orphans for account in accounts),
        longest=max(account.longest for account in accounts),
        milliseconds_per_message=round(1000 * seconds / messages, 1),
    )


def _compare(
    row: MemoryRow, theirs: Sequence[Account], ours: Mapping[str, Sequence[Account]], seed: int
) -> Lead | None:
    bills = {name: sum_prices(accounts, cache=False) for name, accounts in ours.items()}
    affordable = [name for name, bill in bills.items() if bill <= row.billed]
    if not affordable:
        return None
    best = max(affordable, key=bills.__getitem__)
    held, needed = _count_facts(ours[best])
    difference = bootstrap_difference(held, _count_facts(theirs)[0], needed, seed)
    return Lead(best, _to_percent(difference))


def _count_facts(accounts: Sequence[Account]) -> tuple[Floats, Floats]:
    """Facts held and facts needed, each of shape (transcripts,)."""
    return np.array([a.held for a in accounts], float), np.array([a.needed for a in accounts], float)


def _to_percent(share: Estimate) -> Estimate:
    return Estimate(100 * share.value, 100 * share.low, 100 * share.high).round(1)
