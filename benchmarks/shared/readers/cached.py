"""Answers kept on disk by reader and prompt, so that each prompt is paid for once."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.shared import cache
from benchmarks.shared.readers.protocol import Prompt, Reader

BLOCK = 4096
"""Number of prompts answered between two savings."""


class CachedReader:
    """A reader with a cache of answers. Failures are not cached, so they are tried again."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.name = reader.name

    @property
    def trained_on(self) -> frozenset[str] | None:
        return self._reader.trained_on

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """Return one answer for each prompt, from the cache or the reader; None if the reader failed."""
        keys = [cache.digest(self.name, p.question, p.context) for p in prompts]
        known = {k: v.decode() for k, v in cache.fetch("answers", keys).items()}
        missing = list({k: p for k, p in zip(keys, prompts, strict=True) if k not in known}.items())
        for at in range(0, len(missing), BLOCK):
            block = missing[at : at + BLOCK]
            answers = self._reader.answer([p for _, p in block])
            fresh = {k: a for (k, _), a in zip(block, answers, strict=True) if a is not None}
            cache.keep("answers", {k: a.encode("utf-8", "replace") for k, a in fresh.items()})
            known |= fresh
        return [known.get(k) for k in keys]
