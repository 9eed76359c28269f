"""ONNX sessions and worker threads: limits, errors, forks, pickling."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from onnxruntime.datasets import get_example

from tersely.errors import ArtifactError
from tersely.runtime.session import EncoderSession
from tersely.runtime.workers import Workers, usable_cores

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
