"""Run commands over packages and small projects, and make tool results from their output."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

_TIMEOUT_S = 120
_VARYING = (
    (re.compile(r"\b\d+\.\d\ds\b"), "0.05s"),
    (re.compile(r"\b\d+\.\d\d\ds\b"), "0.04s"),
    (re.compile(r"\b(duration_ms:? )\d+(\.\d+)?"), r"\g<1>1.5"),
)
"""Times that a command prints, and the text that replaces them."""
_ADDRESS = re.compile(r"\b0x[0-9a-f]{12}\b")


@dataclass(frozen=True, slots=True)
class Workbench:
    """The Python that runs the commands, and the packages that they read."""

    python: Path
    packages: Path

    def run(self, command: str, folder: Path | None = None) -> str:
        """Return the output of a shell command, with the paths of this machine shortened.

        Args:
            folder: where the command runs; by default the packages.
        """
        base = Path(os.path.realpath(self.python)).parent.parent
        settings = {
            "PATH": f"{self.python.parent}:{os.environ.get('PATH', '/usr/bin:/bin')}",
            "PACKAGES": str(self.packages),
            "HOME": "/tmp",
            "TZ": "UTC",
            "LC_ALL": "C.UTF-8",
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_PAGER": "cat",
        }
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder or self.packages,
            env=settings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_S,
            check=False,
        )
        text = done.stdout.decode("utf-8", "replace")
        shortened = {self.packages: ".venv/site-packages", self.python.parent.parent: ".venv", base: "/usr"}
        if folder:
            shortened = {folder: "/app", **shortened}
        for path, short in shortened.items():
            text = text.replace(str(path), short)
        return _ADDRESS.sub("0x7f3a5c0b2d40", text)


Make = Callable[[Workbench], str]
"""A way to make one tool result."""


@dataclass(frozen=True, slots=True)
class Source:
    """A tool result by its kind and the way to make it."""

    kind: str
    make: Make


def open_workbench(python: Path) -> Workbench:
    """Return the workbench of a Python and its installed packages."""
    found = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return Workbench(python.absolute(), Path(found.stdout.strip()))


def list_sources(tables: Mapping[str, Mapping[str, Make]]) -> dict[str, Source]:
    """Return the sources by name. `tables` has a table of them for each kind."""
    return {name: Source(kind, make) for kind, table in tables.items() for name, make in table.items()}


def run(command: str) -> Make:
    """Make the result of a command that runs beside the packages."""
    return lambda bench: bench.run(command)


def show(write: Callable[[], str]) -> Make:
    """Make a result that a function writes."""
    return lambda _: write()


def run_after(prepare: Callable[[Path], None], command: str) -> Make:
    """Make the result of a command in a folder that a function has filled, with fixed times."""

    def make(bench: Workbench) -> str:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(os.path.realpath(name))
            prepare(folder)
            text = bench.run(command, folder)
            for pattern, replacement in _VARYING:
                text = pattern.sub(replacement, text)
            return text

    return make


def run_beside(files: Mapping[str, str], command: str) -> Make:
    """Make the result of a command in a folder that holds the files, with fixed times."""

    def prepare(folder: Path) -> None:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")

    return run_after(prepare, command)


def inspect(*names: str) -> Make:
    """Make `pip inspect` of a folder that holds only the metadata of some packages."""

    def make(bench: Workbench) -> str:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(os.path.realpath(name))
            for package in names:
                for found in bench.packages.glob(f"{package}-*.dist-info"):
                    (folder / found.name).symlink_to(found)
            return bench.run("python -m pip inspect --path .", folder)

    return make
