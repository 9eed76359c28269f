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
    """A loaded graph that any number of threads may run at once.

    Args:
        path: an `.onnx` file.
        threads: upper limit on intra-op threads; `None` uses every core this process may use.

    Raises:
        ArtifactError: the file is missing or is not a graph that onnxruntime can run.
    """

    def __init__(self, path: str | Path, threads: int | None = None) -> None:
        self.path = Path(path)
        self.threads = allowed_threads(threads)
        self._lock = threading.Lock()
        self._inherited: list[Any] = []
        self._open()

    def _open(self) -> None:
        self._session = _open_session(self.path, self.threads)
        self._pid = os.getpid()
        self.inputs: tuple[str, ...] = tuple(node.name for node in self._session.get_inputs())
        self.outputs: tuple[str, ...] = tuple(node.name for node in self._session.get_outputs())
        """Names of the graph's inputs and outputs, in the graph's order."""
        self.on_gpu: bool = _GPU in self._session.get_providers()
        """Whether onnxruntime-gpu is installed and found a device."""

    def run(self, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]) -> list[np.ndarray]:
        """The named outputs, in the order asked for; shapes are the graph's own.

        Raises:
            ArtifactError: the graph lacks one of the names, or an input that it needs is not given.
        """
        if set(inputs) != set(self.inputs) or not set(outputs) <= set(self.outputs):
            raise ArtifactError(
                f"{self.path} takes {sorted(self.inputs)} and returns {sorted(self.outputs)}, but was asked "
                f"for {sorted(outputs)} from {sorted(inputs)}. Export the model with this version of tersely."
            )
        if self._pid != os.getpid():
            # A fork keeps the session and loses its threads: running or freeing it would wait forever.
            with self._lock:
                if self._pid != os.getpid():
                    self._inherited.append(self._session)
                    self._open()
        return self._session.run(list(outputs), dict(inputs))

    def __reduce__(self) -> tuple[type[EncoderSession], tuple[Path, int]]:
        return EncoderSession, (self.path, self.threads)


In = TypeVar("In")
Out = TypeVar("Out")


class Workers:
    """Threads that run many small jobs side by side; they outlive neither a fork nor pickling, and come back.

    One run on every core beats every core on one run: nothing waits for the slowest part of each operator.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._pid = 0

    def map(self, work: Callable[[In], Out], jobs: Sequence[In]) -> list[Out]:
        """`work` of every job, in order; raises what it raises."""
        if self.count == 1 or len(jobs) < 2:
            return [work(job) for job in jobs]
        try:
            results = self._alive().map(work, jobs)
        except RuntimeError:  # the interpreter is ending and starts no more threads
            return [work(job) for job in jobs]
        return list(results)

    def _alive(self) -> ThreadPoolExecutor:
        if self._pool is None or self._pid != os.getpid():
            with self._lock:
                if self._pool is None or self._pid != os.getpid():
                    self._pool, self._pid = ThreadPoolExecutor(self.count, "tersely"), os.getpid()
        return self._pool

    def __reduce__(self) -> tuple[type[Workers], tuple[int]]:
        return Workers, (self.count,)


def allowed_threads(most: int | None) -> int:
    """`most`, but never more than the usable cores; all of them for None."""
    return min(usable_cores(), most) if most else usable_cores()


def usable_cores() -> int:
    """Cores that may work for this process: affinity, container quota and, above two, physical cores."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    allowed = os.sched_getaffinity(0)
    # Hyper-threads share the multiply units: they only add contention, except where there is one core in all.
    return max(1, min(len(allowed), _quota(), max(2, _physical(allowed))))


def _quota() -> int:
    """Whole cores of the container's CPU quota; a large number where there is none."""
    try:
        limit, period = _CGROUP_QUOTA.read_text().split()
        return max(1, int(limit) // int(period))
    except (OSError, ValueError):  # not in a container, another kernel, or "max"
        return sys.maxsize


def _physical(allowed: set[int]) -> int:
    """Distinct physical cores among logical CPUs; every CPU counts where the kernel does not tell."""
    try:
        return len({(_CPU_TOPOLOGY / f"cpu{n}/topology/thread_siblings_list").read_text() for n in allowed})
    except OSError:
        return len(allowed)


def _open_session(path: Path, threads: int) -> Any:
    # onnxruntime 1.31 reports its use to its maker and keeps a database in the home folder. The variable
    # stops that at import, the call where the caller has imported it before.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    # Imported here, because it takes 0.1 s that `import tersely` need not pay.
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
        # The arena keeps the peak of the largest batch ever seen; malloc gives it back.
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
