"""Kill agents in the middle of an append, and open their sessions again.

`python -m tests.audit.kills --count 200` starts an agent for each kill; four at a time share a file. Each
appends steps of random sizes, some longer than its limit, acknowledges every append, and is killed with
SIGKILL at a random moment. Its session must open at the same limit, hold every append that was acknowledged,
in order, and give a context below the limit. The file must be sound.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tersely import Compressor
from tersely_agents.memory import AgentMemory, MemoryStore
from tests.sdk.fakes import FakeScorer
from tests.sdk.memory_oracles import check_context, count_tokens

LIMIT = 600
WRITERS = 4
"""Agents at a time."""
COMPRESSOR = Compressor(FakeScorer(), token_counter=count_tokens)


@dataclass
class Report:
    kills: int = 0
    acknowledged: int = 0
    """Number of appends that were acknowledged before a kill."""
    unanswered: int = 0
    """Number of kills in the middle of a step."""
    failures: list[str] = field(default_factory=list[str])


def write(file: str, session: str) -> None:
    """Append steps for ever, and print the number of events after each."""
    r = random.Random(session)
    memory = AgentMemory(
        [{"role": "user", "content": "Count the words."}],
        limit=LIMIT,
        compress_over=r.choice([None, 200]),
        compressor=COMPRESSOR,
        store=MemoryStore(file),
        session=session,
    )
    step = 0
    while True:
        step += 1
        ids = [f"c{step}-{i}" for i in range(r.choice([1, 1, 3, 6]))]
        arguments = json.dumps({"text": "word " * r.choice([3, 3, 3, 3, 900])})
        calls = [
            {"id": i, "type": "function", "function": {"name": "count", "arguments": arguments}} for i in ids
        ]
        messages = [{"role": "assistant", "content": None, "tool_calls": calls}]
        for i in ids:
            content = "word " * r.choice([5, 5, 50, 300, 900])
            messages.append({"role": "tool", "tool_call_id": i, "content": content})
        for message in messages:
            memory.append(message)
            print(memory.transcript.events, flush=True)
        memory.prepare(None)


def run(count: int, folder: Path, seed: int = 0) -> Report:
    """Kill `count` agents, and open what they leave."""
    r, report = random.Random(seed), Report()
    while report.kills < count:
        # Old content matters as well as new files.
        file = folder / f"{seed}-{report.kills // (5 * WRITERS)}.db"
        sessions = [f"{seed}-{report.kills + i}" for i in range(min(WRITERS, count - report.kills))]
        command = [sys.executable, "-m", "tests.audit.kills", "--write", str(file), "--session"]
        writers = [
            subprocess.Popen([*command, session], stdout=subprocess.PIPE, text=True) for session in sessions
        ]
        try:
            for writer in writers:
                assert writer.stdout is not None
                assert writer.stdout.readline(), "a writer died before its first append"
            time.sleep(r.uniform(0, 0.2))
        finally:
            for writer in r.sample(writers, len(writers)):
                writer.kill()
        for session, writer in zip(sessions, writers, strict=True):
            lines = writer.communicate()[0].split()
            report.kills += 1
            report.acknowledged += 1 + len(lines)
            try:
                _check(file, session, int(lines[-1]) if lines else 1, report)
            except Exception:  # noqa: BLE001  # whatever it is, the session's name belongs to it
                report.failures.append(f"{file}, {session}: {traceback.format_exc()}")
        with closing(sqlite3.connect(file)) as connection:
            if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                report.failures.append(f"{file} is damaged")
    return report


def _check(file: Path, session: str, acknowledged: int, report: Report) -> None:
    with closing(MemoryStore(file)) as store:
        memory = AgentMemory(limit=LIMIT, compressor=COMPRESSOR, store=store, session=session)
        assert memory.transcript.events >= acknowledged, "an acknowledged append is lost"
        report.unanswered += bool(memory.transcript.unanswered)
        memory.interrupt()
        check_context(memory.prepare(None), memory)
        memory.append({"role": "user", "content": "Go on."})
        check_context(memory.prepare(None), memory)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--session", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        write(arguments.write, arguments.session)
    with tempfile.TemporaryDirectory() as folder:
        report = run(arguments.count, Path(folder), arguments.seed)
    print(*report.failures, sep="\n")
    print(
        f"{report.kills} kills, {report.unanswered} in a step, {report.acknowledged} acknowledged appends, "
        f"{len(report.failures)} failures"
    )
    return bool(report.failures)


if __name__ == "__main__":
    sys.exit(main())
