"""Timings become a summary and the section of RESULTS.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.latency.probes import MEGABYTE
from benchmarks.results import describe, table


def timing(seconds: Sequence[float]) -> dict[str, float]:
    """p50, p95 and number of timings."""
    return {
        "p50": round(float(np.quantile(seconds, 0.5)), 4),
        "p95": round(float(np.quantile(seconds, 0.95)), 4),
        "timings": len(seconds),
    }


def ratios(systems: dict[str, dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Per reference encoder and job, its p50 over tersely's."""
    ours = systems["tersely"]
    return {
        name: {job: round(found["p50"] / ours[job]["p50"], 1) for job, found in jobs.items()}
        for name, jobs in systems.items()
        if name != "tersely"
    }


def markdown(result: dict[str, Any]) -> str:
    """The section of RESULTS.md for a run's JSON."""
    systems: dict[str, Any] = result["systems"]
    jobs = list(systems["tersely"])
    rows: list[list[str]] = []
    for name, found in systems.items():
        cells = [result["titles"][name]]
        for job in jobs:
            cells += [f"{found[job]['p50']:.3f}", f"{found[job]['p95']:.3f}"]
            cells.append("" if name == "tersely" else f"{result['ratios'][name][job]:.1f}x")
        rows.append([*cells, str(found[jobs[0]]["timings"])])
    header = [""]
    for job in jobs:
        header += [f"{job}, p50 s", "p95 s", "of tersely"]
    return "\n\n".join(
        [
            f"Model {result['model']}, {result['threads']} threads. {describe(result['environment'])}",
            "Documents of 120 words. For tersely, now and at first, the whole call at rate 0.25 is timed; "
            "for the encoders, which have the right shape and random int8 weights, only the forward passes "
            "over the same tokens, one per document. All systems take turns.",
            table([*header, "timings"], rows),
            table(["tersely alone", "measured"], _alone(result["alone"])),
        ]
    )


def _alone(alone: dict[str, Any]) -> list[list[str]]:
    rows = [
        ["`from tersely import Compressor`, p50", f"{alone['import']['p50']:.2f} s"],
        ["new process to first result, 10 documents, p50", f"{alone['cold_start']['p50']:.2f} s"],
        ["peak memory, 30 documents", f"{alone['memory']['peak_bytes'] / MEGABYTE:.0f} MB"],
        [
            f"one document of {alone['long']['words']:,} words, rate 0.05",
            f"{alone['long']['seconds']:.2f} s, peak {alone['long']['peak_bytes'] / MEGABYTE:.0f} MB",
        ],
    ]
    if "install" in alone:
        size = alone["install"]
        rows += [
            ["wheel", f"{size['wheel_bytes'] / MEGABYTE:.0f} MB"],
            [
                "base install with everything it needs",
                f"{size['installed_bytes'] / MEGABYTE:.0f} MB, {size['distributions']} distributions",
            ],
        ]
    return rows
