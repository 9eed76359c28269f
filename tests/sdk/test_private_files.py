"""Files that tersely writes: without secrets, and readable by their owner alone."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tersely_agents.agent.trace import TurnTrace, read_turns, write_turns
from tersely_agents.experience import Experience, ExperienceBank
from tersely_agents.memory import AgentMemory, MemoryStore
from tests.sdk.agents import COMPRESSOR, FINISH, QUESTION, make_agent, tagged
from tests.sdk.fakes import Letters

SECRET = "hunter22"
TEXT = f"log in with password={SECRET} first"
REDACTED = "log in with password=[redacted: secret] first"
FIRST = [{"role": "user", "content": TEXT}]


def written(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())


@pytest.mark.parametrize("redact_secrets", [True, False, None])
def test_a_store_redacts_unless_it_is_switched_off(tmp_path: Path, redact_secrets: bool | None) -> None:
    options = {} if redact_secrets is None else {"redact_secrets": redact_secrets}
    with closing(MemoryStore(tmp_path / "agent.db", **options)) as store:
        AgentMemory(FIRST, limit=600, store=store, compressor=COMPRESSOR)
        assert (SECRET.encode() in written(tmp_path)) == (redact_secrets is False)
        again = AgentMemory(FIRST, limit=600, store=store, compressor=COMPRESSOR)
    assert again.transcript.messages[0]["content"] == (TEXT if redact_secrets is False else REDACTED)


@pytest.mark.parametrize("redact_secrets", [True, False, None])
def test_a_bank_redacts_unless_it_is_switched_off(tmp_path: Path, redact_secrets: bool | None) -> None:
    options = {} if redact_secrets is None else {"redact_secrets": redact_secrets}
    lesson = Experience("Log in", "When a page is closed", TEXT, TEXT, True)
    with closing(ExperienceBank(tmp_path / "bank.db", Letters(), **options)) as bank:
        kept = bank.add(lesson)
        bank.export_jsonl(tmp_path / "bank.jsonl")
        assert kept.content == (TEXT if redact_secrets is False else REDACTED)
        assert bank.get(lesson.id) == kept
        assert (SECRET.encode() in written(tmp_path)) == (redact_secrets is False)


def test_an_export_of_a_bank_that_holds_secrets_is_redacted(tmp_path: Path) -> None:
    (tmp_path / "exports").mkdir()
    with closing(ExperienceBank(tmp_path / "bank.db", Letters(), redact_secrets=False)) as bank:
        bank.add(Experience("Log in", "When a page is closed", TEXT, TEXT, True))
    with closing(ExperienceBank(tmp_path / "bank.db", Letters())) as bank:
        bank.export_jsonl(tmp_path / "exports" / "bank.jsonl")
    assert SECRET.encode() not in written(tmp_path / "exports")


@pytest.mark.parametrize("redact_secrets", [True, False, None])
def test_a_trace_redacts_unless_it_is_switched_off(tmp_path: Path, redact_secrets: bool | None) -> None:
    options = {} if redact_secrets is None else {"redact_secrets": redact_secrets}
    turn = TurnTrace(1, 10, 5, 0.1, "login", {"password": SECRET}, summary=TEXT)
    write_turns(tmp_path / "trace.jsonl", [turn], **options)
    (row,) = read_turns(tmp_path / "trace.jsonl")
    assert row.summary == (TEXT if redact_secrets is False else REDACTED)
    assert row.arguments == {"password": SECRET if redact_secrets is False else "[redacted: secret]"}


@pytest.mark.parametrize("redact_secrets", [True, False, None])
def test_an_agent_redacts_its_trace_file(tmp_path: Path, redact_secrets: bool | None) -> None:
    options = {} if redact_secrets is None else {"redact_secrets": redact_secrets}
    file = tmp_path / "trace.jsonl"
    (tmp_path / "page.md").write_text("The spare key is with Ada.")
    agent = make_agent(tmp_path, tagged(FINISH, TEXT), trace_file=file, **options)
    agent.run(f"{QUESTION} {TEXT}")
    assert (SECRET in file.read_text("utf-8")) == (redact_secrets is False)


posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")


def modes(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}


@posix
def test_new_databases_can_be_read_by_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with (
            closing(MemoryStore(tmp_path / "agent.db")) as store,
            closing(ExperienceBank(tmp_path / "bank.db", Letters())),
        ):
            AgentMemory(FIRST, limit=600, store=store, compressor=COMPRESSOR)
            names = [f"{name}.db{suffix}" for name in ("agent", "bank") for suffix in ("", "-wal", "-shm")]
            assert modes(tmp_path) == dict.fromkeys(names, 0o600)
    finally:
        os.umask(before)


@posix
def test_new_database_is_never_readable_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    connect = sqlite3.connect

    def watched(path: Path, *args: object, **options: object) -> sqlite3.Connection:
        seen.append(Path(path).stat().st_mode & 0o777)
        return connect(path, *args, **options)

    monkeypatch.setattr(sqlite3, "connect", watched)
    before = os.umask(0)
    try:
        MemoryStore(tmp_path / "agent.db").close()
        (tmp_path / "link.db").symlink_to(tmp_path / "elsewhere.db")
        MemoryStore(tmp_path / "link.db").close()
    finally:
        os.umask(before)
    assert seen == [0o600, 0o600]


@posix
def test_a_database_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    MemoryStore(tmp_path / "agent.db").close()
    (tmp_path / "agent.db").chmod(0o640)
    with closing(MemoryStore(tmp_path / "agent.db")) as store:
        AgentMemory(FIRST, limit=600, store=store, compressor=COMPRESSOR)
        assert set(modes(tmp_path).values()) == {0o640}
