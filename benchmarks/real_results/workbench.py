"""Make tool results again: by commands over packages and small projects, and from written texts.

The folder of a set holds

- `commands.toml`: the commands by the name of their result. Those of `[packages]` run beside the installed
  packages, those of another table in a new folder with the project of this name.
- `projects/NAME.export`: a project as `git fast-export --all` writes it.
- `texts/NAME.txt`: the results that are not made by a command. They were drawn from a seed once, as logs and
  replies of services, with the few lines that a question asks about at chosen places.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

PACKAGES = "packages"
_TIMEOUT_S = 120
_VARYING = (
    (re.compile(r"\b\d+\.\d\ds\b"), "0.05s"),
    (re.compile(r"\b\d+\.\d\d\ds\b"), "0.04s"),
    (re.compile(r"\b(duration_ms:? )\d+(\.\d+)?"), r"\g<1>1.5"),
)
"""Times that a command prints, and the text that replaces them."""
_ADDRESS = re.compile(r"\b0x[0-9a-f]{12}\b")
_UNPACK = 'git init -q -b main . && git fast-import --quiet < "{export}" && git reset -q --hard'


@dataclass(frozen=True, slots=True)
class Workbench:
    """The Python that runs the commands, and the packages that they read."""

    python: Path
    packages: Path

    def make_result(self, folder: Path, name: str) -> str:
        """Return the result of this name. `folder` holds its set."""
        written = folder / "texts" / f"{name}.txt"
        if written.is_file():
            return written.read_text(encoding="utf-8")
        commands = tomllib.loads((folder / "commands.toml").read_text(encoding="utf-8"))
        ((project, command),) = ((project, own[name]) for project, own in commands.items() if name in own)
        if project == PACKAGES:
            return self.run(command)
        return self.run_in_project(folder / "projects" / f"{project}.export", command)

    def run_in_project(self, export: Path, command: str) -> str:
        """Return the output of a command in a new folder with the project, with fixed times."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(os.path.realpath(name))
            if unpacked := self.run(_UNPACK.format(export=export), folder):
                raise RuntimeError(f"{export} cannot be unpacked: {unpacked}")
            text = self.run(command, folder)
            for pattern, replacement in _VARYING:
                text = pattern.sub(replacement, text)
            return text

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


def open_workbench(python: Path) -> Workbench:
    """Return the workbench of a Python and its installed packages."""
    found = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return Workbench(python.absolute(), Path(found.stdout.strip()))
