"""Measurements that need a process, or an installation, of their own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tersely.errors import InvalidInputError

ROOT = Path(__file__).resolve().parents[2]
MEGABYTE = 1_000_000

_IMPORT = """
import sys, time
started = time.perf_counter()
from tersely import Compressor
print(time.perf_counter() - started)
"""

_COMPRESS = """
import json, sys, time
job = json.load(sys.stdin)
from tersely import Compressor
compressor = Compressor(job["model"], threads=job["threads"])
started = time.perf_counter()
for _ in range(job["times"]):
    result = compressor.compress(job["query"], job["documents"], rate=job["rate"])
assert result.status == "compressed", (result.status, result.reason)
seconds = (time.perf_counter() - started) / job["times"]
# Not getrusage: on Linux its peak includes the process that started this one.
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
print(json.dumps({"seconds": seconds, "peak_bytes": peak * 1024, "tokens_before": result.tokens_before}))
"""


_SERVE = """
import json, sys, time
from tersely import Compressor
compressor = Compressor(threads=int(sys.argv[1]))
for line in sys.stdin:
    job = json.loads(line)
    started = time.perf_counter()
    result = compressor.compress(job["query"], job["documents"], rate=job["rate"])
    taken = time.perf_counter() - started
    assert result.status == "compressed", (result.status, result.reason)
    print(taken, flush=True)
"""


class EarlierVersion:
    """tersely and its model as they were at a commit of this repository, in a process of their own."""

    def __init__(self, commit: str, threads: int) -> None:
        self._folder = tempfile.TemporaryDirectory()
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", commit, "sdk", "models"], capture_output=True, check=False
        )
        if archive.returncode:
            self._folder.cleanup()
            raise InvalidInputError(f"this checkout has no commit {commit}: clone it with its history")
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
            tar.extractall(self._folder.name, filter="data")
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(self._folder.name) / "sdk")},
        )

    def seconds(self, job: Mapping[str, Any]) -> float:
        """Seconds of one compression."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(dict(job)) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the earlier version ended with code {self._process.wait()}")
        return float(line)

    def close(self) -> None:
        """End the process and remove its files."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()
        self._folder.cleanup()


def import_seconds(times: int) -> list[float]:
    """Seconds of `from tersely import Compressor`, each in a new process."""
    return [float(_python(_IMPORT, "")) for _ in range(times)]


def cold_start_seconds(job: Mapping[str, Any], times: int) -> list[float]:
    """Seconds from starting Python until the first compression is there, each in a new process."""
    found: list[float] = []
    for _ in range(times):
        started = time.perf_counter()
        _python(_COMPRESS, json.dumps({**job, "times": 1}))
        found.append(time.perf_counter() - started)
    return found


def compress_alone(job: Mapping[str, Any], times: int) -> dict[str, float]:
    """Mean seconds, peak resident memory in bytes and tokens of a job repeated in a process of its own."""
    return json.loads(_python(_COMPRESS, json.dumps({**job, "times": times})))


def install_size() -> dict[str, float]:
    """Bytes of the wheel and of a fresh installation of it with all that the base install needs."""
    with tempfile.TemporaryDirectory() as folder:
        wheels, target = Path(folder) / "wheels", Path(folder) / "target"
        _pip(["wheel", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)])
        (wheel,) = wheels.glob("tersely-*.whl")
        _pip(["install", "--target", str(target), str(wheel)])
        files = [path for path in target.rglob("*") if path.is_file()]
        return {
            "wheel_bytes": wheel.stat().st_size,
            "installed_bytes": sum(path.stat().st_size for path in files),
            "distributions": len(list(target.glob("*.dist-info"))),
        }


def _python(code: str, given: str) -> str:
    path = os.pathsep.join([str(ROOT / "sdk"), *filter(None, [os.environ.get("PYTHONPATH")])])
    ran = subprocess.run(
        [sys.executable, "-c", code],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    return _output(ran)


def _pip(arguments: Sequence[str]) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    _output(subprocess.run(command, capture_output=True, text=True, check=False))


def _output(ran: subprocess.CompletedProcess[str]) -> str:
    if ran.returncode:
        raise RuntimeError(f"a measured process failed with {ran.returncode}: {ran.stderr.strip()[-2000:]}")
    return ran.stdout
