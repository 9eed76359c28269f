"""Files that are damaged, that cannot be written, or that an older version wrote."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tersely_agents.memory import AgentMemory, MemoryStore, StoreError
from tests.audit import corruption
from tests.sdk.cli_runner import run_tersely
from tests.sdk.conversations import COMPRESSOR, FIRST, call, facts, make_memory, result
from tests.sdk.memory_oracles import REFERENCE

READ = """
import sys
from tersely_agents.memory import AgentMemory, MemoryStore, StoreError
from tersely.messages import get_text
store = MemoryStore(sys.argv[1])
memory = AgentMemory(limit=600, store=store)
print(len(memory.transcript.messages), len(memory.original(sys.argv[2])))
try:
    memory.append({"role": "user", "content": "Go on."})
except StoreError as error:
    print("refused:", error)
print(len(memory.prepare(None)))
"""
NO_WRITES = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
NOBODY = """
from tersely_agents.prompts import load_prompt
load_prompt("memory_note")  # now, because the package may be unreadable then
import os; os.setgid(65534); os.setuid(65534)
"""


def write_session(file: Path, steps: int = 2) -> str:
    """A session of so many steps; the id of its first original."""
    with closing(MemoryStore(file)) as store:
        memory = make_memory(store=store, compress_over=60)
        for number in range(steps):
            memory.append(call(number), result(number, facts(number, 30)))
        return REFERENCE.findall(str(memory.transcript.messages))[0]


def change(file: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(statement, values)
        connection.commit()


def test_corrupted_files_raise_one_error_and_never_give_other_content(tmp_path: Path) -> None:
    report = corruption.run(5, tmp_path)
    assert report.failures == []
    assert report.refused


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        (
            "UPDATE events SET event = replace(event, 'stone', 'straw') WHERE number = 2",
            "Event 2 of the session",
        ),
        (
            "UPDATE events SET event = CAST(x'ff' AS TEXT) WHERE number = 2",
            "session 'default' cannot be read",
        ),
        ("UPDATE events SET number = 9 WHERE number = 2", "Event 2 of the session 'default'"),
        ("DELETE FROM events WHERE number = 4", "An event after event 3 of the session 'default'"),
        ("UPDATE sessions SET events = 3", "The number of events of the session 'default'"),
        ("DELETE FROM sessions", "The number of events of the session 'default'"),
        ("PRAGMA user_version = -5", "is damaged"),
    ],
)
def test_damage_names_the_session_the_row_and_the_remedy(
    tmp_path: Path, statement: str, complaint: str
) -> None:
    file = tmp_path / "agent.db"
    write_session(file)
    change(file, statement)
    with pytest.raises(StoreError, match=complaint) as refused:
        AgentMemory(limit=600, store=MemoryStore(file))
    assert "doctor" in str(refused.value) or "estore a copy" in str(refused.value)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE originals SET text = '\"other\"'",
        "UPDATE originals SET id = id || '?'",
        "DELETE FROM originals WHERE id > ''",
    ],
)
def test_a_damaged_original_is_an_error_and_its_session_still_opens(tmp_path: Path, statement: str) -> None:
    file = tmp_path / "agent.db"
    key = write_session(file)
    change(file, statement)
    memory = AgentMemory(limit=600, store=MemoryStore(file))
    assert memory.transcript.steps == 2
    with pytest.raises(StoreError, match="doctor --session"):
        memory.original(key)


@pytest.mark.skipif(os.name == "nt", reason="there are no resource limits")
@pytest.mark.parametrize("killed", [False, True], ids=["closed", "killed"])
def test_a_store_that_cannot_be_written_opens_for_reading(tmp_path: Path, killed: bool) -> None:
    file = tmp_path / "agent.db"
    key = write_session(file)
    if killed:  # with a write-ahead log beside the file, and no index of it
        store = MemoryStore(file)
        memory = AgentMemory(limit=600, compressor=COMPRESSOR, store=store)
        memory.append({"role": "assistant", "content": "Hm."})
        other = tmp_path / "copy"
        other.mkdir()
        for name in ("agent.db", "agent.db-wal"):
            shutil.copy(tmp_path / name, other / name)
        file = other / "agent.db"
    arguments = [sys.executable, "-c", NO_WRITES + READ, str(file), key]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    lines = done.stdout.splitlines()
    assert lines, done.stderr
    assert lines[0] == f"{6 + killed} {len(facts(0, 30))}"
    assert lines[1].startswith("refused: "), done.stderr
    assert lines[2] == str(6 + killed)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="needs root, to become somebody else")
def test_a_file_that_may_only_be_read_opens_for_reading(tmp_path: Path) -> None:
    file = tmp_path / "agent.db"
    key = write_session(file)
    for folder in (tmp_path, *list(tmp_path.parents)[:-2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    file.chmod(0o444)
    arguments = [sys.executable, "-c", READ.replace("store =", NOBODY + "store =", 1), str(file), key]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    lines = done.stdout.splitlines()
    assert lines, done.stderr
    assert lines[0] == f"6 {len(facts(0, 30))}"
    assert "open for reading only" in lines[1]
    assert "may be written" in lines[1]


def test_opening_a_store_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "agent.db"
    write_session(file)
    before = file.read_bytes()
    with closing(MemoryStore(file)) as store:
        assert AgentMemory(limit=600, store=store).transcript.steps == 2
        assert not (tmp_path / "agent.db-wal").stat().st_size
    assert file.read_bytes() == before


def make_old(file: Path) -> None:
    """Turn a store into one of the first version."""
    with closing(sqlite3.connect(file)) as connection:
        for table in ("events", "originals"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
        connection.execute("DROP TABLE sessions")
        connection.execute("PRAGMA user_version = 1")
        connection.commit()


def test_a_file_of_the_first_version_gets_checksums(tmp_path: Path) -> None:
    file = tmp_path / "agent.db"
    key = write_session(file)
    make_old(file)
    for _ in range(2):
        with closing(MemoryStore(file)) as store:
            memory = AgentMemory(limit=600, compressor=COMPRESSOR, store=store)
            assert memory.original(key) == facts(0, 30)
            memory.append({"role": "assistant", "content": "Hm."})
    change(file, "UPDATE events SET event = replace(event, 'Hm.', 'No.')")
    with pytest.raises(StoreError, match="Event 5"):
        AgentMemory(limit=600, store=MemoryStore(file))


@pytest.mark.skipif(os.name == "nt", reason="there are no resource limits")
def test_a_file_of_the_first_version_can_be_read_where_it_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "agent.db"
    key = write_session(file)
    make_old(file)
    arguments = [sys.executable, "-c", NO_WRITES + READ, str(file), key]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[0] == f"6 {len(facts(0, 30))}", done.stderr


def test_doctor_saves_what_is_left_of_a_session(tmp_path: Path) -> None:
    file, new = tmp_path / "agent.db", tmp_path / "saved.db"
    key = write_session(file, 3)
    assert run_tersely("doctor", "--session", file).exit_code == 0
    change(file, "UPDATE events SET event = replace(event, 'search', 'lurch') WHERE number = 3")
    report = run_tersely("doctor", "--session", file)
    assert report.exit_code == 3
    assert "6 of 7 intact; lost: 3" in report.stdout
    assert "--save NEW" in report.stderr
    saved = run_tersely("doctor", "--session", file, "--save", new, "--json")
    assert json.loads(saved.stdout)["saved"]["default"] == "5 events"
    with closing(MemoryStore(new)) as store:
        memory = AgentMemory(FIRST, limit=600, compressor=COMPRESSOR, store=store)
        calls = [m["tool_call_id"] for m in memory.prepare(None) if m["role"] == "tool"]
        assert calls == ["c0", "c2"]
        assert memory.original(key) == facts(0, 30)
    assert run_tersely("doctor", "--session", new).exit_code == 0
    assert run_tersely("doctor", "--session", file, "--save", new).exit_code == 2
    assert run_tersely("doctor", "--save", new).exit_code == 2
    assert run_tersely("doctor", "--session", tmp_path / "missing.db").exit_code == 3


def test_doctor_goes_on_from_a_reset_where_the_beginning_is_lost(tmp_path: Path) -> None:
    file, new = tmp_path / "agent.db", tmp_path / "saved.db"
    with closing(MemoryStore(file)) as store:
        memory = make_memory(store=store)
        memory.append(call(0), result(0, facts(0)))
        memory.reset("Two towers.")
        memory.append(call(1), result(1, "Three."))
        context = memory.prepare(None)
    change(file, "DELETE FROM events WHERE number < 2")
    assert run_tersely("doctor", "--session", file, "--save", new).exit_code == 3
    with closing(MemoryStore(new)) as store:
        assert AgentMemory(limit=600, compressor=COMPRESSOR, store=store).prepare(None) == context
