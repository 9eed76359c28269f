"""Measurements that need a process, or an installation, of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
