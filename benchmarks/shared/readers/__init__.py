"""Readers: the models that answer a question from a context, for rewards in training and F1 in benchmarks."""

from __future__ import annotations

from pathlib import Path

from benchmarks.shared.readers.cached import CachedReader
from benchmarks.shared.readers.files import FileReader
from benchmarks.shared.readers.protocol import Prompt, Reader, Template
from tersely.errors import InvalidInputError

__all__ = ["CachedReader", "Prompt", "Reader", "Template", "open_reader"]


def open_reader(spec: str, template: Template = "examples") -> Reader:
    """Open the reader that `spec` names. `template` is the prompt, if it is a language model.

    `extractive:FOLDER`, `causal:FOLDER` (or a .gguf file, or a package with one), `openai:URL#MODEL` or
    `file:ANSWERS`, a file of answers that were given elsewhere, or a folder of them.
    Raises InvalidInputError for anything else.
    """
    kind, _, source = spec.partition(":")
    if kind == "extractive" and source:
        from benchmarks.shared.readers.extractive import ExtractiveReader

        return ExtractiveReader(Path(source))
    if kind == "causal" and source:
        from benchmarks.shared.readers.causal import CausalReader

        return CausalReader(source, template)
    if kind == "file" and source:
        return FileReader(Path(source))
    url, _, model = source.partition("#")
    if kind == "openai" and url and model:
        from benchmarks.shared.readers.server import ServerReader

        return ServerReader(url, model, template)
    raise InvalidInputError(
        f"no reader is called {spec!r}: use extractive:FOLDER, causal:FOLDER, openai:URL#MODEL or "
        "file:ANSWERS"
    )
