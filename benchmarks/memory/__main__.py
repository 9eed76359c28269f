"""`python -m benchmarks.memory --data DIR`: agent memories on recorded transcripts.

Every transcript is replayed through every memory. Before each message of the assistant the memory gives the
context that the model would see; its tokens are the bill. The facts that this context has to hold are the
values that the assistant then writes into its tool call and that came after the first prompt. In meetings
they are the sentences that answer the questions at the end.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from benchmarks import command
from benchmarks.command import Measured, make_parser, run, track
from benchmarks.memory.memories import DropOldest, Everything, MaskObservations, Memory, Tersely
from benchmarks.memory.replay import replay, sum_prices
from benchmarks.memory.transcripts import Transcript, read_transcripts
from benchmarks.rows import Line, Lines, group_lines
from benchmarks.shared.statistics import Floats, bootstrap, bootstrap_difference
from benchmarks.shared.tasks.rows import find_data_folder
from benchmarks.table import Column, Row, Table
from tersely import Compressor
from tersely.messages import measure_tokens

SETS = {
    "taubench": ("tau-bench, airline and retail", (500, 1000, 1500, 2500)),
    "fireact": ("FireAct, search runs of twelve messages and more", (500, 750, 1000, 1500)),
    "qmsum": ("QMSum, meetings", (1000, 2000, 4000, 6000)),
}
"""Title, and tokens beyond the first prompt."""
WINDOWS = (1, 2, 3, 5)
"""Tool results that masking leaves."""
REPLAYED = (Column("set"), Column("transcripts"), Column("messages", format=","), Column("facts", format=","))
COLUMNS = (
    Column("set"),
    Column("memory"),
    Column("billed", "tokens", format=","),
    Column("billed with a cache", "tokens", format=","),
    Column("facts held", "%", interval="bootstrap"),
    Column("lead", "points", interval="bootstrap"),
    Column("of"),
    Column("orphans"),
    Column("longest context", "tokens", format=","),
    Column("a message", "ms", format=".1f"),
)
"""*of*: the dearest setting of tersely that costs no more; *lead*: the facts that it holds more."""

Makers = Mapping[str, Callable[[Transcript], Memory]]
"""The function that makes a memory, for each name in the table."""


class Options(command.Options):
    """The options of the command."""

    meetings: int


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.memory", __doc__, "data", limit=100)
    parser.add_argument("--meetings", type=int, default=15, help="meetings, at most")
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Replay every set through every memory."""
    compressor = Compressor()
    lines: list[Line] = []
    for name, (title, rooms) in SETS.items():
        transcripts = read_transcripts(find_data_folder(options.data), name, options.seed)
        limit = min(options.meetings if name == "qmsum" else options.limit, len(transcripts))
        drawn = random.Random(options.seed).sample(transcripts, limit)
        lines += replay_set(title, drawn, list_memories(compressor, rooms), compressor)
    return Measured(make_tables(lines, options.seed), compressor.model, rows=lines)


def list_memories(compressor: Compressor, rooms: Sequence[int]) -> Makers:
    """Return the memories by name; `rooms` are tokens beyond the first prompt.

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


def replay_set(
    title: str, transcripts: Sequence[Transcript], makers: Makers, compressor: Compressor
) -> list[Line]:
    """Return a line for each memory and transcript."""
    return [
        {
            "set": title,
            "memory": name,
            "id": transcript.id,
            "first": len(transcript.first),
            "rest": len(transcript.rest),
            **replay(transcript, make(transcript), compressor.count_tokens).to_line(),
        }
        for name, make in makers.items()
        for transcript in track(transcripts, name)
    ]


def make_tables(lines: Lines, seed: int) -> list[Table]:
    """Return the tables, from the lines of all replays."""
    sets = {key: group_lines(own, "memory") for key, own in group_lines(lines, "set").items()}
    replayed: list[Row] = []
    rows: list[Row] = []
    for title, memories in sets.items():
        transcripts = next(iter(memories.values()))
        replayed.append(
            {
                "set": title,
                "transcripts": len(transcripts),
                "messages": sum(line["first"] + line["rest"] for line in transcripts),
                "facts": sum(line["needed"] for line in transcripts),
            }
        )
        rows += ({"set": title, **row} for row in compare(memories, seed))
    return [Table("Transcripts", REPLAYED, tuple(replayed)), Table("Memories", COLUMNS, tuple(rows))]


def compare(memories: Mapping[str, Lines], seed: int) -> Iterator[Row]:
    """Yield a row for each memory, over the same transcripts."""
    bills = {name: sum_prices(lines, cache=False) for name, lines in memories.items()}
    for name, lines in memories.items():
        held, needed = _count_facts(lines)
        best = None if _is_ours(name) else _find_affordable(bills, bills[name])
        lead = None
        if best:
            lead = bootstrap_difference(_count_facts(memories[best])[0], held, needed, seed).round()
        seconds, messages = (sum(line[key] for line in lines) for key in ("seconds", "rest"))
        yield {
            "memory": name,
            "billed": round(bills[name]),
            "billed with a cache": round(sum_prices(lines, cache=True)),
            "facts held": bootstrap(held, needed, seed).round(),
            "lead": lead,
            "of": best,
            "orphans": sum(line["orphans"] for line in lines),
            "longest context": max(line["longest"] for line in lines),
            "a message": round(1000 * seconds / messages, 1),
        }


def _is_ours(name: str) -> bool:
    return name.startswith("tersely")


def _find_affordable(bills: Mapping[str, float], price: float) -> str | None:
    """Return the dearest setting of tersely that costs at most `price`."""
    affordable = [name for name, bill in bills.items() if _is_ours(name) and bill <= round(price)]
    return max(affordable, key=bills.__getitem__, default=None)


def _count_facts(lines: Lines) -> tuple[Floats, Floats]:
    """Return the facts held and the facts needed, each of shape (transcripts,)."""
    held, needed = (np.array([line[name] for line in lines], float) for name in ("held", "needed"))
    return held, needed


if __name__ == "__main__":
    sys.exit(main())
