"""Servers in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

TERSELY = (sys.executable, "-m", "tersely.cli")
"""The command in this environment."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server in a process of its own."""

    url: str
    pid: int


@contextmanager
def start_process(command: Sequence[str]) -> Generator[RunningServer]:
    """Start a server. The first line that it writes has to end in its URL.

    Raises:
        RuntimeError: The server did not start; the message holds what it wrote instead.
    """
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline().strip()
        url = line.split(" ")[-1]
        if not url.startswith("http://"):
            process.terminate()
            raise RuntimeError(f"{' '.join(command)} did not start: {line}")
        # Nobody reads the log, and it must not fill the pipe.
        with ThreadPoolExecutor(1) as reader:
            reader.submit(process.stderr.read)
            try:
                yield RunningServer(url, process.pid)
            finally:
                process.terminate()
                process.wait(60)
