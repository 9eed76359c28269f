"""Download models from the Hugging Face hub, within limits on bytes and seconds."""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tersely.errors import ArtifactError, MissingDependencyError, OfflineError
from tersely.runtime.limits import clean
from tersely.runtime.offline import network_forbidden

FILES = ("*.json", "*.md", "*.npz", "onnx/*")
MAX_BYTES = 4 * 2**30
"""Largest number of bytes of a model; an encoder of 300 million weights has 1.2 GB."""
MAX_SECONDS = 1800.0
"""Longest time of a download: enough for 25 MB at 15 kB a second."""
_ANSWER_SECONDS = 20.0
"""Longest time to wait for the hub's list of files."""


class _LimitError(Exception):
    """A download exceeds a limit; the message says which one."""


def download_model(name: str) -> Path:
    """Return the folder of the hub model "owner/name", downloaded unless it is in the hub's cache.

    Raises:
        OfflineError: `TERSELY_OFFLINE=1`.
        MissingDependencyError: huggingface_hub is not installed.
        ArtifactError: the hub has no such model, it cannot be reached and its cache lacks the model, or the
            model exceeds a limit.
    """
    return _fetch(name, name, FILES, "config.json").parent


def download_file(name: str) -> Path:
    """Return a file of a hub model, "owner/name/FILE", downloaded unless it is in the hub's cache.

    Raises the errors of `download_model`.
    """
    owner, model, file = name.split("/", 2)
    return _fetch(name, f"{owner}/{model}", (file,), file)


def _fetch(given_name: str, name: str, patterns: Sequence[str], needed: str) -> Path:
    """Download the files of a model that match `patterns`, and return the path of one of them, `needed`.

    `given_name` is the name that the user gave, for messages.
    """
    if network_forbidden():
        raise OfflineError(
            f"{given_name!r} is not here and TERSELY_OFFLINE forbids downloading it from the hub. "
            "Unset TERSELY_OFFLINE, or download it elsewhere and name its path."
        )
    try:
        hub: Any = importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise MissingDependencyError(
            f"Loading {given_name!r} from the hub needs huggingface_hub: pip install huggingface_hub"
        ) from error
    try:
        return _download(hub, name, patterns, needed)
    except ArtifactError:
        raise
    except _LimitError as error:
        raise ArtifactError(
            f"The download of {given_name!r} was stopped: {error}. Download it "
            "with the hub's own tools, and name its path."
        ) from error
    except Exception as error:  # no network, no access, no such repository: many unrelated classes
        with contextlib.suppress(Exception):  # if the cache fails too, report the failed download
            folder = hub.snapshot_download(name, allow_patterns=list(patterns), local_files_only=True)
            if (Path(folder) / needed).exists():
                return Path(folder) / needed
        raise ArtifactError(
            f"There is no path {given_name!r}, and the hub has no model of that name or cannot be reached "
            f"({type(error).__name__}: {clean(error)[:200]}). "
            "Check the name and the connection, or name a path."
        ) from error


def _download(hub: Any, name: str, patterns: Sequence[str], needed: str) -> Path:
    info = hub.HfApi().model_info(name, files_metadata=True, timeout=_ANSWER_SECONDS)
    files = {
        f.rfilename: f.size or 0 for f in info.siblings if any(fnmatch(f.rfilename, p) for p in patterns)
    }
    if sum(files.values()) > MAX_BYTES:
        raise _LimitError(f"its files have {sum(files.values())} bytes, and {MAX_BYTES} are allowed")
    if needed not in files:
        raise ArtifactError(
            f"The hub's model {name!r} has no {needed}. Check the name, or name another model."
        )
    guard = _make_guard(importlib.import_module("huggingface_hub.utils").tqdm)
    paths = {file: Path(hub.hf_hub_download(name, file, tqdm_class=guard)) for file in sorted(files)}
    return paths[needed]


def _make_guard(bar: Any) -> Any:
    """Make a subclass of the progress bar `bar` that shows nothing and stops the download at a limit."""
    end = time.monotonic() + MAX_SECONDS
    received = 0

    class Guard(bar):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.update(0)
            bar.__init__(self, *args, **{**kwargs, "disable": True})

        def update(self, n: float | None = 1) -> None:
            nonlocal received
            received += n or 0
            if received > MAX_BYTES:
                raise _LimitError(f"the hub sends more than the {MAX_BYTES} bytes that are allowed")
            if time.monotonic() > end:
                raise _LimitError(f"it takes more than {MAX_SECONDS:g} s")

    return Guard
