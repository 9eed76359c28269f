"""Metrics of the servers for Prometheus: numbers only."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from tersely import Compression
from tersely.telemetry import count_lookup, get_model_seconds

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Counters of one server. `count_admitted` returns the number of requests that run or wait."""

    def __init__(self, count_admitted: Callable[[], int] = lambda: 0) -> None:
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"tersely_{name}", text, labels, registry=registry)

        self._requests = counter("http_requests", "Requests that were answered.", "path", "code")
        self._seconds = Histogram(
            "tersely_http_request_seconds",
            "Seconds from a request's head to the end of its answer.",
            ["path"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._results = counter("compressions", "Compressions, by status.", "status")
        self._tokens_in = counter("tokens_in", "Tokens of the documents.")
        self._tokens_out = counter("tokens_out", "Tokens of the results.")
        self._model_seconds = counter("model_seconds", "Seconds in the model.")
        self._lookups = counter("cache_lookups", "Texts that were looked up in the cache.", "hit")
        admitted = Gauge(
            "tersely_admitted_requests", "Requests that are worked on or wait.", registry=registry
        )
        admitted.set_function(count_admitted)

    def count_request(self, path: str, status: int, seconds: float) -> None:
        """Count an answered request. `path` is that of an endpoint, so that there are few of them."""
        self._requests.labels(path, status).inc()
        self._seconds.labels(path).observe(seconds)

    def count_compression(self, result: Compression) -> None:
        """Count a compression that was made for a request."""
        self._results.labels(result.status).inc()
        self._tokens_in.inc(result.tokens_before)
        self._tokens_out.inc(result.tokens_after)
        self._model_seconds.inc(get_model_seconds(result))

    def count_lookup(self, *, hit: bool) -> None:
        """Count a text that was looked up in the cache of results, for OpenTelemetry too."""
        self._lookups.labels(str(hit).lower()).inc()
        count_lookup(hit=hit)

    def render(self) -> bytes:
        """Return the text that Prometheus reads."""
        return generate_latest(self._registry)
