"""Kill agents in the middle of an append, and open their sessions at the same limit.

`python -m tests.audit.kills --count 200` starts an agent for each kill. The agent appends steps of random
sizes, some longer than the limit, and is killed with SIGKILL at a random moment. Its session must open, hold
every append that was acknowledged, and give a context below the limit.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
import traceback
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
    unanswered: int = 0
    """Kills in the middle of a step."""
    failures: list[str] = field(default_factory=list[str])


def write(file: str, seed: int) -> None:
    """Append steps for ever, and acknowledge every event on standard output."""
    r = random.Random(seed)
    memory = AgentMemory(
        [{"role": "user", "content": "Count the words."}],
        limit=LIMIT,
        compress_over=r.choice([None, 200]),
        compressor=COMPRESSOR,
        store=MemoryStore(file),
    )
    step = 0
    while True:
        step += 1
        ids = [f"c{step}-{i}" for i in range(r.choice([1, 1, 3, 6]))]
        calls = [
            {"id": i, "type": "function", "function": {"name": "count", "arguments": _arguments(r)}}
            for i in ids
        ]
        messages = [{"role": "assistant", "content": None, "tool_calls": calls}]
        messages += [{"role": "tool", "tool_call_id": i, "content": _words(r)} for i in ids]
        for message in messages:
            memory.append(message)
            print(memory.transcript.events, flush=True)
        memory.prepare(None)


def _arguments(r: random.Random) -> str:
    return json.dumps({"text": "word " * r.choice([3, 3, 3, 3, 900])})


def _words(r: random.Random) -> str:
    return "word " * r.choice([5, 5, 50, 300, 900])


def run(count: int, folder: Path, seed: int = 0) -> Report:
    """Kill `count` agents, and open what they leave."""
    r, report = random.Random(seed), Report()
    while report.kills < count:
        files = [folder / f"{seed}-{report.kills + i}.db" for i in range(min(WRITERS, count - report.kills))]
        command = [sys.executable, "-m", "tests.audit.kills", "--write"]
        writers = [
            subprocess.Popen(
                [*command, str(file), "--seed", str(r.randrange(10**6))], stdout=subprocess.PIPE, text=True
            )
            for file in files
        ]
        try:
            for writer in writers:
                assert writer.stdout is not None
                writer.stdout.readline()
            for writer in writers:
                time.sleep(r.uniform(0, 0.2))
                writer.kill()
        finally:
            for writer in writers:
                writer.kill()
        for file, writer in zip(files, writers, strict=True):
            lines = writer.communicate()[0].split()
            report.kills += 1
            try:
                _check(file, int(lines[-1]) if lines else 0, report)
            except Exception:  # noqa: BLE001  # whatever it is, the file's name belongs to it
                report.failures.append(f"{file}: {traceback.format_exc()}")
    return report


def _check(file: Path, acknowledged: int, report: Report) -> None:
    store = MemoryStore(file)
    try:
        memory = AgentMemory(limit=LIMIT, compressor=COMPRESSOR, store=store)
        assert memory.transcript.events >= acknowledged, "an acknowledged append is lost"
        report.unanswered += bool(memory.transcript.unanswered)
        memory.interrupt()
        check_context(memory.prepare(None), memory)
        memory.append({"role": "user", "content": "Go on."})
        check_context(memory.prepare(None), memory)
    finally:
        store.close()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", metavar="FILE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        write(arguments.write, arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        report = run(arguments.count, Path(folder), arguments.seed)
    print(*report.failures, sep="\n")
    print(
        f"{report.kills} kills, {report.unanswered} in a step, {len(report.failures)} sessions did not open"
    )
    return bool(report.failures)


if __name__ == "__main__":
    sys.exit(main())
