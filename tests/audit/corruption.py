"""Corrupt session files at random, and read them.

`python -m tests.audit.corruption --count 60` writes a store with several sessions for each file and
overwrites random bytes. Every read then gives the written content or a StoreError. The doctor reports every
damaged session. The sessions that it saves open, and have only events and originals that were written.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import traceback
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tersely import Compressor
from tersely_agents.memory import AgentMemory, MemoryStore, StoreError
from tersely_agents.memory.salvage import check_store, save_sessions
from tests.sdk.fakes import FakeScorer
from tests.sdk.memory_oracles import REFERENCE, count_tokens

LIMIT = 700
SESSIONS = ("one", "two", "灯塔")
COMPRESSOR = Compressor(FakeScorer(), token_counter=count_tokens)


@dataclass
class Report:
    files: int = 0
    refused: int = 0
    """Sessions that raised a StoreError."""
    saved: int = 0
    """Sessions that the doctor saved from files with a damaged one."""
    events: int = 0
    """Number of events in these files that the doctor read."""
    failures: list[str] = field(default_factory=list[str])


def fill_store(path: Path, r: random.Random) -> dict[str, Any]:
    """Write sessions; return the events, the transcript and the originals of each."""
    written: dict[str, Any] = {}
    with closing(MemoryStore(path)) as store:
        for session in SESSIONS:
            memory = AgentMemory(
                [{"role": "user", "content": f"Count the towers of {session}."}],
                limit=LIMIT,
                compress_over=150,
                compressor=COMPRESSOR,
                store=store,
                session=session,
            )
            originals: dict[str, str | None] = {}
            for number in range(r.randint(5, 25)):
                calls = [
                    {"id": f"c{number}", "type": "function", "function": {"name": "s", "arguments": "{}"}}
                ]
                words = r.choice([20, 100, 400])
                page = " ".join(f"Tower {r.randrange(9999)} is of stone." for _ in range(words // 6))
                memory.append({"role": "assistant", "content": None, "tool_calls": calls})
                memory.append({"role": "tool", "tool_call_id": f"c{number}", "content": page})
                for key in REFERENCE.findall(str(memory.prepare(None))):
                    originals[key] = memory.original(key)
            written[session] = (store.events(session), memory.transcript, originals)
    return written


def corrupt(path: Path, r: random.Random) -> None:
    """Overwrite up to 64 bytes in up to four places."""
    data = bytearray(path.read_bytes())
    for _ in range(r.randint(1, 4)):
        place = r.randrange(len(data))
        noise = r.randbytes(r.choice([1, 1, 8, 64]))
        data[place : place + len(noise)] = noise
    path.write_bytes(data)


def check_file(path: Path, written: dict[str, Any], report: Report) -> None:
    """Assert that each session has its old content or raises StoreError. Every other error passes through."""
    refused: set[str] = set()
    for session, (events, transcript, originals) in written.items():
        try:
            with closing(MemoryStore(path)) as store:
                assert store.events(session) == events, f"{session} has other content"
                memory = AgentMemory(limit=LIMIT, compressor=COMPRESSOR, store=store, session=session)
                assert memory.transcript == transcript, f"{session} has other content"
                for key, text in originals.items():
                    assert memory.original(key) == text, f"an original of {session} has other content"
        except StoreError:
            refused.add(session)
    report.refused += len(refused)
    if not refused:
        return
    new = path.with_suffix(".saved")
    try:
        check = check_store(path)
        save_sessions(check.sessions, new)
    except StoreError:
        return
    assert check.damage or check.damaged_rows, "the doctor overlooks damage"
    for session, found in check.sessions.items():
        assert all(written[session][0][number] == event for number, event in found.events.items())
        report.events += len(found.events)
    with closing(MemoryStore(new)) as store:
        for session in store.sessions():
            memory = AgentMemory(limit=LIMIT, compressor=COMPRESSOR, store=store, session=session)
            memory.interrupt()
            memory.prepare(None)
            assert memory.transcript.conversation, "nothing was saved"
            for key, text in written[session][2].items():
                assert memory.original(key) in (text, None), "an original was saved with other content"
            report.saved += 1


def run(count: int, folder: Path, seed: int = 0) -> Report:
    """Corrupt and read `count` files."""
    report = Report()
    for number in range(count):
        r = random.Random(seed + number)
        path = folder / f"{seed + number}.db"
        written = fill_store(path, r)
        corrupt(path, r)
        report.files += 1
        try:
            check_file(path, written, report)
        except Exception:  # noqa: BLE001  # whatever it is, the file's number belongs to it
            report.failures.append(f"file {seed + number}: {traceback.format_exc()}")
    return report


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = run(arguments.count, Path(folder), arguments.seed)
    print(*report.failures, sep="\n")
    print(
        f"{report.files} files, {report.refused} sessions refused, {report.saved} saved with {report.events} "
        f"events, {len(report.failures)} files with a raw error or wrong content"
    )
    return bool(report.failures)


if __name__ == "__main__":
    sys.exit(main())
