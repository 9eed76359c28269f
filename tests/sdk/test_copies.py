"""Objects that hold locks, sessions or open files can be copied and pickled."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tersely_agents.experience import ExperienceBank, ExperienceError
from tersely_agents.memory import MemoryStore, StoreError
from tests.sdk.conversations import call, facts, make_memory, result
from tests.sdk.experiences import CHECK, make_experience


def pickle_copy(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


COPIES = [copy.deepcopy, pickle_copy]


@pytest.mark.parametrize("duplicate", COPIES)
def test_a_copy_of_a_memory_goes_its_own_way(duplicate: Callable[[Any], Any]) -> None:
    memory = make_memory(compress_over=60)
    memory.append(call(0), result(0, facts(0, 30)))
    other = duplicate(memory)
    assert other.prepare(None) == memory.prepare(None)
    other.append(call(1), result(1, "Later."))
    assert other.transcript.steps == memory.transcript.steps + 1
    (key,) = memory.transcript.originals
    assert other.original(key) == facts(0, 30)


@pytest.mark.parametrize("duplicate", COPIES)
def test_a_copy_of_a_store_opens_the_same_file(
    tmp_path: Path, duplicate: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(MemoryStore("agent.db", redact_secrets=False)) as store:
        make_memory(store=store)
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        with closing(duplicate(store)) as other:
            assert other.sessions() == ["default"]
            secret = {"kind": "message", "message": {"role": "user", "content": "password=hunter2-swordfish"}}
            other.append("plain", 0, [secret])
            assert store.events("plain") == [secret]


@pytest.mark.parametrize("duplicate", COPIES)
def test_a_copy_of_a_bank_opens_the_same_file_in_the_same_way(
    tmp_path: Path, duplicate: Callable[[Any], Any]
) -> None:
    with (
        closing(ExperienceBank(tmp_path / "bank", merge_threshold=0.05)) as bank,
        closing(duplicate(bank)) as other,
    ):
        kept = bank.add(CHECK)
        assert [e.id for e in other.experiences()] == [kept.id]
        other.add(make_experience("Sources differ", description="When a year is unclear."))
        assert len(bank) == 1, "almost everything is similar enough to be merged"


def test_what_is_in_ram_cannot_be_copied() -> None:
    with closing(MemoryStore(":memory:")) as store, pytest.raises(StoreError, match="Keep it in a file"):
        copy.deepcopy(store)
    with closing(ExperienceBank(":memory:")) as bank, pytest.raises(ExperienceError, match="in a file"):
        pickle.dumps(bank)
