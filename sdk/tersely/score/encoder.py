"""Run the encoder over windows, several at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tersely.runtime.artifacts import Artifact
from tersely.runtime.cancellation import current_cancellation, current_time_limit
from tersely.runtime.session import EncoderSession
from tersely.runtime.workers import Workers, allowed_threads
from tersely.score.features import Logits
from tersely.score.layout import OUTPUT_NAMES, LayoutConfig, Window, batches, collate

BATCH_TOKENS = 256
"""Largest number of tokens of one run, unless a single window is longer. Small batches keep every core busy.
They are also more exact, because the int8 graph scales activations over the whole batch."""

LONG_WINDOW = 1024
"""Window length, in tokens, from which each run uses every core. With shorter windows, each core runs its
own."""


@dataclass(frozen=True, slots=True)
class WindowLogits:
    """The logits of one window: keep (its sentences,) and relevance (its documents,)."""

    window: Window
    keep: NDArray[np.float32]
    relevance: NDArray[np.float32]


@dataclass(eq=False)
class Encoder:
    """A graph and the threads that run it. Callers may share it, because it has no state between calls."""

    session: EncoderSession
    workers: Workers
    pad_id: int

    @classmethod
    def load(cls, artifact: Artifact, layout: LayoutConfig, threads: int | None) -> Encoder:
        """Load the graph, which runs on at most `threads` threads; None for every usable core."""
        count = allowed_threads(threads)
        long = layout.max_length >= LONG_WINDOW
        session = EncoderSession(artifact.model_path, count if long else 1)
        return cls(session, Workers(1 if long else count), layout.pad_id)

    def encode(
        self, windows: Sequence[Window], priorities: Sequence[float] | None = None
    ) -> list[WindowLogits]:
        """Return the logits of each window, in order.

        If `priorities` are given, windows with the highest ones are read first. Windows that were not read
        before the time limit of the request are missing. Raises WorkCancelledError once the
        request is cancelled.
        """
        # Read these here, because the workers do not have the context of this thread.
        cancellation, limit = current_cancellation(), current_time_limit()
        slowest = 0.0

        def run(rows: list[int]) -> list[WindowLogits]:
            nonlocal slowest
            cancellation.check()
            if limit.is_up(slowest):
                return []
            chosen = [windows[i] for i in rows]
            started = time.monotonic()
            keep, relevance = self.session.run(collate(chosen, self.pad_id), OUTPUT_NAMES)
            slowest = max(slowest, time.monotonic() - started)
            return [
                WindowLogits(w, keep[i, : len(w.sentences)], relevance[i, : len(w.documents)])
                for i, w in enumerate(chosen)
            ]

        # Sort by content, so that the order of the documents does not decide which windows share a batch: all
        # windows of a batch share the scale of int8, which changes scores a little.
        order = sorted(range(len(windows)), key=lambda i: windows[i].input_ids)
        lengths = [len(windows[i].input_ids) for i in order]
        # The longest go first, so that no core ends with a long one while the others wait.
        jobs = [[order[k] for k in rows] for rows in batches(lengths, BATCH_TOKENS)][::-1]
        if priorities is not None:
            jobs.sort(key=lambda rows: -max(priorities[i] for i in rows))
        by_window = {
            i: logits
            for rows, out in zip(jobs, self.workers.map(run, jobs), strict=True)
            for i, logits in zip(rows, out, strict=bool(out))
        }
        return [by_window[i] for i in range(len(windows)) if i in by_window]


def merge_logits(window_logits: Sequence[WindowLogits], offsets: NDArray[np.int64], documents: int) -> Logits:
    """Merge the logits of all windows; nan for sentences and documents in no window.

    A sentence or document in several windows gets its highest logit. `offsets` is the first
    sentence of each document among all, shape (documents + 1,).
    """
    keep = np.full(int(offsets[-1]), np.nan)
    relevance = np.full(documents, np.nan)
    for logits in window_logits:
        for logit, (d, s) in zip(logits.keep.tolist(), logits.window.sentences, strict=True):
            index = offsets[d] + s
            keep[index] = np.fmax(keep[index], logit)
        for logit, d in zip(logits.relevance.tolist(), logits.window.documents, strict=True):
            relevance[d] = np.fmax(relevance[d], logit)
    return Logits(keep, relevance)
