"""The section of RESULTS.md for a run of the peers."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.quality.statistics import bootstrap, paired_difference, wilson
from benchmarks.results import describe, table
from benchmarks.shared.tasks import TASKS

OURS = "tersely"
MEGABYTE = 1_000_000


def markdown(result: dict[str, Any]) -> str:
    """Tables per set: answers kept and F1 at each rate, then speed and size; who fails, and why."""
    systems: dict[str, Any] = result["systems"]
    parts = [
        f"Model {result['model']}. {describe(result['environment'])} Seed {result['seed']}. Peers: "
        + ", ".join(f"{n} {s['version']}" for n, s in systems.items() if s.get("version"))
        + ".",
        "Answers kept: some answer stands in the compressed text, titles included; with a Wilson interval of "
        "95 %. Peers with a knob are brought near the budget; the rate achieved is in brackets. F1: a reader "
        "answers from the compressed text alone; one with a language model reads the first questions only, "
        "as many as are named. Lead: answers kept by tersely in as many tokens, question by question, minus "
        "the system's, with a bootstrap interval.",
        "headroom-ai runs without its learned compressor of prose, whose weights have to be fetched from a "
        "hub, and passes plain text on; claw-compactor and headroom-ai have no knob for the size.",
    ]
    names = list(systems[OURS]["tasks"])
    for name in names:
        parts += [f"### {TASKS[name].title}", _quality(result, name)]
    parts += ["![Answers kept against the share of tokens kept](baselines/peers_rate.png)"]
    parts += ["### Speed and size", _speed(systems)]
    parts += ["![Answers kept against time](baselines/peers_latency.png)"]
    broken = {n: s["failures"] for n, s in systems.items() if s.get("failures")}
    if broken:
        parts += [
            "Calls that failed, for which all documents are taken:",
            "\n".join(f"- {n}: {len(found)}, first with {found[0]!r}" for n, found in broken.items()),
        ]
    failed = [f"- {n}: {s['failed']}" for n, s in systems.items() if "failed" in s]
    if failed:
        parts += ["Peers that gave no result:", "\n".join(failed)]
    return "\n\n".join(parts)


def timed(system: str) -> bool:
    """Whether a system's times mean anything; the embeddings of the MiniLM controls come from a file."""
    return not system.startswith("MiniLM")


def _quality(result: dict[str, Any], name: str) -> str:
    systems, readers = result["systems"], result["readers"]
    header = ["", "questions", "budget", "answers kept, %", "[rate]", "lead of tersely"]
    for reader in readers:
        cells = [c for s in systems.values() for c in s["tasks"].get(name, {}).values()]
        asked = max(len(c["f1"].get(reader, ())) for c in cells)
        header.append(f"F1, {reader.split('-')[0]} ({asked})")
    rows: list[list[str]] = []
    for rate in (*systems[OURS]["tasks"][name], "1.0"):
        for system, found in systems.items():
            cell = found["tasks"].get(name, {}).get(rate)
            if cell is None or found.get("untrained"):
                continue
            kept = np.array(cell["kept"], dtype=float)
            share = wilson(float(kept.sum()), len(kept))
            row = [
                f"**{system}**" if system == OURS else system,
                str(len(kept)),
                rate,
                f"{100 * share.value:.1f} [{100 * share.low:.1f}, {100 * share.high:.1f}]",
                f"[{np.mean(cell['rate']):.3f}]",
                _lead(cell, systems[OURS]["tasks"][name].get(rate), result["seed"]) if system != OURS else "",
            ]
            rows.append([*row, *(_f1(cell["f1"][reader], result["seed"]) for reader in readers)])
    return table(header, rows)


def _difference(ours: Any, theirs: Any, seed: int) -> str:
    lead = paired_difference(ours, theirs, np.ones(len(theirs)), seed)
    return f"{100 * lead.value:+.1f} [{100 * lead.low:+.1f}, {100 * lead.high:+.1f}]"


def _lead(cell: dict[str, Any], ours: dict[str, Any] | None, seed: int) -> str:
    """Against a peer at its own sizes, else at the same rate."""
    theirs = np.array(cell["kept"], dtype=float)
    known = cell.get("tersely_kept") or (ours and ours["kept"][: len(theirs)])
    if not known:
        return ""
    return _difference(np.array(known, dtype=float), theirs, seed)


def _f1(values: list[float | None], seed: int) -> str:
    known = np.array([v for v in values if v is not None])
    if not len(known):
        return ""
    found = bootstrap(known, np.ones(len(known)), seed)
    return f"{100 * found.value:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def _speed(systems: dict[str, Any]) -> str:
    rows: list[list[str]] = []
    for system, found in systems.items():
        seconds = [s for rates in found["tasks"].values() for c in rates.values() for s in c["seconds"]]
        if not seconds or found["kind"] == "whole" or not timed(system):
            continue
        installed = found.get("installed_bytes")
        rows.append(
            [
                f"{system}, random weights" if found.get("untrained") else system,
                f"{1000 * float(np.median(seconds)):.1f}",
                f"{found['peak_bytes'] / MEGABYTE:.0f}" if "peak_bytes" in found else "",
                f"{installed / MEGABYTE:.0f}" if installed else "",
                f"{found['load_seconds']:.1f}" if "load_seconds" in found else "",
            ]
        )
    header = ["", "one question, p50 ms", "peak memory, MB", "installed without weights, MB", "load, s"]
    return table(header, rows)
