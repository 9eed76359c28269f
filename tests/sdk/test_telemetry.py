"""OpenTelemetry gets numbers and names, and nothing is collected or sent without an SDK."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk")
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tersely import Compressor, InvalidInputError
from tersely.telemetry import count_lookup
from tersely_agents.memory.shortening import Shortener
from tersely_agents.summaries import Summarizer
from tests.sdk.compressor_cases import DOCS, QUERY
from tests.sdk.fakes import BrokenScorer, FakeScorer

SECRET = "xylograph"
CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
CHAT = [
    {"role": "user", "content": QUERY},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "The ferry leaves at nine. " * 60},
]


class Telescope:
    """Spans and metrics that the SDK has collected."""

    def __init__(self) -> None:
        self.spans, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        tracers = trace.get_tracer_provider()
        if not isinstance(tracers, TracerProvider):  # an example of the documentation may have set one
            tracers = TracerProvider()
            trace.set_tracer_provider(tracers)
        tracers.add_span_processor(SimpleSpanProcessor(self.spans))
        metrics.set_meter_provider(MeterProvider([self.reader]))

    def read(self) -> str:
        data = self.reader.get_metrics_data()
        assert data is not None
        return data.to_json()

    def read_metrics(self) -> dict[tuple[str, str], float]:
        """Return sums so far, or counts of histograms, by name and attribute."""
        data = json.loads(self.read())
        points = [
            (metric["name"], point)
            for resource in data["resource_metrics"]
            for scope in resource["scope_metrics"]
            if scope["scope"]["name"] == "tersely"
            for metric in scope["metrics"]
            for point in metric["data"]["data_points"]
        ]
        return {
            (name, ",".join(str(value) for value in point["attributes"].values())): point.get(
                "value", point.get("count")
            )
            for name, point in points
        }


@pytest.fixture(scope="module")
def telescope() -> Telescope:
    """Return the only telescope of this process, because providers are set once."""
    return Telescope()


@pytest.fixture
def spans(telescope: Telescope) -> Iterator[InMemorySpanExporter]:
    telescope.spans.clear()
    yield telescope.spans
    telescope.spans.clear()


def test_a_compression_is_a_span_with_its_numbers(spans: InMemorySpanExporter) -> None:
    result = Compressor(FakeScorer()).compress(QUERY, DOCS, rate=0.4)
    (span,) = spans.get_finished_spans()
    assert span.name == "tersely.compress"
    assert dict(span.attributes or {}) == {
        "tersely.status": "compressed",
        "tersely.model": result.model,
        "tersely.documents": 3,
        "tersely.documents.kept": len(result.documents),
        "tersely.units.kept": len(result.kept),
        "tersely.units.dropped": len(result.dropped),
        "tersely.tokens.in": result.tokens_before,
        "tersely.tokens.out": result.tokens_after,
        "tersely.model.duration": result.timings["score"],
    }


def test_metrics_add_up_over_compressions_and_statuses(
    telescope: Telescope, spans: InMemorySpanExporter
) -> None:
    compressor = Compressor(FakeScorer())
    compressor.compress(QUERY, DOCS)  # so that every instrument exists
    count_lookup(hit=True)
    before = telescope.read_metrics()
    first, second = compressor.compress(QUERY, DOCS, rate=0.4), compressor.compress(QUERY, DOCS, budget=9999)
    Compressor(BrokenScorer(RuntimeError())).compress(QUERY, DOCS)
    with pytest.raises(InvalidInputError):
        compressor.compress(QUERY, DOCS, budget=0)
    count_lookup(hit=True)
    count_lookup(hit=False)
    grown = {key: value - before.get(key, 0) for key, value in telescope.read_metrics().items()}
    tokens = first.tokens_before
    assert {key: value for key, value in grown.items() if value} == {
        ("tersely.compressions", "compressed"): 1,
        ("tersely.compressions", "unchanged"): 1,
        ("tersely.compressions", "failed_open"): 1,
        ("tersely.compressions", "InvalidInputError"): 1,
        ("tersely.compression.duration", "compressed"): 1,
        ("tersely.compression.duration", "unchanged"): 1,
        ("tersely.compression.duration", "failed_open"): 1,
        ("tersely.model.duration", ""): 2,
        ("tersely.tokens.in", ""): 3 * tokens,
        ("tersely.tokens.out", ""): first.tokens_after + second.tokens_after + tokens,
        ("tersely.cache.lookups", "True"): 1,
        ("tersely.cache.lookups", "False"): 1,
    }


def test_a_call_without_a_model_has_no_seconds_in_the_model(
    telescope: Telescope, spans: InMemorySpanExporter
) -> None:
    compressor = Compressor(FakeScorer())
    compressor.compress(QUERY, DOCS)  # so that the instrument exists
    before = telescope.read_metrics()[("tersely.model.duration", "")]
    spans.clear()
    compressor.compress(None, DOCS, rate=0.4)
    (span,) = spans.get_finished_spans()
    assert (span.attributes or {})["tersely.model.duration"] == 0.0
    assert telescope.read_metrics()[("tersely.model.duration", "")] == before


def test_compressions_of_a_batch_belong_to_the_outer_span(spans: InMemorySpanExporter) -> None:
    with trace.get_tracer("app").start_as_current_span("answer") as around:
        Compressor(FakeScorer(), threads=2).compress_batch([(QUERY, DOCS)] * 3)
    ours = [span for span in spans.get_finished_spans() if span.name == "tersely.compress"]
    parents = [span.parent and span.parent.span_id for span in ours]
    assert parents == [around.get_span_context().span_id] * 3


def shorten_a_result() -> None:
    compressor = Compressor(FakeScorer())
    Shortener(compressor, compressor.count_tokens).shorten_texts([str(DOCS[0]) * 20], 60, QUERY)


@pytest.mark.parametrize(
    "use",
    [
        lambda: Compressor(FakeScorer()).compress_messages(CHAT, budget=120),
        lambda: Summarizer(compressor=Compressor(FakeScorer())).summarize(QUERY, DOCS, budget=20),
        shorten_a_result,
    ],
    ids=["messages", "summaries", "adapters"],
)
def test_compressions_inside_other_calls_are_spans(
    spans: InMemorySpanExporter, use: Callable[[], object]
) -> None:
    with trace.get_tracer("app").start_as_current_span("answer") as around:
        use()
    ours = [span for span in spans.get_finished_spans() if span.name == "tersely.compress"]
    assert ours
    assert all(span.parent and span.parent.span_id == around.get_span_context().span_id for span in ours)


@pytest.mark.parametrize(
    ("compressor", "options"),
    [
        (Compressor(FakeScorer()), {"rate": 0.4}),
        (Compressor(FakeScorer()), {"order": SECRET}),
        (Compressor(BrokenScorer(RuntimeError(SECRET))), {}),
        (Compressor(BrokenScorer(KeyboardInterrupt(SECRET))), {}),
    ],
    ids=["compressed", "refused", "failed", "stopped"],
)
def test_spans_and_metrics_hold_no_text(
    telescope: Telescope, spans: InMemorySpanExporter, compressor: Compressor, options: Any
) -> None:
    document = {"text": f"A {SECRET} is a print. It is old.", "title": SECRET, "id": SECRET}
    with suppress(InvalidInputError, KeyboardInterrupt):
        compressor.compress(f"What is a {SECRET}?", [document, *DOCS], **options)
    (span,) = spans.get_finished_spans()
    seen = span.to_json() + telescope.read()
    assert "tersely.compress" in seen
    assert SECRET not in seen


LISTENS_TO_NOBODY = """
import sys
def watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        sys.exit(f"network touched: {event}")
sys.addaudithook(watch)
if "missing" in sys.argv:
    sys.modules["opentelemetry"] = None
from tersely import Compressor
result = Compressor().compress("Who holds the key?", ["Ada holds the key. The roof is new."], rate=0.6)
print(result.text, "opentelemetry.sdk" in sys.modules)
"""


@pytest.mark.parametrize("missing", [False, True], ids=["without an SDK", "without the interface"])
def test_without_an_sdk_nothing_is_collected_or_sent(missing: bool) -> None:
    # An address that would be contacted if anything were sent.
    variables = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, "-c", LISTENS_TO_NOBODY, "missing" if missing else ""],
        capture_output=True, text=True, check=False, env=variables,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("Ada holds the key. False\n", "")
