"""The sections of RESULTS.md on latency and throughput."""

from __future__ import annotations

from benchmarks.latency.rows import LatencyRun, ThroughputRun
from benchmarks.markdown import format_table

MEGABYTE = 1_000_000


def render_latency(run: LatencyRun) -> str:
    """Seconds of every system on every request, then what tersely needs by itself."""
    requests = list(dict.fromkeys(row.request for row in run.systems))
    rows: list[list[str]] = []
    for system in dict.fromkeys(row.system for row in run.systems):
        cells = [run.titles[system]]
        for request in requests:
            row = run.find_row(system, request)
            cells += [f"{row.p50:.3f}", f"{row.p95:.3f}", "" if row.ratio is None else f"{row.ratio:.1f}x"]
        rows.append([*cells, str(run.find_row(system, requests[0]).timings)])
    header = [""]
    for request in requests:
        header += [f"{request}, p50 s", "p95 s", "of tersely"]
    return "\n\n".join(
        [
            f"Model {run.model}, {run.threads} threads. {run.environment.describe()}",
            "Documents have 120 words. For both versions of tersely the whole call at rate 0.25 is timed. "
            "The reference encoders have the right shape and random int8 weights; only their forward passes "
            "over the same tokens are timed, one for each document. All systems take turns.",
            format_table([*header, "timings"], rows),
            format_table(["tersely alone", "measured"], _list_own_figures(run)),
        ]
    )


def _list_own_figures(run: LatencyRun) -> list[list[str]]:
    rows = [
        ["`from tersely import Compressor`, p50", f"{run.import_seconds.p50:.2f} s"],
        ["new process to first result, 10 documents, p50", f"{run.cold_start.p50:.2f} s"],
        ["peak memory, 30 documents", f"{run.request.peak_bytes / MEGABYTE:.0f} MB"],
        [
            f"one document of {run.long_words:,} words, rate 0.05",
            f"{run.long.seconds:.2f} s, peak {run.long.peak_bytes / MEGABYTE:.0f} MB",
        ],
    ]
    if run.install:
        size = run.install
        rows += [
            ["wheel", f"{size.wheel_bytes / MEGABYTE:.0f} MB"],
            [
                "base install with everything it needs",
                f"{size.installed_bytes / MEGABYTE:.0f} MB, {size.distributions} distributions",
            ],
        ]
    return rows


def render_throughput(run: ThroughputRun) -> str:
    """Tokens a second by size of the request, then RAM over many calls."""
    sizes = list(dict.fromkeys(row.documents for row in run.systems))
    systems = list(dict.fromkeys(row.system for row in run.systems))
    speed = {(row.system, row.documents): row.tokens_per_second for row in run.systems}
    rows: list[list[str]] = []
    for system in systems:
        cells = [system]
        for size in sizes:
            tokens = speed[system, size]
            cells += [f"{tokens:,}", f"{tokens / speed[systems[0], size]:.0%}"]
        rows.append(cells)
    header = [""]
    for size in sizes:
        header += [f"{size} document(s) a request, tokens/s", "of the encoder"]
    ram = run.ram
    return "\n\n".join(
        [
            f"Model {run.model}, {run.threads} threads. {run.environment.describe()}",
            "Requests, windows and results are the same everywhere; all systems take turns in one process.",
            format_table(header, rows),
            f"Resident RAM over {ram.calls:,} calls: {ram.settled_bytes / 1e6:.0f} MB after the first "
            f"twentieth, {ram.most_bytes / 1e6:.0f} MB at most afterwards ({ram.growth:+.1%}).",
        ]
    )
