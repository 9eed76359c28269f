"""One ONNX session: the only module that imports onnxruntime."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tersely.errors import ArtifactError

_GPU = "CUDAExecutionProvider"
_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_CPU_TOPOLOGY = Path("/sys/devices/system/cpu")


class EncoderSession:
    """A loaded graph. Any number of threads may run it at once. It survives pickling and a fork.

    Args:
        path: an `.onnx` file.
        threads: most threads of one run; None for every core this process may use.

    Attributes:
        inputs: names of the graph's inputs, in the graph's order.
        outputs: names of its outputs, in the graph's order.
        on_gpu: whether onnxruntime-gpu is installed and found a device.

    Raises:
        ArtifactError: the file is missing or is not a graph that onnxruntime can run.
    """

    def __init__(self, path: str | Path, threads: int | None = None) -> None:
        self.path = Path(path)
        self.threads = allowed_threads(threads)
        self._lock = threading.Lock()
        self._sessions_before_fork: list[Any] = []
        self._open()

    def _open(self) -> None:
        self._session = _open_session(self.path, self.threads)
        self._pid = os.getpid()
        self.inputs: tuple[str, ...] = tuple(node.name for node in self._session.get_inputs())
        self.outputs: tuple[str, ...] = tuple(node.name for node in self._session.get_outputs())
        self.on_gpu: bool = _GPU in self._session.get_providers()

    def run(self, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]) -> list[np.ndarray]:
        """Run the graph.

        Returns:
            The arrays of `outputs`, in that order, with the shapes of the graph.

        Raises:
            ArtifactError: `inputs` are not exactly those of the graph, or the graph lacks an output.
        """
        if set(inputs) != set(self.inputs) or not set(outputs) <= set(self.outputs):
            raise ArtifactError(
                f"{self.path} takes {sorted(self.inputs)} and returns {sorted(self.outputs)}, but this "
                f"tersely gives {sorted(inputs)} and needs {sorted(outputs)}. Export the model again."
            )
        if self._pid != os.getpid():
            # After a fork the session has lost its threads. Running or freeing it would wait forever.
            with self._lock:
                if self._pid != os.getpid():
                    self._sessions_before_fork.append(self._session)
                    self._open()
        return self._session.run(list(outputs), dict(inputs))

    def __reduce__(self) -> tuple[type[EncoderSession], tuple[Path, int]]:
        return EncoderSession, (self.path, self.threads)


Job = TypeVar("Job")
Result = TypeVar("Result")


class Workers:
    """Threads that run many small jobs in parallel. They start again after a fork or after pickling.

    A job on each core is faster than all cores on one job, because no core waits for the slowest part of each
    operator.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._pid = 0

    def map(self, work: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
        """The results of `work` on every job, in order. Raises what `work` raises."""
        if self.count == 1 or len(jobs) < 2:
            return [work(job) for job in jobs]
        try:
            results = self._get_pool().map(work, jobs)
        except RuntimeError:  # the interpreter is shutting down and starts no threads
            return [work(job) for job in jobs]
        return list(results)

    def _get_pool(self) -> ThreadPoolExecutor:
        if self._pool is None or self._pid != os.getpid():
            with self._lock:
                if self._pool is None or self._pid != os.getpid():
                    self._pool, self._pid = ThreadPoolExecutor(self.count, "tersely"), os.getpid()
        return self._pool

    def __reduce__(self) -> tuple[type[Workers], tuple[int]]:
        return Workers, (self.count,)


def allowed_threads(most: int | None) -> int:
    """The number of threads to use: `most`, but at most one per usable core; None for all cores."""
    return min(usable_cores(), most) if most else usable_cores()


def usable_cores() -> int:
    """Cores for this process, limited by affinity, the container's quota and, above two, physical cores."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    allowed = os.sched_getaffinity(0)
    # Hyper-threads of a core share its arithmetic units, so they help only on a machine with one core.
    return max(1, min(len(allowed), _read_quota(), max(2, _count_physical_cores(allowed))))


def _read_quota() -> int:
    """Whole cores of the container's CPU quota, at least 1; `sys.maxsize` if there is no quota."""
    try:
        limit, period = _CGROUP_QUOTA.read_text().split()
        return max(1, int(limit) // int(period))
    except (OSError, ValueError):  # no container, another kernel, or "max"
        return sys.maxsize


def _count_physical_cores(cpus: set[int]) -> int:
    """Distinct physical cores among logical CPUs; all CPUs if the kernel does not list them."""
    try:
        return len({(_CPU_TOPOLOGY / f"cpu{n}/topology/thread_siblings_list").read_text() for n in cpus})
    except OSError:
        return len(cpus)


def _open_session(path: Path, threads: int) -> Any:
    # onnxruntime 1.31 sends telemetry and keeps a database in the home folder. The variable turns that off at
    # import. The call turns it off if the caller has imported onnxruntime before.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    # Imported here, because it would slow down `import tersely` by 0.1 s.
    import onnxruntime  # pyright: ignore[reportMissingTypeStubs]

    ort: Any = onnxruntime
    ort.disable_telemetry_events()
    if not path.is_file():
        raise ArtifactError(f"{path} is missing. Reinstall tersely, or export the model again.")
    options: Any = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    if sys.platform == "linux":
        # The arena would keep the peak memory of the largest batch. malloc returns memory.
        options.enable_cpu_mem_arena = False
    offered: list[str] = ort.get_available_providers()
    providers = [name for name in (_GPU, "CPUExecutionProvider") if name in offered]
    try:
        return ort.InferenceSession(str(path), sess_options=options, providers=providers)
    except Exception as error:  # onnxruntime's errors share no base class
        raise ArtifactError(
            f"{path} is not a graph that onnxruntime {ort.__version__} can run ({_first_line(error)}). "
            "Reinstall tersely, or export the model again."
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
