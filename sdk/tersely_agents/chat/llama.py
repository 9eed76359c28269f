"""Run language models in GGUF files with llama.cpp, in this process."""

from __future__ import annotations

import importlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from tersely.errors import ArtifactError, InvalidInputError, MissingDependencyError
from tersely.runtime.workers import allowed_threads

INSTALL = "pip install '.[local]' in a clone of tersely"


class LlamaEngine:
    """One model with its adapters. Several threads may generate at once.

    llama.cpp always starts a server. It listens on a socket in a folder that only this user can read, and
    requires a random key that is given to nobody.

    Args:
        path: a GGUF file.
        adapters: GGUF files of LoRA adapters for this model.
        context: tokens that a prompt and its reply may have together.
        parallel: replies that are generated at once. Each has a context of its own, which takes memory.
        threads: the largest number of threads for each reply; None for all cores.

    Raises:
        MissingDependencyError: xllamacpp is not installed.
        InvalidInputError: a file is missing or is not a GGUF file.
        ArtifactError: llama.cpp cannot load the files.
    """

    def __init__(
        self, path: Path, adapters: Sequence[Path], *, context: int, parallel: int, threads: int | None
    ) -> None:
        try:
            llama: Any = importlib.import_module("xllamacpp")
        except ImportError as error:
            raise MissingDependencyError(f"LocalChat needs the xllamacpp package: {INSTALL}") from error
        for file in (path, *adapters):
            _check_file(file)
        self.adapters = len(adapters)
        self._folder = Path(tempfile.mkdtemp(prefix="tersely-"))
        self._has_replied = False
        params = llama.CommonParams()
        params.model.path = os.fspath(path)
        params.n_ctx, params.n_parallel = context * parallel, parallel
        params.cpuparams.n_threads = allowed_threads(threads)
        params.verbosity, params.ui, params.offline, params.endpoint_slots = -1, False, True, False
        params.cache_ram_mib = 0  # prompts of earlier requests are kept by each slot, and nowhere else
        params.api_keys = [secrets.token_urlsafe(32)]
        if os.name == "nt":
            params.port = 0
        else:
            params.hostnames = [os.fspath(self._folder / "llama.sock")]
        params.lora_adapters = [llama.CommonAdapterLoraInfo(os.fspath(file), 1.0) for file in adapters]
        params.lora_init_without_apply = True
        try:
            self._server: Any = llama.Server(params)
        except RuntimeError as error:
            self._remove_folder()
            files = ", ".join(os.fspath(file) for file in (path, *adapters))
            raise ArtifactError(
                f"llama.cpp cannot load {files}. The file is damaged, is for another model, or is newer than "
                f"the installed xllamacpp."
            ) from error

    def generate(
        self, request: Mapping[str, Any], adapter: int | None, read: Callable[[dict[str, Any]], bool]
    ) -> None:
        """Generate a reply to a request in the form of OpenAI's chat completions.

        `read` gets every chunk of the stream and says whether to go on. Raises ValueError for a request that
        llama.cpp cannot read, and any error of `read`.
        """
        scales = [{"id": i, "scale": 1.0 if i == adapter else 0.0} for i in range(self.adapters)]
        errors: list[BaseException] = []

        def handle(chunk: dict[str, Any]) -> bool:
            try:
                return not read(chunk)
            except BaseException as error:  # noqa: BLE001 - llama.cpp would swallow it
                errors.append(error)
                return True

        if self._server is None:
            raise ValueError("the model is closed")
        extra = {"lora": scales} if scales else {}
        options = {"stream": True, "stream_options": {"include_usage": True}}
        self._server.handle_chat_completions({**request, **options, **extra}, handle)
        self._has_replied = True
        if errors:
            raise errors[0]

    def close(self) -> None:
        """Free the model, after the replies that are being generated."""
        if cast(Any, getattr(self, "_server", None)) is not None and not self._has_replied:
            # llama.cpp hangs if its loop is told to end before it has begun. A reply shows that it has.
            one_token = {"messages": [{"role": "user", "content": "."}], "max_tokens": 1}
            self._server.handle_chat_completions(one_token, _go_on)
        self._server = None
        self._remove_folder()

    def _remove_folder(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def __del__(self) -> None:
        if cast("Path | None", getattr(self, "_folder", None)) is not None:
            self.close()


def _go_on(_: dict[str, Any]) -> bool:
    """Ignore a chunk, and do not stop."""
    return False


def _check_file(path: Path) -> None:
    """Look at a file first: llama.cpp reports a missing one on the terminal, not to the caller."""
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error.strerror}). Pass a GGUF file.") from error
    if head != b"GGUF":
        raise InvalidInputError(f"{path} is no GGUF file. Pass a model that llama.cpp can run.")
