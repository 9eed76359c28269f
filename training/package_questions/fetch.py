"""Download the packages that the questions are about, and unpack each to `FOLDER/<package>-<version>`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from training.package_questions.texts import PackageQuestion


def fetch_packages(questions: Iterable[PackageQuestion], folder: Path) -> list[str]:
    """Fetch what the folder lacks, and return the names of the packages that could not be fetched, each with
    the last line of the error."""
    failures: list[str] = []
    for name, question in sorted({q.folder: q for q in questions}.items()):
        if (folder / name).exists():
            continue
        print(f"fetching {name}", file=sys.stderr)
        try:
            _fetch(question, folder)
        except subprocess.CalledProcessError as error:
            lines = error.stderr.strip().splitlines()
            hint = ". Run apt-get update first" if question.origin == "debian" else ""
            failures.append(f"{name}: {lines[-1] if lines else error}{hint}")
        except OSError as error:
            failures.append(f"{name}: {error}")
    return failures


def list_download_command(question: PackageQuestion) -> list[str]:
    """Return the command that downloads the package to the working directory."""
    name, version = question.package, question.version
    if question.origin == "pypi":
        # Not ":all:", which would compile the tools that a package is built with.
        source_only = ["--no-deps", "--no-binary", name]
        return [sys.executable, "-m", "pip", "download", *source_only, f"{name}=={version}"]
    if question.origin == "npm":
        return ["npm", "pack", f"{name}@{version}"]
    return ["apt-get", "download", f"{name}={version}"]


def _fetch(question: PackageQuestion, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # In the same folder, so that the unpacked package can be renamed to its place at the end.
    with tempfile.TemporaryDirectory(dir=folder, prefix=".partial-") as name:
        unpacked = Path(name) / "unpacked"
        unpacked.mkdir()
        _run(list_download_command(question), name)
        archive = next(str(file) for file in Path(name).iterdir() if file.is_file())
        if question.origin == "debian":
            _run(["dpkg", "-x", archive, str(unpacked)], name)
        else:  # an archive with a single folder
            _run(
                ["tar", "-xf", archive, "-C", str(unpacked), "--strip-components=1", "--no-same-owner"], name
            )
        unpacked.rename(folder / question.folder)


def _run(command: list[str], folder: str) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
