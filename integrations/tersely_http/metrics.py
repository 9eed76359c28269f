"""What the servers tell Prometheus. Numbers only."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from tersely import Compression
from tersely.telemetry import count_lookup

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The counters of one server. `count_admitted` gives the requests that are worked on or wait."""

    def __init__(self, count_admitted: Callable[[], int] = lambda: 0) -> None:
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._requests = Counter(
            "tersely_http_requests", "Requests that were answered.", ["path", "code"], registry=registry
        )
        self._seconds = Histogram(
            "tersely_http_request_seconds",
            "Seconds from a request's head to the end of its answer.",
            ["path"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._results = Counter(
            "tersely_compressions", "Compressions, by status.", ["status"], registry=registry
        )
        self._tokens_in = Counter("tersely_tokens_in", "Tokens of the documents.", registry=registry)
        self._tokens_out = Counter("tersely_tokens_out", "Tokens of the results.", registry=registry)
        self._model_seconds = Counter("tersely_model_seconds", "Seconds in the model.", registry=registry)
        admitted = Gauge(
            "tersely_admitted_requests", "Requests that are worked on or wait.", registry=registry
        )
        admitted.set_function(count_admitted)
        self._lookups = Counter(
            "tersely_cache_lookups", "Texts that were looked up in the cache.", ["hit"], registry=registry
        )

    def count_request(self, path: str, status: int, seconds: float) -> None:
        """A request that was answered. `path` is that of an endpoint, so that there are few of them."""
        self._requests.labels(path, status).inc()
        self._seconds.labels(path).observe(seconds)

    def count_compression(self, result: Compression) -> None:
        """A compression that was made for a request."""
        self._results.labels(result.status).inc()
        self._tokens_in.inc(result.tokens_before)
        self._tokens_out.inc(result.tokens_after)
        self._model_seconds.inc(result.timings.get("score", 0.0))

    def count_lookup(self, *, hit: bool) -> None:
        """A text that the cache of results was asked for. OpenTelemetry hears of it too."""
        self._lookups.labels(str(hit).lower()).inc()
        count_lookup(hit=hit)

    def render(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self._registry)
