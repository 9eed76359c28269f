"""Measurements that need a process, or an installation, of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

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


@dataclass(frozen=True, slots=True)
class Job:
    """A request that a process of its own compresses `times` times."""

    model: str | None
    threads: int | None
    query: str
    documents: Sequence[str]
    rate: float
    times: int = 1


@dataclass(frozen=True, slots=True)
class JobCost:
    """The cost of a job in a process of its own."""

    seconds: float
    """Mean of a compression."""
    peak_bytes: int
    """Peak of the process's RAM."""
    tokens_before: int


@dataclass(frozen=True, slots=True)
class InstallSize:
    """The wheel, and a fresh installation of it with everything that the base install needs."""

    wheel_bytes: int
    installed_bytes: int
    distributions: int


def time_imports(times: int) -> list[float]:
    """Return the seconds of `from tersely import Compressor`, each in a new process."""
    return [float(_run_python(_IMPORT, "")) for _ in range(times)]


def time_cold_starts(job: Job, times: int) -> list[float]:
    """Return the seconds from starting Python until the first result, each in a new process."""
    seconds: list[float] = []
    for _ in range(times):
        started = time.perf_counter()
        compress_alone(replace(job, times=1))
        seconds.append(time.perf_counter() - started)
    return seconds


def compress_alone(job: Job) -> JobCost:
    """Run a job in a process of its own."""
    return JobCost(**json.loads(_run_python(_COMPRESS, json.dumps(asdict(job)))))


def measure_install() -> InstallSize:
    """Build the wheel and install it into an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        wheels, target = Path(folder) / "wheels", Path(folder) / "target"
        _run_pip(["wheel", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)])
        (wheel,) = wheels.glob("tersely-*.whl")
        _run_pip(["install", "--target", str(target), str(wheel)])
        files = [path for path in target.rglob("*") if path.is_file()]
        return InstallSize(
            wheel_bytes=wheel.stat().st_size,
            installed_bytes=sum(path.stat().st_size for path in files),
            distributions=len(list(target.glob("*.dist-info"))),
        )


def _run_python(code: str, standard_input: str) -> str:
    path = os.pathsep.join([str(ROOT / "sdk"), *filter(None, [os.environ.get("PYTHONPATH")])])
    # pip compiles what it installs, so an environment that forbids byte code would time the compiler.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.run(
        [sys.executable, "-c", code],
        input=standard_input,
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "PYTHONPATH": path},
    )
    return _read_output(process)


def _run_pip(arguments: Sequence[str]) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    _read_output(subprocess.run(command, capture_output=True, text=True, check=False))


def _read_output(process: subprocess.CompletedProcess[str]) -> str:
    if process.returncode:
        cause = process.stderr.strip()[-2000:]
        raise RuntimeError(f"a measured process failed with {process.returncode}: {cause}")
    return process.stdout
