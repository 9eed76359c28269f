"""Kill writers of one file at any moment, and see what is left.

`python -m tests.sdk.memory_kill --rounds 500` runs many. Every round starts writers that share a file, each
with a session of its own, kills all of them with SIGKILL, and opens the file again: every append that was
acknowledged is there, in order, and the file is sound.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tersely_agents.memory import AgentMemory, MemoryStore

FIRST = [{"role": "user", "content": "Count."}]
LIMIT = 10**9
WRITERS = 3


def write(file: str, session: str) -> None:
    """Append numbered messages for ever, and acknowledge each on standard output."""
    memory = AgentMemory(FIRST, limit=LIMIT, store=MemoryStore(file), session=session)
    number = len(memory.transcript.messages) - len(FIRST)
    while True:
        memory.append({"role": "user", "content": f"{number}" + " word" * (number % 50)})
        print(number, flush=True)
        number += 1


def run_round(file: Path, r: random.Random) -> int:
    """The number of appends that were acknowledged in this round."""
    command = [sys.executable, "-m", "tests.sdk.memory_kill", "--write", str(file), "--session"]
    writers = [
        subprocess.Popen([*command, f"s{i}"], stdout=subprocess.PIPE, text=True) for i in range(WRITERS)
    ]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline(), "a writer died before its first append"
        time.sleep(r.uniform(0, 0.15))
    finally:
        for writer in r.sample(writers, len(writers)):
            writer.kill()
    acknowledged = 0
    store = MemoryStore(file)
    for i, writer in enumerate(writers):
        lines = writer.communicate()[0].split()
        last = int(lines[-1]) if lines else -1
        numbers = [
            int(m["content"].split()[0])
            for m in AgentMemory(limit=LIMIT, store=store, session=f"s{i}").transcript.messages[len(FIRST) :]
        ]
        assert numbers == list(range(len(numbers))), "an append is missing or out of order"
        assert len(numbers) > last, f"append {last} of s{i} was acknowledged and is lost"
        assert len(numbers) <= last + 3 or not lines, "appends that nobody asked for"
        acknowledged += len(lines)
    store.close()
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    return acknowledged


def run(rounds: int, seed: int = 0) -> int:
    """The number of appends that were acknowledged, all of them found again."""
    r = random.Random(seed)
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            # Old content matters as well as new files.
            total += run_round(Path(folder, f"agent{number // 20}.db"), r)
    return total


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--write", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--session", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        write(arguments.write, arguments.session)
    print(f"{arguments.rounds} rounds, {run(arguments.rounds)} acknowledged appends, none lost")
