"""The section of prepared documents in RESULTS.md."""

from __future__ import annotations

from benchmarks.latency.prepared.rows import RATE, RATES, WORDS, PreparedRun
from benchmarks.markdown import format_lead, format_percent, format_table
from benchmarks.shared.tasks import TASKS


def render(run: PreparedRun) -> str:
    """The section of RESULTS.md."""
    timings = [
        [
            _describe(t.request, run),
            t.system,
            f"{t.read:.0%}",
            f"{t.p50:.3f}",
            f"{t.p95:.3f}",
            f"{t.ratio:.2f}",
        ]
        for t in run.timings
    ]
    quality = [
        [
            _describe(q.task, run),
            str(q.rate),
            q.metric,
            format_percent(q.unprepared),
            format_lead(q.difference),
        ]
        for q in run.quality
    ]
    stored = run.stored
    return "\n\n".join(
        [
            f"Model {run.model}, {run.threads} threads. {run.environment.describe()} Seed {run.seed}.",
            f"First made documents of {WORDS} words at rate {RATE}, {run.rounds} timings each, in turns; "
            "prepared ones are read from their bytes within the time. Then evaluation sets at rate "
            f"{RATES[0]}, each question once, in turns. The model reads more where documents are alike, and "
            "where it takes a question for one that needs another hop.",
            format_table(["request", "documents", "read", "p50 s", "p95 s", "of unprepared"], timings),
            f"A document of {stored.text:.0f} bytes takes {stored.all:.0f} bytes when it is prepared, "
            f"{stored.vectors:.0f} of them vectors. Preparing it took {1000 * stored.seconds:.0f} ms.",
            "Answers and supporting sentences kept of unprepared documents in percent, and how much more of "
            "prepared ones in points:",
            format_table(["", "rate", "metric", "unprepared", "prepared, difference"], quality),
        ]
    )


def _describe(request: str, run: PreparedRun) -> str:
    """A made request as it is; of a task its title, its questions and the length of its documents."""
    if request not in run.questions:
        return request
    questions, words = run.questions[request], run.words[request]
    return f"{TASKS[request].title} ({questions} questions, {words:.0f} words a document)"
