"""One ONNX session: the only module that imports onnxruntime."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from tersely.errors import ArtifactError
from tersely.runtime.locks import ProcessLock
from tersely.runtime.workers import allowed_threads

_SLOW_FUSIONS = ["SkipLayerNormFusion"]
"""Optimisations of the graph that onnxruntime must not make. On a CPU, the fused kernel for a sum and a layer
normalisation takes twice as long as the two separate kernels (training/LOG.md)."""


class EncoderSession:
    """A loaded graph. Any number of threads may run it at once, also after pickling or a fork.

    All sessions of a process with the same file and number of threads share one loaded graph. It takes about
    as much RAM as the file has bytes, and is freed with the last session.

    Args:
        path: an `.onnx` file.
        threads: the largest number of threads of one run; None for every core this process may use.

    Attributes:
        inputs: names of the graph's inputs, in the graph's order.
        outputs: names of its outputs, in the graph's order.

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
        self._session = _share_session(self.path, self.threads)
        self._pid = os.getpid()
        self.inputs: tuple[str, ...] = tuple(node.name for node in self._session.get_inputs())
        self.outputs: tuple[str, ...] = tuple(node.name for node in self._session.get_outputs())

    def run(self, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]) -> list[np.ndarray]:
        """Run the graph.

        Returns:
            The arrays of `outputs`, in that order, with the shapes of the graph.

        Raises:
            ArtifactError: the graph takes other inputs than `inputs`, or lacks an output.
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


_shared_sessions: WeakValueDictionary[tuple[int, ...], Any] = WeakValueDictionary()
_sharing_lock = ProcessLock()


def _share_session(path: Path, threads: int) -> Any:
    """Return the session for a file that is open in this process, or a new one."""
    try:
        file = path.stat()
    except OSError as error:
        raise ArtifactError(f"{path} is missing. Reinstall tersely, or export the model again.") from error
    # The key changes if the file is replaced, and after a fork, because sessions from before it are useless.
    key = (os.getpid(), file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, threads)
    with _sharing_lock.hold():
        session = _shared_sessions.get(key)
        if session is None:
            session = _shared_sessions[key] = _open_session(path, threads)
        return session


def _open_session(path: Path, threads: int) -> Any:
    # onnxruntime 1.31 sends telemetry and keeps a database in the home folder. The variable turns that off at
    # import. The call turns it off if the caller has imported onnxruntime before.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    # Imported here, because it would slow down `import tersely` by 0.1 s.
    import onnxruntime  # pyright: ignore[reportMissingTypeStubs]

    ort: Any = onnxruntime
    ort.disable_telemetry_events()
    options: Any = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    # With memory patterns, a session would permanently keep as much memory as one run needs.
    options.enable_mem_pattern = False
    if sys.platform == "linux":
        # The arena would never return the memory of the largest batch to the system, as malloc does.
        options.enable_cpu_mem_arena = False
    try:
        return ort.InferenceSession(
            str(path),
            sess_options=options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=_SLOW_FUSIONS,
        )
    except Exception as error:  # onnxruntime's errors share no base class
        raise ArtifactError(
            f"{path} is not a graph that onnxruntime {ort.__version__} can run ({_first_line(error)}). "
            "Reinstall tersely, or export the model again."
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
