"""Sessions on disk: going on, several writers, failures, secrets, damage."""

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

from tersely import InvalidInputError
from tersely_agents.memory import AgentMemory, ConflictError, MemoryStore, StoreError
from tests.audit import corruption, kills
from tests.sdk.cli_runner import run_tersely
from tests.sdk.conversations import COMPRESSOR, FIRST, TASK, call, facts, make_memory, result
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
posix = pytest.mark.skipif(os.name == "nt", reason="there are no signals and no resource limits")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


def write_session(file: Path, steps: int = 2) -> str:
    """Write a session; return the id of its first original."""
    with closing(MemoryStore(file)) as store:
        memory = make_memory(store=store, compress_over=60)
        for number in range(steps):
            memory.append(call(number), result(number, facts(number, 30)))
        return REFERENCE.findall(str(memory.transcript.messages))[0]


def change(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(statement)


def test_sessions_share_a_file_without_mixing(file: Path) -> None:
    store = MemoryStore(file)
    one, other = make_memory(store=store, session="one"), make_memory(store=store, session="other")
    one.append({"role": "user", "content": "Hello."})
    assert len(AgentMemory(limit=600, store=store, session="one").transcript.messages) == 3
    assert other.transcript.messages == FIRST
    assert store.sessions() == ["one", "other"]
    store.delete("one")
    assert store.sessions() == ["other"]


def test_another_first_prompt_is_refused(file: Path) -> None:
    store = MemoryStore(file)
    make_memory(store=store)
    assert make_memory(store=store).transcript.messages == FIRST
    with pytest.raises(InvalidInputError, match="another first prompt"):
        AgentMemory([TASK], limit=600, store=store)
    with pytest.raises(InvalidInputError, match="no session 'new'"):
        AgentMemory(limit=600, store=store, session="new")


def test_two_writers_of_one_session_conflict(file: Path) -> None:
    one, other = (make_memory(store=MemoryStore(file)) for _ in range(2))
    one.append({"role": "user", "content": "First."})
    with pytest.raises(ConflictError, match="another process writes to it"):
        other.append({"role": "user", "content": "Second."})
    assert other.transcript.messages == FIRST
    again = AgentMemory(limit=600, store=MemoryStore(file))
    again.append({"role": "user", "content": "Second."})
    assert [m["content"] for m in again.transcript.messages[2:]] == ["First.", "Second."]


def test_processes_wait_for_each_other(tmp_path: Path) -> None:
    """They open new files at once, and append without a pause."""
    code = (
        "import sys; from tersely_agents.memory import MemoryStore\n"
        "for path in sys.argv[2:]: MemoryStore(path).close()\n"
        "store = MemoryStore(sys.argv[2])\n"
        "for number in range(30): store.append(sys.argv[1], number, [{'number': number}])"
    )
    files = [str(tmp_path / f"{i}.db") for i in range(10)]
    processes = [subprocess.Popen([sys.executable, "-c", code, name, *files]) for name in "abcd"]
    assert [process.wait(120) for process in processes] == [0] * 4
    with closing(MemoryStore(files[0])) as store:
        assert [len(store.events(name)) for name in "abcd"] == [30] * 4


@posix
def test_killed_agents_lose_no_acknowledged_append(tmp_path: Path) -> None:
    report = kills.run(3, tmp_path)
    assert report.failures == []
    assert report.acknowledged > 3


def test_full_disk_is_reported(file: Path) -> None:
    store = MemoryStore(file)
    memory = make_memory(40_000, store=store)
    pages = store._database.connection.execute("PRAGMA page_count").fetchone()[0]
    store._database.connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(StoreError, match="Free some space"):
        memory.append({"role": "user", "content": "word " * 20_000})
    assert memory.transcript.messages == FIRST


def test_other_files_are_refused(file: Path, tmp_path: Path) -> None:
    file.write_text("no database at all, but long enough to be looked at\n" * 20)
    with pytest.raises(StoreError, match="no database"):
        MemoryStore(file)
    with pytest.raises(StoreError, match="Check that the folder exists"):
        MemoryStore(tmp_path / "missing" / "agent.db")


def test_secrets_do_not_reach_the_file(file: Path) -> None:
    store = MemoryStore(file)
    memory = make_memory(store=store)
    secrets = (
        "key sk-proj-abcdefghijklmnop1234, AKIAABCDEFGHIJKLMNOP, Authorization: Bearer abcdef0123456789abcd"
    )
    memory.append({"role": "user", "content": secrets})
    memory.append(call(0, arguments='{"password": "hunter22"}'), result(0, "ok"))
    assert memory.transcript.messages[2]["content"] == secrets, "the running memory still has them"
    written = file.read_bytes() + file.with_suffix(".db-wal").read_bytes()
    for secret in (b"abcdefghijklmnop1234", b"AKIAABCDEFGHIJKLMNOP", b"abcdef0123456789", b"hunter22"):
        assert secret not in written
    assert len(make_memory(store=store).transcript.messages) == 5


def test_surrogates_and_nul_survive_the_store(file: Path) -> None:
    store = MemoryStore(file)
    memory = make_memory(store=store, compress_over=30)
    memory.append({"role": "user", "content": "a\ud800\x00b"})
    memory.append(call(0), result(0, "c\udfff " * 100))
    again = AgentMemory(limit=600, store=store)
    assert again.transcript.messages == memory.transcript.messages
    key = again.transcript.messages[-1]["content"].split("original: ")[1][:12]
    assert again.original(key) == "c\udfff " * 100


@posix
@pytest.mark.parametrize("is_killed", [False, True], ids=["closed", "killed"])
def test_unwritable_store_opens_for_reading(tmp_path: Path, file: Path, is_killed: bool) -> None:
    key = write_session(file)
    if is_killed:  # with a write-ahead log beside the file, and no index of it
        memory = AgentMemory(limit=600, compressor=COMPRESSOR, store=MemoryStore(file))
        memory.append({"role": "assistant", "content": "Hm."})
        (tmp_path / "copy").mkdir()
        for name in ("agent.db", "agent.db-wal"):
            shutil.copy(tmp_path / name, tmp_path / "copy" / name)
        file = tmp_path / "copy" / "agent.db"
    arguments = [sys.executable, "-c", NO_WRITES + READ, str(file), key]
    run = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    lines = run.stdout.splitlines()
    assert lines, run.stderr
    assert lines[0] == f"{6 + is_killed} {len(facts(0, 30))}"
    assert lines[1].startswith("refused: "), run.stderr
    assert lines[2] == str(6 + is_killed)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="needs root, to become somebody else")
def test_read_only_store_opens_for_reading(tmp_path: Path, file: Path) -> None:
    key = write_session(file)
    for folder in (tmp_path, *list(tmp_path.parents)[:-2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    file.chmod(0o444)
    arguments = [sys.executable, "-c", READ.replace("store =", NOBODY + "store =", 1), str(file), key]
    run = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    lines = run.stdout.splitlines()
    assert lines, run.stderr
    assert lines[0] == f"6 {len(facts(0, 30))}"
    assert "open for reading only" in lines[1]
    assert "may be written" in lines[1]


def test_opening_a_store_writes_nothing(tmp_path: Path, file: Path) -> None:
    write_session(file)
    before = file.read_bytes()
    with closing(MemoryStore(file)) as store:
        assert AgentMemory(limit=600, store=store).transcript.steps == 2
        assert not (tmp_path / "agent.db-wal").stat().st_size
    assert file.read_bytes() == before


def test_corrupted_files_never_give_other_content(tmp_path: Path) -> None:
    report = corruption.run(3, tmp_path)
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
        ("PRAGMA user_version = -5", "version -5"),
        ("PRAGMA user_version = 99", "Update tersely"),
    ],
)
def test_damage_names_session_row_and_remedy(file: Path, statement: str, complaint: str) -> None:
    write_session(file)
    change(file, statement)
    with pytest.raises(StoreError, match=complaint) as refused:
        AgentMemory(limit=600, store=MemoryStore(file))
    assert any(remedy in str(refused.value) for remedy in ("doctor", "estore a copy", "Update"))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE originals SET text = '\"other\"'",
        "UPDATE originals SET id = id || '?'",
        "DELETE FROM originals WHERE id > ''",
    ],
)
def test_session_opens_with_a_damaged_original(file: Path, statement: str) -> None:
    key = write_session(file)
    change(file, statement)
    memory = AgentMemory(limit=600, store=MemoryStore(file))
    assert memory.transcript.steps == 2
    with pytest.raises(StoreError, match="doctor --session"):
        memory.original(key)


def test_doctor_saves_what_is_left_of_a_session(tmp_path: Path, file: Path) -> None:
    new = tmp_path / "saved.db"
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


def test_doctor_goes_on_from_a_reset(tmp_path: Path, file: Path) -> None:
    new = tmp_path / "saved.db"
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


def test_doctor_recovers_lost_pages_with_sqlite(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the sqlite3 command, SQLite stops at the first lost page, from both ends of the table."""
    with closing(MemoryStore(file)) as store:
        store.append("default", 0, [{"kind": "pin", "key": "k", "text": "word " * 100} for _ in range(81)])
    command = [str(shutil.which("sqlite3")), str(file), ".recover --ignore-freelist"]
    if shutil.which("sqlite3") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("needs a sqlite3 command that can .recover")
    content = bytearray(file.read_bytes())
    leaves = [at for at in range(0, len(content), 4096) if content[at] == 10 and content[at + 4] > 1]
    for at in (leaves[0], leaves[-1]):
        content[at : at + 4096] = b"\xff" * 4096
    file.write_bytes(content)
    recovered = run_tersely("doctor", "--session", file, "--json")
    assert recovered.exit_code == 3, "the file itself stays damaged"
    count = int(json.loads(recovered.stdout)["sessions"]["default"]["events"].split()[0])
    assert 50 < count < 81
    monkeypatch.setenv("PATH", "")
    unrecovered = run_tersely("doctor", "--session", file)
    assert "0 of 81 intact" in unrecovered.stdout
    assert "install a sqlite3 command that can .recover" in unrecovered.stderr
