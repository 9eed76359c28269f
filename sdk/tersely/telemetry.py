"""Seconds of each stage of a call, and spans and metrics for OpenTelemetry: numbers and names, no texts.

The spans and metrics need only OpenTelemetry's API (`pip install '.[telemetry]'`). Without it, or if the
application has not set up an SDK, nothing is recorded. tersely itself sends nothing to anybody.

span     tersely.compress                one for every call of `Compressor.compress`
metrics  tersely.compressions            calls, by `tersely.status`, or by `error.type` if they raise
         tersely.compression.duration    seconds of a call
         tersely.model.duration          seconds in the model, of calls that use it
         tersely.tokens.in, .out         tokens of the documents, and of the results
         tersely.cache.lookups           texts that were looked up in a cache of results, by `tersely.hit`
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from time import perf_counter

from tersely.types import COVERAGE, Compression

_SCOPE = "tersely"
SPAN = "tersely.compress"


class StageTimer:
    """A clock of consecutive stages. It starts when it is made."""

    def __init__(self) -> None:
        self._start = self._last = perf_counter()
        self._seconds: dict[str, float] = {}

    def lap(self, stage: str) -> float:
        """Add the time since the last lap to `stage`, and return its seconds so far."""
        now = perf_counter()
        self._seconds[stage] = self._seconds.get(stage, 0.0) + now - self._last
        self._last = now
        return self._seconds[stage]

    def stop(self, stage: str) -> dict[str, float]:
        """End the last stage, and return the seconds per stage and "total"."""
        self.lap(stage)
        return {**self._seconds, "total": perf_counter() - self._start}


class _Instruments:
    """The tracer and the metrics. Raises ImportError without the API."""

    def __init__(self) -> None:
        from opentelemetry import metrics, trace  # here, so that `import tersely` does not wait

        meter = metrics.get_meter(_SCOPE)
        counter, histogram = meter.create_counter, meter.create_histogram
        self.tracer = trace.get_tracer(_SCOPE)
        self.compressions = counter("tersely.compressions", "{compression}", "Compressions.")
        self.seconds = histogram("tersely.compression.duration", "s", "Seconds of a compression.")
        self.model_seconds = histogram("tersely.model.duration", "s", "Seconds in the model.")
        self.tokens_in = counter("tersely.tokens.in", "{token}", "Tokens of the documents.")
        self.tokens_out = counter("tersely.tokens.out", "{token}", "Tokens of the results.")
        self.lookups = counter("tersely.cache.lookups", "{lookup}", "Texts looked up in a cache.")


@cache
def _get_instruments() -> _Instruments | None:
    """Return the instruments, or None without the API. They also work with an SDK that is set up later."""
    try:
        return _Instruments()
    except ImportError:
        return None


@contextmanager
def watch_compression() -> Generator[Callable[[Compression], None]]:
    """Open a span around a compression, and yield a function that records the result."""
    instruments = _get_instruments()
    if instruments is None:
        yield lambda result: None
        return
    from opentelemetry.trace import StatusCode

    # The message of an exception may quote the input, so the span does not hold it.
    with instruments.tracer.start_as_current_span(
        SPAN, record_exception=False, set_status_on_exception=False
    ) as span:

        def record(result: Compression) -> None:
            _record(instruments, result)
            if span.is_recording():
                span.set_attributes(
                    {
                        "tersely.status": result.status,
                        "tersely.model": result.model,
                        "tersely.documents": len(result.relevance),
                        "tersely.documents.kept": len(result.documents),
                        "tersely.units.kept": len(result.kept),
                        "tersely.units.dropped": len(result.dropped),
                        "tersely.tokens.in": result.tokens_before,
                        "tersely.tokens.out": result.tokens_after,
                        "tersely.model.duration": get_model_seconds(result),
                    }
                )

        try:
            yield record
        except BaseException as error:
            name = type(error).__qualname__
            span.set_attribute("error.type", name)
            span.set_status(StatusCode.ERROR)
            instruments.compressions.add(1, {"error.type": name})
            raise


def get_model_seconds(result: Compression) -> float:
    """Return the seconds in the model; 0.0 for a call that did not use it."""
    return 0.0 if result.model == COVERAGE else result.timings.get("score", 0.0)


def count_lookup(*, hit: bool) -> None:
    """Count a text that was looked up in a cache of results."""
    if (instruments := _get_instruments()) is not None:
        instruments.lookups.add(1, {"tersely.hit": hit})


def _record(instruments: _Instruments, result: Compression) -> None:
    status = {"tersely.status": result.status}
    instruments.compressions.add(1, status)
    instruments.seconds.record(result.timings["total"], status)
    if (seconds := get_model_seconds(result)) > 0:
        instruments.model_seconds.record(seconds)
    instruments.tokens_in.add(result.tokens_before)
    instruments.tokens_out.add(result.tokens_after)
