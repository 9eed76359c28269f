"""One loaded graph for all sessions of a process that need the same."""

from __future__ import annotations

import gc
import os
import pickle
import shutil
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
from onnxruntime.datasets import get_example

from tersely import Compressor
from tersely.embedding import SentenceEmbedder
from tersely.rerank import Relevance
from tersely.runtime.session import EncoderSession


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    return shutil.copy(get_example("mul_1.onnx"), tmp_path / "graph.onnx")


def loaded(session: EncoderSession) -> Any:
    """Return the models that onnxruntime has loaded."""
    return session._session


def find_sessions(*owners: object) -> set[int]:
    """Return the ids of the sessions that these objects hold, at any depth."""
    found: set[int] = set()
    seen: set[int] = set()
    queue: list[object] = list(owners)
    while queue:
        item = queue.pop()
        if id(item) in seen or not hasattr(item, "__dict__"):
            continue
        seen.add(id(item))
        if isinstance(item, EncoderSession):
            found.add(id(loaded(item)))
        queue += vars(item).values()
    return found


def test_all_users_of_the_bundled_model_share_two_sessions() -> None:
    users = [*(Compressor(threads=n) for n in (1, 2, None)), SentenceEmbedder(), Relevance()]
    users.append(pickle.loads(pickle.dumps(users[0])))
    assert len(find_sessions(*users)) == 2
    assert all(find_sessions(user) for user in users)


def test_other_threads_and_files_have_other_sessions(graph: Path, tmp_path: Path) -> None:
    other = shutil.copy(graph, tmp_path / "other.onnx")
    first = EncoderSession(graph, 1)
    assert loaded(first) is loaded(EncoderSession(str(graph), 1))
    assert loaded(first) is not loaded(EncoderSession(other, 1))
    two = EncoderSession(graph, 2)
    assert (loaded(first) is loaded(two)) == (two.threads == 1)


def test_a_file_that_was_replaced_is_loaded_again(graph: Path, tmp_path: Path) -> None:
    first = EncoderSession(graph, 1)
    fresh = shutil.copyfile(graph, tmp_path / "fresh.onnx")
    os.replace(fresh, graph)
    assert loaded(EncoderSession(graph, 1)) is not loaded(first)


def test_a_session_is_freed_with_its_last_user(graph: Path) -> None:
    first, second = EncoderSession(graph, 1), EncoderSession(graph, 1)
    alive = weakref.ref(loaded(first))
    del first
    gc.collect()
    assert alive() is not None
    del second
    gc.collect()
    assert alive() is None


def test_threads_that_begin_together_load_once(graph: Path) -> None:
    barrier = threading.Barrier(16)
    sessions: list[EncoderSession] = []

    def load() -> None:
        barrier.wait()
        sessions.append(EncoderSession(graph, 1))

    threads = [threading.Thread(target=load) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sessions) == 16
    assert len({id(loaded(session)) for session in sessions}) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="counts pages as Linux does")
def test_six_compressors_take_little_more_memory_than_one() -> None:
    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    compressors = [Compressor(threads=1)]
    before = resident()
    compressors += [Compressor(threads=1) for _ in range(5)]
    assert resident() - before < 75 * 2**20  # five more sessions would take 130 MiB
