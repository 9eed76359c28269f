"""ONNX sessions and worker threads: limits, errors, forks, and one loaded graph for all sessions."""

from __future__ import annotations

import gc
import os
import pickle
import shutil
import subprocess
import sys
import threading
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxruntime.datasets import get_example

from tersely import Compressor
from tersely.embedding import SentenceEmbedder
from tersely.errors import ArtifactError
from tersely.rerank import Relevance
from tersely.runtime.artifacts import load_artifact
from tersely.runtime.session import EncoderSession
from tersely.runtime.workers import Workers, usable_cores
from tersely.score import ScoredInput
from tersely.score.encoder import WindowLogits, merge_logits
from tersely.score.layout import Window
from tersely.score.selector import Selector
from tersely.split.sentences import split_units
from tests.sdk.selector_cases import DOCUMENTS, make_long_input, recording_selector

ONES = np.ones((3, 2), dtype=np.float32)
EXPECTED = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32)  # mul_1.onnx multiplies by this constant


@pytest.fixture(scope="module")
def graph() -> Path:
    return Path(get_example("mul_1.onnx"))


def test_a_session_runs_a_graph_by_its_names(graph: Path) -> None:
    session = EncoderSession(graph)
    assert (session.inputs, session.outputs) == (("X",), ("Y",))
    (result,) = session.run({"X": ONES}, ["Y"])
    np.testing.assert_array_equal(result, EXPECTED)


def test_session_uses_at_most_the_allowed_threads(graph: Path) -> None:
    assert EncoderSession(graph, threads=1).threads == 1
    assert EncoderSession(graph, threads=10_000).threads == usable_cores() <= (os.cpu_count() or 1)


def test_the_error_lists_wrong_names(graph: Path) -> None:
    session = EncoderSession(graph)
    with pytest.raises(ArtifactError, match="input_ids"):
        session.run({"input_ids": ONES}, ["Y"])
    with pytest.raises(ArtifactError, match="keep_logits"):
        session.run({"X": ONES}, ["keep_logits"])


def test_the_error_of_a_broken_or_missing_graph_has_a_remedy(graph: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(graph.read_bytes()[:60])
    with pytest.raises(ArtifactError, match=r"broken\.onnx is not a graph .* Reinstall"):
        EncoderSession(broken)
    with pytest.raises(ArtifactError, match="is missing"):
        EncoderSession(tmp_path / "absent.onnx")


def test_threads_can_share_a_session(graph: Path) -> None:
    session = EncoderSession(graph)
    wrong: list[np.ndarray] = []

    def work(factor: float) -> None:
        for _ in range(50):
            (result,) = session.run({"X": ONES * np.float32(factor)}, ["Y"])
            if not np.array_equal(result, EXPECTED * np.float32(factor)):
                wrong.append(result)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_session_survives_pickling(graph: Path) -> None:
    copy = pickle.loads(pickle.dumps(EncoderSession(graph, threads=1)))
    assert copy.threads == 1
    np.testing.assert_array_equal(copy.run({"X": ONES}, ["Y"])[0], EXPECTED)


def test_workers_run_in_parallel_and_keep_the_order() -> None:
    barrier = threading.Barrier(2, timeout=10)

    def work(number: int) -> int:
        barrier.wait()  # raises unless two jobs run in parallel
        return -number

    assert Workers(2).map(work, [3, 1, 2, 5]) == [-3, -1, -2, -5]
    assert Workers(1).map(abs, [-3, 1]) == [3, 1]


def test_the_error_of_a_job_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        Workers(2).map(lambda number: 1 // number, [1, 0, 2])


def test_workers_survive_pickling() -> None:
    workers = Workers(2)
    workers.map(abs, [-3, 1])
    assert pickle.loads(pickle.dumps(workers)).map(abs, [-3, 1]) == [3, 1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_workers_survive_a_fork() -> None:
    workers = Workers(2)
    workers.map(abs, [-3, 1])
    child = os.fork()
    if child == 0:
        os._exit(0 if workers.map(abs, [-3, 1]) == [3, 1] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_session_survives_a_fork(graph: Path) -> None:
    session = EncoderSession(graph)
    session.run({"X": ONES}, ["Y"])
    child = os.fork()
    if child == 0:
        same = np.array_equal(session.run({"X": ONES}, ["Y"])[0], EXPECTED)
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_onnxruntime_sends_nothing_and_leaves_no_files(graph: Path, tmp_path: Path) -> None:
    code = "import sys; from tersely.runtime.session import EncoderSession; EncoderSession(sys.argv[1])"
    variables = {k: v for k, v in os.environ.items() if k != "ORT_DISABLE_TELEMETRY" and "XDG" not in k}
    variables |= {"HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", code, graph], env=variables, check=True)
    assert list(tmp_path.rglob("*")) == []


def test_workers_work_while_the_interpreter_shuts_down() -> None:
    code = (
        "import atexit\n"
        "from tersely.runtime.workers import Workers\n"
        "workers = Workers(2)\n"
        "atexit.register(lambda: print(workers.map(abs, [-3, 1])))\n"
        "workers.map(abs, [-3, 1])\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (process.stdout, process.stderr) == ("[3, 1]\n", "")


@pytest.fixture
def own_graph(tmp_path: Path) -> Path:
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


def test_other_threads_and_files_have_other_sessions(own_graph: Path, tmp_path: Path) -> None:
    other = shutil.copy(own_graph, tmp_path / "other.onnx")
    first = EncoderSession(own_graph, 1)
    assert loaded(first) is loaded(EncoderSession(str(own_graph), 1))
    assert loaded(first) is not loaded(EncoderSession(other, 1))
    two = EncoderSession(own_graph, 2)
    assert (loaded(first) is loaded(two)) == (two.threads == 1)


def test_a_file_that_was_replaced_is_loaded_again(own_graph: Path, tmp_path: Path) -> None:
    first = EncoderSession(own_graph, 1)
    fresh = shutil.copyfile(own_graph, tmp_path / "fresh.onnx")
    os.replace(fresh, own_graph)
    assert loaded(EncoderSession(own_graph, 1)) is not loaded(first)


def test_a_session_is_freed_with_its_last_user(own_graph: Path) -> None:
    first, second = EncoderSession(own_graph, 1), EncoderSession(own_graph, 1)
    alive = weakref.ref(loaded(first))
    del first
    gc.collect()
    assert alive() is not None
    del second
    gc.collect()
    assert alive() is None


def test_threads_that_begin_together_load_once(own_graph: Path) -> None:
    barrier = threading.Barrier(16)
    sessions: list[EncoderSession] = []

    def load() -> None:
        barrier.wait()
        sessions.append(EncoderSession(own_graph, 1))

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


def test_threads_do_not_change_the_scores() -> None:
    question, documents = "Who designed the lighthouse?", [*DOCUMENTS, *make_long_input(20, 3)]
    single, parallel = (Selector.load(load_artifact(), threads) for threads in (1, 2))
    assert parallel.encoder.workers.count == min(2, usable_cores())
    single_scores = [list(own.scores) for own in single.score(question, documents)]
    assert single_scores == [list(own.scores) for own in parallel.score(question, documents)]


def test_a_sentence_in_several_windows_gets_its_highest_logit() -> None:
    selector, session = recording_selector()
    text = "barley " * 400 + "and the lighthouse was designed by Ida Penrose " + "barley " * 300
    units = [replace(split_units("One.")[0], start=0, end=len(text))]
    first_pass = selector.first_pass("Who designed the lighthouse?", [ScoredInput(None, text, units)])
    keep = np.concatenate([outputs[0][:, 0] for outputs in session.outputs])
    assert len(keep) > 2
    assert first_pass.logits.keep.tolist() == [pytest.approx(float(keep.max()))]
    assert keep.min() < keep.max()


def test_merged_logits_are_the_highest_or_nan_if_unread() -> None:
    first = Window([], [], sentences=[(0, 0), (0, 1)], documents=[0])
    second = Window([], [], sentences=[(0, 1), (2, 0)], documents=[0, 2])
    logits = merge_logits(
        [
            WindowLogits(first, np.float32([1.0, 2.0]), np.float32([0.5])),
            WindowLogits(second, np.float32([3.0, -1.0]), np.float32([0.25, 4.0])),
        ],
        offsets=np.array([0, 2, 3, 4]),
        documents=3,
    )
    np.testing.assert_array_equal(logits.keep, [1.0, 3.0, np.nan, -1.0])
    np.testing.assert_array_equal(logits.relevance, [0.5, np.nan, 4.0])
