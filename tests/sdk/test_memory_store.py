"""Sessions on disk: going on, two writers, failures, redaction, older files."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tersely import InvalidInputError
from tersely_agents.chat import ScriptedChat
from tersely_agents.database import Database
from tersely_agents.memory import AgentMemory, ConflictError, MemoryStore, StoreError
from tests.sdk.conversations import (
    COMPRESSOR,
    FIRST,
    TASK,
    call,
    facts,
    fill,
    make_memory,
    result,
)


def test_a_session_continues_where_it_ended(tmp_path: Path) -> None:
    file = tmp_path / "agent.db"
    memory = make_memory(store=MemoryStore(file), compress_over=80)
    memory.pin("to do", "read")
    number = fill(memory)
    memory.prepare(ScriptedChat(["Notes."]))
    memory.append(call(number), result(number, facts(1, 40)), call(number + 1))
    again = AgentMemory(limit=600, compressor=COMPRESSOR, store=MemoryStore(file))
    assert again.transcript.unanswered == memory.transcript.unanswered == [f"c{number + 1}"]
    assert again.transcript.resets == 1
    assert again.transcript == memory.transcript
    again.interrupt()
    key = again.transcript.messages[-3]["content"].split("original: ")[1][:12]
    assert again.original(key) == facts(1, 40)


def test_sessions_share_a_file_and_do_not_mix(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "agent.db")
    one, other = make_memory(store=store, session="one"), make_memory(store=store, session="other")
    one.append({"role": "user", "content": "Hello."})
    assert len(AgentMemory(limit=600, store=store, session="one").transcript.messages) == 3
    assert len(AgentMemory(limit=600, store=store, session="other").transcript.messages) == 2
    assert other.transcript.messages == FIRST
    assert store.sessions() == ["one", "other"]
    store.delete("one")
    assert store.sessions() == ["other"]


def test_another_first_prompt_is_another_session(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "agent.db")
    make_memory(store=store)
    assert make_memory(store=store).transcript.messages == FIRST
    with pytest.raises(InvalidInputError, match="another first prompt"):
        AgentMemory([TASK], limit=600, store=store)
    with pytest.raises(InvalidInputError, match="no session 'new'"):
        AgentMemory(limit=600, store=store, session="new")


def test_two_writers_of_one_session_conflict(tmp_path: Path) -> None:
    one = make_memory(store=MemoryStore(tmp_path / "agent.db"))
    other = make_memory(store=MemoryStore(tmp_path / "agent.db"))
    one.append({"role": "user", "content": "First."})
    with pytest.raises(ConflictError, match="another process writes to it"):
        other.append({"role": "user", "content": "Second."})
    assert other.transcript.messages == FIRST
    again = AgentMemory(limit=600, store=MemoryStore(tmp_path / "agent.db"))
    again.append({"role": "user", "content": "Second."})
    assert [m["content"] for m in again.transcript.messages[2:]] == ["First.", "Second."]


def test_processes_that_open_a_new_file_at_once_wait_for_each_other(tmp_path: Path) -> None:
    """SQLite answers at once, without waiting, where two of them switch to write-ahead logging."""
    code = (
        "import sys; from tersely_agents.memory import MemoryStore\n"
        "for p in sys.argv[1:]: MemoryStore(p).close()"
    )
    files = [str(tmp_path / f"{i}.db") for i in range(25)]
    started = [subprocess.Popen([sys.executable, "-c", code, *files]) for _ in range(4)]
    assert [process.wait(120) for process in started] == [0] * 4


@pytest.mark.slow
def test_a_writer_gets_its_turn_among_writers_that_never_pause(tmp_path: Path) -> None:
    file = tmp_path / "agent.db"
    store = MemoryStore(file)
    code = """
import sys
from tersely_agents.memory import MemoryStore
store, number = MemoryStore(sys.argv[1]), 0
while True:
    store.append(sys.argv[2], number, [{"number": number}])
    number += 1
    if number == 1:
        print("wrote", flush=True)
"""
    command = [sys.executable, "-c", code, str(file)]
    others = [subprocess.Popen([*command, name], stdout=subprocess.PIPE) for name in "abcd"]
    try:
        assert all(other.stdout and other.stdout.readline() for other in others), "a writer had no turn"
        slowest = 0.0
        for number in range(40):
            started = time.monotonic()
            store.append("mine", number, [{"number": number}])
            slowest = max(slowest, time.monotonic() - started)
        assert slowest < 3
    finally:
        for other in others:
            other.kill()
            other.communicate()


def test_a_failed_write_changes_nothing(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "agent.db")
    memory = make_memory(store=store)
    store._database.connection.execute("PRAGMA query_only = 1")
    with pytest.raises(StoreError, match="may be written"):
        memory.append({"role": "user", "content": "Hello."})
    assert memory.transcript.messages == FIRST
    store._database.connection.execute("PRAGMA query_only = 0")
    memory.append({"role": "user", "content": "Hello."})
    assert len(AgentMemory(limit=600, store=store).transcript.messages) == 3


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "agent.db")
    memory = make_memory(40_000, store=store)
    pages = store._database.connection.execute("PRAGMA page_count").fetchone()[0]
    store._database.connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(StoreError, match="Free some space"):
        memory.append({"role": "user", "content": "word " * 20_000})
    assert memory.transcript.messages == FIRST


def test_files_that_are_no_store_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database at all, but long enough to be looked at\n" * 20)
    with pytest.raises(StoreError, match="no database"):
        MemoryStore(tmp_path / "text")
    with pytest.raises(StoreError, match="Check that the folder exists"):
        MemoryStore(tmp_path / "missing" / "agent.db")


def test_a_file_of_an_older_version_is_migrated(tmp_path: Path) -> None:
    first = ("CREATE TABLE notes (text TEXT)",)
    second = ("ALTER TABLE notes ADD COLUMN day TEXT", "UPDATE notes SET day = 'Monday'")

    def opened(*migrations: Sequence[str]) -> Database:
        return Database(tmp_path / "old.db", migrations, StoreError, str)

    old = opened(first)
    with old.transaction() as connection:
        connection.execute("INSERT INTO notes VALUES ('kept')")
    old.close()
    for _ in range(2):  # what has been applied is not applied again
        new = opened(first, second)
        assert new.rows("SELECT text, day FROM notes") == [("kept", "Monday")]
        new.close()
    with pytest.raises(StoreError, match="has version 2, and this tersely knows 1"):
        opened(first)
    broken = ("ALTER TABLE notes ADD COLUMN hour TEXT", "ALTER TABLE missing ADD COLUMN x TEXT")
    with pytest.raises(StoreError, match="no such table"):
        opened(first, second, broken)
    again = opened(first, second)
    assert again.rows("SELECT * FROM notes") == [("kept", "Monday")], "all of a step or nothing"
    again.close()


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "agent.db")
    store._database.connection.execute("PRAGMA user_version = 99")
    store.close()
    with pytest.raises(StoreError, match="Update tersely"):
        MemoryStore(tmp_path / "agent.db")


SECRETS = (
    "key sk-proj-abcdefghijklmnop1234, AKIAABCDEFGHIJKLMNOP, Authorization: Bearer abcdef0123456789abcdef"
)


def test_secrets_are_redacted_in_the_file_if_asked(tmp_path: Path) -> None:
    file = tmp_path / "agent.db"
    memory = make_memory(store=MemoryStore(file, redact_secrets=True))
    memory.append({"role": "user", "content": SECRETS})
    memory.append(call(0, arguments='{"password": "hunter22"}'), result(0, "ok"))
    assert memory.transcript.messages[2]["content"] == SECRETS, "the running memory still has them"
    written = file.read_bytes() + file.with_suffix(".db-wal").read_bytes()
    for secret in (b"abcdefghijklmnop1234", b"AKIAABCDEFGHIJKLMNOP", b"abcdef0123456789", b"hunter22"):
        assert secret not in written
    assert len(make_memory(store=MemoryStore(file, redact_secrets=True)).transcript.messages) == 5


def test_surrogates_and_nul_survive_the_store(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "agent.db")
    memory = make_memory(store=store, compress_over=30)
    memory.append({"role": "user", "content": "a\ud800\x00b"})
    memory.append(call(0), result(0, "c\udfff " * 100))
    again = AgentMemory(limit=600, store=store)
    assert again.transcript.messages == memory.transcript.messages
    key = again.transcript.messages[-1]["content"].split("original: ")[1][:12]
    assert again.original(key) == "c\udfff " * 100
